"""Model ids: as configured `openai:gpt-4o` or `openai/gpt-4o`, and as the client wants them.

An id stays as written in receipts and fingerprints. What it is turned into here finds the provider, the key
and models named twice.
"""

import json
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

from evalrunner.budget.pricing import canonical
from evalrunner.errors import Problem, nearest, show

__all__ = [
    "FORM",
    "canonical",
    "direct_route",
    "id_problem",
    "names_provider",
    "providers",
    "route",
    "split",
]

NO_FOLDER = frozenset(
    {
        "ai21_chat",
        "anthropic_text",
        "azure_text",
        "cohere_chat",
        "custom_openai",
        "maritalk",
        "ollama_chat",
        "sagemaker_chat",
        "sagemaker_nova",
        "text-completion-codestral",
        "text-completion-openai",
        "vertex_ai_beta",
        "watsonx_text",
    }
)
"""Providers of litellm that have no folder of their own in it."""

FORM = "provider:name or provider/name, such as openai:gpt-4o"


@cache
def providers() -> frozenset[str]:
    """The providers that the installed litellm knows, read from its folder without importing it.

    Empty when the folder cannot be read; then no provider is held against a user.
    """
    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return frozenset()
    folder = Path(spec.submodule_search_locations[0]) / "llms"
    try:
        names = {each.name for each in folder.iterdir() if each.is_dir() and not each.name.startswith("_")}
        names |= json.loads((folder / "openai_like" / "providers.json").read_text(encoding="utf-8")).keys()
    except (OSError, ValueError):
        return frozenset()
    return frozenset(names | NO_FOLDER | {"google"})


@lru_cache(maxsize=1024)
def split(model: str) -> tuple[str | None, str]:
    """Provider (lower case, None without one) and name: what stands before and after the first `:` or `/`."""
    places = [place for place in (model.find(":"), model.find("/")) if place >= 0]
    if not places:
        return None, model
    place = min(places)
    return model[:place].lower(), model[place + 1 :]


def route(model: str, api_base: str | None = None) -> str:
    """The id as the client wants it.

    With an endpoint of the user's own, an id that starts with no known provider is the name of a model
    behind an OpenAI-compatible API: `llama3:8b` and `meta-llama/Llama-3-8B` keep their punctuation.
    """
    if api_base is not None and not names_provider(model):
        return f"openai/{model}"
    return canonical(model)


def names_provider(model: str) -> bool:
    """Whether an id starts with a known provider. Where none can be known, every first part is one."""
    provider, _ = split(model)
    return provider is not None and (not providers() or provider in providers())


def direct_route(model: str) -> str:
    """The id as the client of OpenAI-compatible endpoints wants it: behind `openai/` stands what it sends.

    That is the id as written, since such endpoints have names like `anthropic/claude-opus-4-7` of their own;
    only `openai:` or `openai/` before it is taken off.
    """
    provider, name = split(model)
    return f"openai/{name if provider == 'openai' else model}"


def id_problem(model: str, where: str, api_base: str | None = None) -> Problem | None:
    """What is wrong with a model id: no provider in it, no name, or a provider that does not exist."""
    provider, name = split(model)
    if not model.strip() or model != model.strip() or not name:
        return Problem(where, "not a model id", show(model), FORM)
    if api_base is not None:
        return None
    if provider is None:
        return Problem(where, "a model id without its provider", show(model), f"{FORM}; or set api_base")
    if provider and (not providers() or provider in providers()):
        return None
    return Problem(where, "no such provider", show(model), FORM, nearest(provider, sorted(providers())))
