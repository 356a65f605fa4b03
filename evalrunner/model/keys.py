"""Which environment variable holds which provider's key."""

from collections.abc import Mapping

from evalrunner.errors import Problem
from evalrunner.model.ids import split

KEYS: Mapping[str, tuple[str, ...]] = {
    "ai21": ("AI21_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "azure": ("AZURE_API_KEY",),
    "azure_ai": ("AZURE_AI_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "cohere_chat": ("COHERE_API_KEY", "CO_API_KEY"),
    "dashscope": ("DASHSCOPE_API_KEY",),
    "deepinfra": ("DEEPINFRA_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "huggingface": ("HUGGINGFACE_API_KEY", "HF_TOKEN"),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "nvidia_nim": ("NVIDIA_NIM_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "replicate": ("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"),
    "sambanova": ("SAMBANOVA_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY"),
    "xai": ("XAI_API_KEY",),
}
"""Provider -> variables, of which one is enough. Providers with credentials of another kind are not here."""

PLACEHOLDER = "no-key-needed"
"""Sent as the key to an endpoint of the user's own that names no key: clients refuse an empty one."""


def variables(route: str, api_base: str | None, key_env: str | None) -> tuple[str, ...]:
    """The variables that may hold the key, first one first; empty when none is needed or none is known."""
    if key_env is not None:
        return (key_env,)
    if api_base is not None:
        return ()
    return KEYS.get(split(route)[0] or "", ())


def find_key(route: str, api_base: str | None, key_env: str | None, environ: Mapping[str, str]) -> str | None:
    """The key to send: from the environment, a placeholder for an endpoint without one, or None.

    None means that the key is missing (`key_problem` says so), or that the provider has its own way to find
    credentials. A provider's key never goes to an endpoint of the user's own unless it is named.
    """
    for name in variables(route, api_base, key_env):
        if value := environ.get(name, "").strip():
            return value
    return PLACEHOLDER if api_base is not None and key_env is None else None


def key_problem(
    model: str, route: str, api_base: str | None, key_env: str | None, environ: Mapping[str, str]
) -> Problem | None:
    """That the key which this model needs is in none of its variables."""
    names = variables(route, api_base, key_env)
    if not names or find_key(route, api_base, key_env, environ) is not None:
        return None
    return Problem(model, f"the API key is missing: set {' or '.join(names)} in the environment")
