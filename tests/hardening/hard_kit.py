"""How hard the tests of this folder try, and what they break things with.

Each run tries the same examples. `HARDENING=20` tries twenty times as many, and other ones each time.
"""

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

TIMES = int(os.environ.get("HARDENING", "1"))


def tries(examples: int) -> settings:
    """So many examples, times HARDENING."""
    return settings(
        max_examples=examples * TIMES,
        derandomize=TIMES == 1,
        database=None,
        deadline=None,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.function_scoped_fixture,
            HealthCheck.filter_too_much,
        ],
    )


ODD_TEXTS = (
    "",
    " ",
    "\0",
    "\x1b[2J",
    "\ud800",
    "\u202e",
    "\ufeff",
    "a\nb",
    "../x",
    "/etc",
    "~",
    "null",
    "NaN",
    "${oc.env:HOME}",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "<script>",
    "](x)",
    "```",
    '"',
    "'",
    "\\",
    "%s",
    "é" * 9,
    "::error::x",
    "x" * 300,
)
ODD_NUMBERS = (0, -1, 1, 2**31, 2**63, 10**25, 0.1, -0.0, 1e-300, 1e300, True, False)

ODD: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.sampled_from(ODD_TEXTS) | st.sampled_from(ODD_NUMBERS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("a", "id", "")), inner, max_size=2)
    ),
    max_leaves=4,
)
"""Values that a JSON document may hold where another one is meant."""


def came_of(
    work: Callable[[], Any], refusal: type[Exception] | tuple[type[Exception], ...]
) -> tuple[Any, Any]:
    """What a piece of work returns, or the refusal that it raises; the other one is None."""
    try:
        return work(), None
    except refusal as refused:
        return None, refused


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every part of a JSON document but the whole."""
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list):
        parts = list(enumerate(value))
    else:
        return []
    return [each for key, part in parts for each in ((*path, key), *places(part, (*path, key)))]


@st.composite
def broken(draw: Callable[..., Any], document: Any) -> Any:
    """A JSON document with one to three of its parts replaced, removed or doubled."""
    import copy

    made = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        all_places = places(made)
        if not all_places:
            break
        *path, last = draw(st.sampled_from(all_places))
        node = made
        for step in path:
            node = node[step]
        how = draw(st.sampled_from(("replace", "replace", "remove", "double")))
        if how == "remove":
            del node[last]
        elif how == "double" and isinstance(node, list):
            node.insert(last, copy.deepcopy(node[last]))
        else:
            node[last] = draw(ODD)
    return made


@st.composite
def garbled(draw: Callable[..., Any], data: bytes, signs: bytes = b"") -> bytes:
    """Bytes with one to four pieces cut out, doubled, moved, or overwritten with others."""
    made = data
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(made)))
        end = draw(st.integers(start, min(len(made), start + 80)))
        piece = made[start:end]
        how = draw(st.sampled_from(("cut", "double", "move", "put", "put")))
        if how == "cut":
            made = made[:start] + made[end:]
        elif how == "double":
            made = made[:end] + piece + made[end:]
        elif how == "move":
            rest = made[:start] + made[end:]
            to = draw(st.integers(0, len(rest)))
            made = rest[:to] + piece + rest[to:]
        else:
            new = draw(
                st.binary(max_size=6) if not signs else st.lists(st.sampled_from(list(signs)), max_size=4)
            )
            made = made[:start] + bytes(new) + made[end:]
    return made
