"""Prompts that are asked again and again about other items: what stays the same is rendered once."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from jinja2 import nodes

N = TypeVar("N", bound="nodes.Node")

Parts = tuple[str | int, ...]
"""Texts as they stand, and the places of those that are put in between them."""

_MARK = re.compile("\x00([0-9]+)\x00")
_OF_THE_PLACE = frozenset(
    {"depth", "depth0", "first", "index", "index0", "last", "length", "revindex", "revindex0"}
)
"""What a loop tells of where it is, and not of what it is at."""


def prints_only(tree: "nodes.Template", items: str, texts: Sequence[str]) -> bool:
    """Whether a template does nothing with some values but print them as they are.

    Then its text is the same for all values, with other texts in the same places. Whoever looks at one in any
    other way, or uses what this cannot see through, gets no.

    Args:
        tree: the parsed template.
        items: the name of a list of texts; looping over it and counting it are allowed too.
        texts: the names of single texts.
    """
    from jinja2 import nodes

    opaque = (
        nodes.AssignBlock,
        nodes.Block,
        nodes.CallBlock,
        nodes.Extends,
        nodes.FilterBlock,
        nodes.FromImport,
        nodes.Import,
        nodes.Include,
        nodes.Macro,
        nodes.ContextReference,
        nodes.DerivedContextReference,
    )
    if any(tree.find_all(opaque)):
        return False
    harmless: set[int] = set()
    printed = set(texts)
    for loop in tree.find_all(nodes.For):
        if _names(loop.iter, {items}) and loop.test is None and isinstance(loop.target, nodes.Name):
            printed.add(loop.target.name)
            harmless |= {id(loop.iter), id(loop.target)}
    for output in tree.find_all(nodes.Output):
        harmless |= {id(each) for each in output.nodes if _names(each, printed)}
    for filtered in tree.find_all(nodes.Filter):
        if filtered.name in {"length", "count"} and _names(filtered.node, {items}):
            harmless.add(id(filtered.node))
    for asked in tree.find_all(nodes.Getattr):
        if _names(asked.node, {"loop"}) and asked.attr in _OF_THE_PLACE:
            harmless.add(id(asked.node))
    watched = printed | {items, "loop"}
    return all(id(name) in harmless for name in tree.find_all(nodes.Name) if name.name in watched)


def _names(node: object, names: set[str]) -> bool:
    from jinja2 import nodes

    return isinstance(node, nodes.Name) and node.ctx == "load" and node.name in names


def parts(render: Callable[[Sequence[str]], str], count: int) -> Parts:
    """The parts of a text that holds `count` other texts as they are; `render` makes it of them."""
    pieces = _MARK.split(render([f"\x00{number}\x00" for number in range(count)]))
    return tuple(int(piece) if place % 2 else piece for place, piece in enumerate(pieces))


def together(prompt: Parts, texts: Sequence[str]) -> str:
    """The text, with these texts in their places."""
    return "".join([texts[part] if isinstance(part, int) else part for part in prompt])
