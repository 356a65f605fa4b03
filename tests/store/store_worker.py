"""Run as a program by the tests: uses a store, and dies where it is told to.

store_worker.py put FOLDER PREFIX COUNT    puts COUNT attempts, and prints each run id once it is kept
store_worker.py die FOLDER POINT           puts attempt `r1`, and is killed at POINT
store_worker.py full FOLDER BYTES          puts attempt `r1` where no file may grow beyond BYTES
store_worker.py full-export FOLDER BYTES   exports attempts to `rows.csv` likewise
store_worker.py full-vacuum FOLDER BYTES   rewrites the database likewise
store_worker.py vacuum FOLDER POINT        rewrites the database, and is killed at POINT
store_worker.py hold FILE                  holds a file lock until stdin ends
store_worker.py open FILE ro|rw            holds a DuckDB file open until stdin ends, as a notebook would
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from store_samples import attempt, corpus, receipt, store_in

from evalrunner.errors import EvalrunnerError
from evalrunner.store import copies, database, tables, vacuum
from evalrunner.store.export import export
from evalrunner.store.frames import Tables


def killed_before(
    original: Callable[..., Any], when: Callable[..., bool] = lambda *_: True
) -> Callable[..., Any]:
    def instead(*arguments: Any, **named: Any) -> Any:
        if when(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **named)

    return instead


def killed_after(
    original: Callable[..., Any], when: Callable[..., bool] = lambda *_: True
) -> Callable[..., Any]:
    def instead(*arguments: Any, **named: Any) -> Any:
        result = original(*arguments, **named)
        if when(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return instead


def into(folder: str) -> Callable[..., bool]:
    return lambda _, target=None: target is not None and folder in str(target)


def to_database(_: Path, target: Path) -> bool:
    return target.suffix == ".duckdb"


def waits(path: Path) -> bool:
    return path.suffix == ".json"


POINTS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "before it waits": (Path, "replace", killed_before(Path.replace, into(".pending"))),
    "once it waits": (Path, "replace", killed_after(Path.replace, into(".pending"))),
    "under the lock": (database, "writing", killed_before(database.writing)),
    "while the database is made": (database, "migrate", killed_after(database.migrate)),
    "before the database is in place": (Path, "replace", killed_before(Path.replace, to_database)),
    "in the transaction": (tables, "_bulk", killed_after(tables._bulk)),
    "after the commit": (copies, "keep", killed_before(copies.keep)),
    "before the copy is in place": (Path, "replace", killed_before(Path.replace, into("receipts"))),
    "after the copy": (copies, "keep", killed_after(copies.keep)),
    "before it waits no more": (Path, "unlink", killed_before(Path.unlink, waits)),
    "at the end": (Path, "unlink", killed_after(Path.unlink, waits)),
}

VACUUM_POINTS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "after the copy": (vacuum, "_copied", killed_after(vacuum._copied)),
    "before it is in place": (Path, "replace", killed_before(Path.replace, to_database)),
    "once it is in place": (Path, "replace", killed_after(Path.replace, to_database)),
}


def main(command: str, place: str, *rest: str) -> None:
    folder = Path(place)
    match command:
        case "put":
            prefix, count = rest
            store = store_in(folder)
            for number in range(int(count)):
                name = f"{prefix}{number}"
                kept = store.put(attempt(name, receipt(corpus=corpus(f"{number:08x}"))))
                print(name, kept.kept, flush=True)
        case "die":
            owner, name, dying = POINTS[rest[0]]
            setattr(owner, name, dying)
            store_in(folder).put(attempt("r1"))
            raise AssertionError("not killed")
        case "vacuum":
            owner, name, dying = VACUUM_POINTS[rest[0]]
            setattr(owner, name, dying)
            vacuum.vacuum(store_in(folder), print)
            raise AssertionError("not killed")
        case "full" | "full-export" | "full-vacuum":
            import resource

            sys.dont_write_bytecode = True  # half a module would stay behind
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(rest[0]), int(rest[0])))
            store = store_in(folder)
            try:
                if command == "full":
                    print(store.put(attempt("r1")))
                elif command == "full-vacuum":
                    print(vacuum.vacuum(store, print))
                else:
                    print(export(Tables(store, print).attempts(), folder / "rows.csv", "csv"))
            except EvalrunnerError as error:
                print(f"{type(error).__name__}\n{error}")
        case "hold":
            from filelock import FileLock

            with FileLock(place):
                print("held", flush=True)
                sys.stdin.read()
        case "open":
            import duckdb

            connection = duckdb.connect(place, read_only=rest[0] == "ro")
            print("open", flush=True)
            sys.stdin.read()
            connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
