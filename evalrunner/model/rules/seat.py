"""The seat that the rules fill: deterministic, free, without a key, and labelled as what it is."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, field_validator

from evalrunner.component import Component
from evalrunner.errors import Problem, nearest
from evalrunner.model.rules.examine import RULES, examine
from evalrunner.model.rules.scoring import evidence, score
from evalrunner.model.rules.take import Take, read_take
from evalrunner.model.rules.text import reads_english
from evalrunner.model.rules.version import RULES_ID
from evalrunner.model.seat import Bench, SeatKind
from evalrunner.records import Item, Judgement
from evalrunner.rubric import Rubric

_SHOWN = 3


class RulesModel(Component):
    """A rule-based judge of takes: it lowers a score only for evidence that it can name.

    It proves the way from source to receipt without a key. It is no LLM, and no stand-in for a panel of them:
    docs/rules-judge.md says how well it judges, and what it cannot see.

    Attributes:
        id: the version of the rules; only the version that this release holds can be asked for.
    """

    id: str = Field(default=RULES_ID)

    @field_validator("id")
    @classmethod
    def _known(cls, value: str) -> str:
        if value != RULES_ID:
            raise ValueError(
                f"the rules are part of the program, and this one holds {RULES_ID!r}; leave `id` out, or set "
                f"it to {RULES_ID!r}; older rules come with the release that had them"
            )
        return value

    @property
    def kind(self) -> SeatKind:
        """Always `heuristic`."""
        return "heuristic"

    async def score(
        self, items: Sequence[Item], *, place: int, cycle: int, chunk: int, prompt: str, bench: Bench
    ) -> Judgement:
        """Scores takes on the rubric's dimensions, without any call.

        Abstains, saying why, when there is nothing to score, when the rubric has a dimension without rules,
        when an item is no take, and when accuracy is asked for and any take comes without its page.
        """
        told = self._judge(items, bench.rubric)
        return Judgement(
            item_ids=tuple(item.id for item in items),
            seat=self.id,
            place=place,
            cycle=cycle,
            chunk=chunk,
            **told,
        )

    def planned(self, items: Sequence[Item], *, prompt: str, bench: Bench) -> list[tuple[int, int, int]]:
        """No calls."""
        return []

    def described(self) -> Mapping[str, Any]:
        """The option that builds this seat again, whatever the default seat of a panel is."""
        return {"_target_": f"{__package__}.{type(self).__name__}", "id": self.id}

    def asked(self) -> Mapping[str, Any]:
        """Nothing is asked; the rules' version is the seat's id."""
        return {}

    def check_ready(self, environ: Mapping[str, str]) -> list[Problem]:
        """Always ready: no key, no extra."""
        return []

    def _judge(self, items: Sequence[Item], rubric: Rubric) -> Mapping[str, Any]:
        takes = [read_take(item.id, item.payload) for item in items]
        readable = [take for take in takes if take is not None]
        reason = _obstacle([item.id for item, take in zip(items, takes, strict=True) if take is None], rubric)
        if reason is None:
            reason = _without_pages(readable, rubric)
        if reason is None and (not items or rubric.scale is None):
            reason = "there is nothing to score"
        if reason is not None or rubric.scale is None:
            return {"status": "abstained", "error": f"{self.id}: {reason}"}
        by_take = {take.id: examine(take, rubric.names) for take in readable}
        found = {name: {each: by_take[each][name] for each in by_take} for name in rubric.names}
        violating = {
            name: sorted(each for each, findings in found[name].items() if findings) for name in found
        }
        return {
            "values": {name: score(len(violating[name]), len(items), rubric.scale) for name in rubric.names},
            "evidence": evidence(found, _SHOWN),
            "detail": {
                "takes": len(items),
                "violating": violating,
                "not_english": sorted(
                    take.id
                    for take in readable
                    if not (reads_english(take.claim) and reads_english(take.page_text))
                ),
            },
            "answered_by": self.id,
        }


def _obstacle(not_takes: Sequence[str], rubric: Rubric) -> str | None:
    if not rubric.dimensions:
        return f"rubric {rubric.version} has no dimensions"
    unknown = [name for name in rubric.names if name not in RULES]
    if unknown:
        named = []
        for name in unknown:
            close = nearest(name, RULES)
            named.append(f"{name} (did you mean {close}?)" if close else name)
        return (
            f"rubric {rubric.version} has dimensions that no rule speaks to: {', '.join(named)}; rules exist "
            f"for {', '.join(RULES)}. Use a panel of LLMs for this rubric"
        )
    if not_takes:
        return f"{len(not_takes)} of the items have no claim, first {not_takes[0]!r}; rules judge takes only"
    return None


def _without_pages(takes: Sequence[Take], rubric: Rubric) -> str | None:
    if "accuracy" not in rubric.names:
        return None
    missing = sorted(take.id for take in takes if not take.page_text)
    if not missing:
        return None
    listed = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
    return (
        f"accuracy cannot be scored: {len(missing)} of {len(takes)} takes have no page_text ({listed}); give "
        f"every sampled take its page_text, filter the sample, or use a panel of LLMs"
    )
