"""The keyless judge: deterministic rules, one module a dimension, that score only what they can name.

`take` and `text` read, `page` and `speech` find the sentence behind a claim and who speaks there, `reading`
puts it together; `accuracy`, `attribution`, `weight_calibration`, `kind_classification` and `signal_density`
give evidence; `scoring` turns it into scores, `seat` takes part in a panel.
"""

from evalrunner.model.rules.seat import RulesModel
from evalrunner.model.rules.version import RULES_ID

__all__ = ["RULES_ID", "RulesModel"]
