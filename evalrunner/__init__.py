"""evalrunner: YAML declares an evaluation, one pipeline runs it, a receipt proves it.

From Python the commands are functions, imported when first used: `evalrunner.run(["sampler.limit=50"])`.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from evalrunner.api import judge_items, produce, regress, replay, run, select, trend, validate
    from evalrunner.api import tables as store
    from evalrunner.asides import (
        baselines,
        bless_baseline,
        cached,
        check_store,
        diff_baselines,
        doctor,
        explain,
        import_runs,
        init,
        options,
        save_baseline,
        schema,
        show,
        vacuum_store,
    )

__version__ = "0.1.0"

__all__ = [
    "__version__",
    "baselines",
    "bless_baseline",
    "cached",
    "check_store",
    "diff_baselines",
    "doctor",
    "explain",
    "import_runs",
    "init",
    "judge_items",
    "options",
    "produce",
    "regress",
    "replay",
    "run",
    "save_baseline",
    "schema",
    "select",
    "show",
    "store",
    "trend",
    "vacuum_store",
    "validate",
]

_OF_RUNS = ("judge_items", "produce", "regress", "replay", "run", "select", "trend", "validate")


def __getattr__(name: str) -> object:
    """The functions of `evalrunner.api` and `evalrunner.asides`, and `store`, which can be called."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'evalrunner' has no attribute {name!r}")
    if name == "store":
        return import_module("evalrunner.store")
    return getattr(import_module("evalrunner.api" if name in _OF_RUNS else "evalrunner.asides"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
