import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import example, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from evalrunner.config.quoting import assigned, literal, quoted
from evalrunner.errors import UsageError

AWKWARD = "ab'\"\\${}[](),:= \t\n?!é*~+@/.#%"


@settings(max_examples=600, deadline=None)
@given(st.text(alphabet=AWKWARD, max_size=14) | st.text(max_size=14))
@example("${oc.env:HOME}")
@example("\\\\${a}\\")
@example("'")
@example("\\\n")
@example("null")
@example("1e3")
@example("a,b")
@example("[a]")
@example(" a ")
@example("")
def test_every_text_comes_back_as_it_went_in(text: str) -> None:
    if text == "???" or any("\ud800" <= character <= "\udfff" for character in text):
        return
    parser = OverridesParser.create()
    override = parser.parse_override(assigned("key", text))
    assert not override.is_sweep_override()
    assert OmegaConf.create({"key": override.value()}).key == text
    again = parser.parse_override(f"key={override.get_value_element_as_str()}")  # as a sweeper writes it
    assert OmegaConf.create({"key": again.value()}).key == text


def test_the_escaping_by_hand() -> None:
    assert quoted("a") == "'a'"
    assert quoted("it's") == r"'it\'s'"
    assert quoted("c:\\") == r"'c:\\'"
    assert quoted("a\\b") == r"'a\b'"
    assert literal("${x}") == r"\${x}"
    assert literal(r"\${x}") == r"\\\${x}"


def test_the_mark_of_a_missing_value_is_no_text() -> None:
    with pytest.raises(UsageError, match="missing"):
        quoted("???")
