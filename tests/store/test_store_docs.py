"""docs/store.md keeps in step with the tables, and its examples run."""

import re
import textwrap
from pathlib import Path

import pytest
from store_samples import put, query, store_in

import evalrunner
from evalrunner.store.duckdb_store import DuckdbStore

DOCUMENT = Path(evalrunner.__file__).parent.parent / "docs" / "store.md"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DuckdbStore:
    monkeypatch.chdir(tmp_path)
    filled = store_in(Path("outputs"))
    put(filled, "r1")
    return filled


def examples() -> list[str]:
    """The indented blocks, without their indent."""
    blocks = re.findall(r"(?:^ {4,}\S.*\n(?:\n(?= {4}))*)+", DOCUMENT.read_text(), re.MULTILINE)
    return [textwrap.dedent(block) for block in blocks]


def test_every_table_view_and_column_is_explained(store: DuckdbStore) -> None:
    named = set(re.findall(r"`(\w+)`", DOCUMENT.read_text()))
    known = query(store, "select table_name, column_name from duckdb_columns() where not internal")
    ours = {name for row in known if row[0] != "evalrunner_migrations" for name in row}
    assert ours - named == set()
    assert "evalrunner_migrations" in named


def test_the_queries_run(store: DuckdbStore) -> None:
    statements = [block for block in examples() if "select" in block and "import" not in block]
    assert len(statements) == 1
    found = [query(store, each) for each in statements[0].split(";") if each.strip()]
    assert [len(rows) for rows in found] == [1, 1, 1]
    assert found[0][0][1:] == ("pass", 7.75)
    assert found[1] == [("accuracy", 0.5)]


def test_the_programs_run(store: DuckdbStore) -> None:
    ours, locked = [block for block in examples() if "import" in block]
    space: dict[str, list[object]] = {}
    exec(ours, space)
    exec(locked, space)
    assert len(space["attempts"]) == len(space["rows"]) == 1
    assert space["verdicts"] == ["pass"]
