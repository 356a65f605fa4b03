"""Untrusted text is made harmless before a terminal shows it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import ANY_MACHINE

from evalrunner.reporter.text import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "[31mred [0m"),
        ("a\r\nb\tc", "a b c"),
        ("safe \u202egnp.exe", "safe gnp.exe"),
        ("bell\x07 null\x00", "bell null"),
        ("\x9b2J", "2J"),
        ("lone \ud800 half", "lone half"),
        ("  Grüße, 世界  ", "Grüße, 世界"),
    ],
)
def test_control_characters_are_gone(text: str, shown: str) -> None:
    assert plain(text) == shown


@ANY_MACHINE
@given(st.text(alphabet=st.characters(categories=["Cc", "Cf", "Cs", "Lu", "Zs", "Zl"])))
def test_nothing_that_moves_a_cursor_survives(text: str) -> None:
    result = plain(text)
    assert not any(
        ord(each) < 32 or 127 <= ord(each) < 160 or 0xD800 <= ord(each) < 0xE000 for each in result
    )
    result.encode()
