"""docs/receipt.md lists the keys that the schema knows, and its examples are receipts."""

import json
import re
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from evalrunner.receipt.files import loads
from evalrunner.receipt.fingerprint import corpus_sha, models_sha, prompt_sha, rubric_sha
from evalrunner.receipt.schema import KEYS, OPTIONAL, REQUIRED, Receipt
from evalrunner.threshold.metric import MetricThreshold
from evalrunner.threshold.panel import PanelThreshold
from evalrunner.threshold.replay import second_opinion

DOC = (Path(__file__).parents[2] / "docs" / "receipt.md").read_text(encoding="utf-8")
SAME_AS_ANOTHER = {"groups.*.*.*", "usage.judge"}
"""Where the page says `as in ...` rather than listing the keys again."""


def paths(model: type[BaseModel], prefix: str = "") -> dict[str, bool]:
    """Every key of a model, with whether it is required."""
    found: dict[str, bool] = {}
    for name, field in model.model_fields.items():
        found[prefix + name] = field.is_required()
        for inner, step in nested(field.annotation, prefix + name):
            if step not in SAME_AS_ANOTHER:
                found |= paths(inner, f"{step}.")
    return found


def nested(annotation: Any, path: str) -> list[tuple[type[BaseModel], str]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [(annotation, path)]
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is dict:
        return nested(inner[1], f"{path}.*")
    if origin is list:
        return nested(inner[0], f"{path}[]")
    return [each for part in inner for each in nested(part, path)]


def documented(title: str) -> list[str]:
    section = DOC.split(f"## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)


def examples() -> list[str]:
    return re.findall(r"```json\n(.*?)```", DOC, re.DOTALL)


def test_the_page_lists_every_key_once_and_no_other():
    listed = documented("Required keys") + documented("Optional keys")
    assert len(set(listed)) == len(listed)
    assert set(listed) == set(paths(Receipt))


def test_required_keys_stand_in_order_and_apart():
    assert [key for key in documented("Required keys") if key in KEYS] == list(REQUIRED)
    assert [key for key in documented("Optional keys") if key in KEYS] == list(OPTIONAL)
    required = paths(Receipt)
    assert all(required[key] for key in documented("Required keys"))


def test_the_examples_are_receipts_without_contradictions():
    seen: set[str] = set()
    for text in examples():
        receipt, doubtful = loads(text, "example")
        assert doubtful == []
        assert json.loads(text) == json.loads(json.dumps(receipt.to_json(), default=float))
        seen |= set(json.loads(text))
    assert seen == set(KEYS)


def test_the_examples_say_what_the_code_says():
    panel, metric = (loads(text, "example")[0] for text in examples())
    assert panel.models_sha8 == models_sha(panel.models).sha8
    texts = ["The plant opens in May.", "Acme will lead its market.", "The report has a blue cover."]
    assert panel.corpus.corpus_sha8 == corpus_sha(texts).sha8
    template = [("takes_quality.j2", "Score the takes.\n")]
    assert panel.prompt_sha8 == prompt_sha(template, {"chunk_size": 2}).sha8
    assert panel.rubric_sha8 == rubric_sha({"version": "v1.0"}, PanelThreshold().asked()).sha8
    assert second_opinion(panel) is None
    assert metric.prompt_sha8 == prompt_sha([], {}).sha8
    assert metric.models_sha8 == models_sha([]).sha8
    assert metric.threshold is not None
    assert set(MetricThreshold.model_fields) < set(metric.threshold.model_dump())
