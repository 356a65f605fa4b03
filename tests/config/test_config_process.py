import pytest

from evalrunner.config.process import check_environment
from evalrunner.errors import UsageError


def test_variables_that_nobody_reads_are_refused_all_at_once() -> None:
    environ = {"EVALRUNNER_CNOF": "x", "EVALRUNNER_DEBUGG": "1", "EVALRUNNER_DEBUG": "1", "PATH": "x"}
    with pytest.raises(UsageError) as caught:
        check_environment(environ, [])
    assert [(each.where, each.nearest) for each in caught.value.problems] == [
        ("EVALRUNNER_CNOF", "EVALRUNNER_CONF"),
        ("EVALRUNNER_DEBUGG", "EVALRUNNER_DEBUG"),
    ]


@pytest.mark.parametrize("value", ["", "none", "None", "."])
def test_the_overlay_may_be_a_folder_or_switched_off(value: str) -> None:
    check_environment({"EVALRUNNER_CONF": value}, ["a=é"])


def test_an_overlay_that_is_not_there_and_arguments_that_are_no_text() -> None:
    with pytest.raises(UsageError) as caught:
        check_environment({"EVALRUNNER_CONF": "nowhere"}, ["a=\udcff"])
    assert [each.what for each in caught.value.problems] == ["is no folder", "an argument is not UTF-8"]
