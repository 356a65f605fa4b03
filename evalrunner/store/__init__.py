"""The DuckDB store of attempts, receipts and scores.

The package can be called, since `evalrunner.store()` is how one asks for the tables from Python.
"""

import sys
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from evalrunner.store.frames import Tables


class _Store(ModuleType):
    def __call__(
        self, path: "str | PathLike[str] | None" = None, overrides: "Sequence[str]" = ()
    ) -> "Tables":
        """The tables of the store at `path`, or of the configured one; see `evalrunner.api.tables`."""
        from importlib import import_module

        tables: Tables = import_module("evalrunner.api").tables(path, overrides)
        return tables


sys.modules[__name__].__class__ = _Store
