"""Forces the rules' version up when the rules change."""

import ast
import hashlib
import json
from pathlib import Path
from typing import Any

import evalrunner.model.rules
from evalrunner.model.rules import RULES_ID

FOLDER = Path(evalrunner.model.rules.__file__).parent
RECORD = Path(__file__).with_name("rules_digests.json")
APART = {"version.py"}


def plain(node: Any) -> Any:
    """A syntax tree as nested lists: no places, no docstrings, nothing empty, so alike in every Python."""
    if isinstance(node, ast.JoinedStr):
        return ["JoinedStr", *_pieces(node)]
    if isinstance(node, ast.AST):
        fields = [(name, plain(value)) for name, value in ast.iter_fields(node) if value not in (None, [])]
        return [type(node).__name__, *fields]
    if isinstance(node, list):
        kept = [each for each in node if not _is_text(each)]
        return [plain(each) for each in kept]
    return repr(node)


def _pieces(node: ast.JoinedStr) -> list[Any]:
    """The pieces of an f-string; Pythons differ in how they cut its plain text."""
    pieces: list[Any] = []
    for value in node.values:
        if not isinstance(value, ast.Constant):
            pieces.append(plain(value))
        elif pieces and isinstance(pieces[-1], str):
            pieces[-1] += str(value.value)
        elif value.value:
            pieces.append(str(value.value))
    return pieces


def _is_text(node: Any) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def digest() -> str:
    trees = [
        [path.name, plain(ast.parse(path.read_text(encoding="utf-8")))]
        for path in sorted(FOLDER.glob("*.py"))
        if path.name not in APART
    ]
    return hashlib.sha256(json.dumps(trees).encode()).hexdigest()


def test_changed_rules_need_a_new_id() -> None:
    record: dict[str, str] = json.loads(RECORD.read_text(encoding="utf-8"))
    now = digest()
    newest = f"rules-v{len(record) + 1}"
    assert record.get(RULES_ID) == now, (
        f"The rules in evalrunner/model/rules changed, and {RULES_ID!r} names what they were in receipts. "
        f"Set RULES_ID in version.py to {newest!r}, add {{{newest!r}: {now!r}}} to "
        f"{RECORD.name}, and measure anew (docs/rules-judge.md). Only while a version is unreleased may its "
        "own entry be replaced."
    )


def test_ids_count_up_and_no_two_versions_are_alike() -> None:
    record: dict[str, str] = json.loads(RECORD.read_text(encoding="utf-8"))
    assert list(record) == [f"rules-v{number}" for number in range(1, len(record) + 1)]
    assert list(record)[-1] == RULES_ID
    assert len(set(record.values())) == len(record)


def test_comments_and_docstrings_do_not_count() -> None:
    one = plain(ast.parse('"""Says."""\n# note\nX = {"a"}  # why\n"""What X is."""\n'))
    assert one == plain(ast.parse('X = {"a"}\n'))
    assert plain(ast.parse('f"a{x}b" "c"')) == plain(ast.parse('f"a" f"{x}bc"'))
    assert one != plain(ast.parse('X = {"b"}\n'))
