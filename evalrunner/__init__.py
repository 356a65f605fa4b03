"""evalrunner: YAML declares an evaluation, one pipeline runs it, a receipt proves it.

From Python the commands are functions, imported when first used: `evalrunner.run(["sampler.limit=50"])`.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from evalrunner.api import regress, replay, run, trend, validate
    from evalrunner.api import tables as store

__version__ = "0.1.0"

_COMMANDS = ("regress", "replay", "run", "trend", "validate")

__all__ = ["__version__", "regress", "replay", "run", "store", "trend", "validate"]


def __getattr__(name: str) -> object:
    """The functions of `evalrunner.api`, and the package `store`, which can be called."""
    from importlib import import_module

    if name in _COMMANDS:
        return getattr(import_module("evalrunner.api"), name)
    if name == "store":
        return import_module("evalrunner.store")
    raise AttributeError(f"module 'evalrunner' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
