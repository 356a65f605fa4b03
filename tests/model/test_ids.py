"""Model ids and the keys that they need."""

import pytest

from evalrunner.model.ids import canonical, id_problem, providers, route, split
from evalrunner.model.keys import KEYS, PLACEHOLDER, find_key, key_problem

OWN = "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("openai:gpt-4o", "openai", "gpt-4o"),
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("OpenAI:gpt-4o", "openai", "gpt-4o"),
        ("openrouter/meta-llama/llama-3:free", "openrouter", "meta-llama/llama-3:free"),
        ("ollama:llama3:8b", "ollama", "llama3:8b"),
        ("gpt-4o", None, "gpt-4o"),
    ],
)
def test_split(model: str, provider: str | None, name: str) -> None:
    assert split(model) == (provider, name)


@pytest.mark.parametrize(
    ("model", "api_base", "wanted"),
    [
        ("openai:gpt-4o", None, "openai/gpt-4o"),
        ("google:gemini-2.5-pro", None, "gemini/gemini-2.5-pro"),
        ("google/gemini-2.5-pro", None, "gemini/gemini-2.5-pro"),
        ("gemini:gemini-2.5-pro", None, "gemini/gemini-2.5-pro"),
        ("groq:llama-3.1-8b-instant", None, "groq/llama-3.1-8b-instant"),
        ("openai:gpt-4o", OWN, "openai/gpt-4o"),
        ("anthropic:claude-x", OWN, "anthropic/claude-x"),
        ("my-model", OWN, "openai/my-model"),
        ("llama3:8b", OWN, "openai/llama3:8b"),
        ("meta-llama/Llama-3-8B", OWN, "openai/meta-llama/Llama-3-8B"),
    ],
)
def test_route(model: str, api_base: str | None, wanted: str) -> None:
    assert route(model, api_base) == wanted


def test_spellings_of_one_model_are_the_same_and_others_are_not() -> None:
    same = {
        "google:gemini-2.5-pro",
        "gemini/gemini-2.5-pro",
        "Google/gemini-2.5-pro",
        "gemini:gemini-2.5-pro",
    }
    assert {canonical(each) for each in same} == {"gemini/gemini-2.5-pro"}
    assert canonical("openai:gpt-4o") != canonical("openai:gpt-4o-mini")
    assert canonical("my-model") == "openai/my-model"


def test_good_ids_have_no_problem() -> None:
    for model in ("openai:gpt-4o", "google:gemini-2.5-pro", "hosted_vllm/x", "ollama_chat/x", "azure/x"):
        assert id_problem(model, "panel.models.0") is None
    assert id_problem("anything", "panel.models.0", OWN) is None


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("gpt-4o", "without its provider (found 'gpt-4o'); allowed: provider:name"),
        ("opnai:gpt-4o", "no such provider (found 'opnai:gpt-4o')"),
        ("antropic/claude", "did you mean 'anthropic'?"),
        ("openai:", "not a model id"),
        (":gpt-4o", "no such provider"),
        ("", "not a model id"),
        (" openai:gpt-4o", "not a model id"),
    ],
)
def test_a_bad_id_says_the_form(model: str, words: str) -> None:
    problem = id_problem(model, "panel.models.0")
    assert str(problem).startswith("panel.models.0: ")
    assert words in str(problem)


def test_every_provider_with_a_key_is_one_that_litellm_knows() -> None:
    assert KEYS.keys() <= providers()
    assert {"google", "bedrock", "vertex_ai", "hosted_vllm"} <= providers()


def test_where_a_key_comes_from() -> None:
    environ = {"OPENAI_API_KEY": "own", "MINE": " mine\n", "GOOGLE_API_KEY": "g", "EMPTY": ""}
    assert find_key("openai/x", None, None, environ) == "own"
    assert find_key("openai/x", None, "MINE", environ) == "mine"
    assert find_key("gemini/x", None, None, environ) == "g"
    assert find_key("openai/x", OWN, None, environ) == PLACEHOLDER
    assert find_key("openai/x", OWN, "MINE", environ) == "mine"
    assert find_key("openai/x", OWN, "EMPTY", environ) is None
    assert find_key("bedrock/x", None, None, environ) is None


def test_a_missing_key_is_told_with_its_variables() -> None:
    assert str(key_problem("google:x", "gemini/x", None, None, {})) == (
        "google:x: the API key is missing: set GEMINI_API_KEY or GOOGLE_API_KEY in the environment"
    )
    assert "set MINE in" in str(key_problem("openai:x", "openai/x", OWN, "MINE", {"OPENAI_API_KEY": "own"}))
    assert key_problem("x", "openai/x", OWN, None, {}) is None
    assert key_problem("bedrock:x", "bedrock/x", None, None, {}) is None
