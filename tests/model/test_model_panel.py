import pytest
from pydantic import ValidationError

from evalrunner.model.litellm_model import LitellmModel
from evalrunner.model.panel import NoPanel, Panel
from evalrunner.model.rules import RulesModel


def test_seats_keep_their_order() -> None:
    seats = [LitellmModel(id="openai:gpt-4o"), RulesModel(), LitellmModel(id="anthropic/claude-x")]
    panel = Panel.model_validate({"models": seats})
    assert [seat.id for seat in panel.models] == [seat.id for seat in seats]
    assert NoPanel().models == ()


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([], "at least one model is needed"),
        (["openai:gpt-4o", "openai:gpt-4o"], "openai:gpt-4o at 0 and openai:gpt-4o at 1"),
        (
            ["google:gemini-x", "openai:gpt-4o", "gemini/gemini-x"],
            "google:gemini-x at 0 and gemini/gemini-x at 2",
        ),
    ],
)
def test_nobody_and_nobody_twice(ids: list[str], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Panel.model_validate({"models": [LitellmModel(id=each) for each in ids]})


def test_a_seat_is_a_seat() -> None:
    with pytest.raises(ValidationError, match="instance of Seat"):
        Panel.model_validate({"models": ["openai:gpt-4o"]})
