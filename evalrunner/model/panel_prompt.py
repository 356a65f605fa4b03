"""The conversation in which a panel's LLM seats are asked to score items on a rubric."""

from collections.abc import Sequence

from evalrunner.calls.request import Message
from evalrunner.model.fence import fence
from evalrunner.model.prompts import Prompts
from evalrunner.receipt.jsontext import canonical_json
from evalrunner.records import Item
from evalrunner.rubric import Rubric


def shown(item: Item) -> str:
    """An item as a judge sees it: its text, else the canonical JSON of its payload; never its truth."""
    return item.text if item.text is not None else canonical_json(item.payload)


def panel_messages(prompts: Prompts, name: str, rubric: Rubric, items: Sequence[Item]) -> tuple[Message, ...]:
    """Renders the prompt `name` for these items.

    A template gets `rubric` (the rubric's fields as plain data), `items` (their texts, in sampled order), and
    `fence_open` and `fence_close`: lines that stand in none of the texts.

    Raises:
        InputError: the template is missing or wrong, with file and line.
    """
    texts = [shown(item) for item in items]
    return prompts.about(name, items=texts, fence=fence("\n".join(texts)), rubric=rubric.plain)
