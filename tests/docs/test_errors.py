"""docs/errors.md holds every code, and no other."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import inside as program

import evalrunner
from evalrunner.errors import EvalrunnerError

PAGE = (Path(__file__).parents[2] / "docs" / "errors.md").read_text(encoding="utf-8")


def classes(base: type[EvalrunnerError] = EvalrunnerError) -> Iterator[type[EvalrunnerError]]:
    """Those with a code of their own: a class that only callers tell apart has its parent's."""
    if "code" in vars(base):
        yield base
    for each in base.__subclasses__():
        if each.__module__.startswith("evalrunner."):
            yield from classes(each)


@pytest.fixture(scope="module")
def known() -> set[type[EvalrunnerError]]:
    for module in pkgutil.walk_packages(evalrunner.__path__, "evalrunner."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return set(classes())


def test_the_table_is_the_tree(known: set[type[EvalrunnerError]]) -> None:
    rows = re.findall(r"^\| `(E-[A-Z-]+)` \| (\d) \| `(\w+)`", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted((each.code, str(each.exit_code), each.__name__) for each in known)


def test_every_code_has_a_section_with_cause_and_mend(known: set[type[EvalrunnerError]]) -> None:
    sections = dict(re.findall(r"^## (E-[A-Z-]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
    assert set(sections) == {each.code for each in known}
    assert all("\n- Cause: " in text and "\n- Mend: " in text for text in sections.values())


def test_no_code_is_used_twice(known: set[type[EvalrunnerError]]) -> None:
    assert len({each.code for each in known}) == len(known)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["rum"], "E-USAGE"),
        (["run", "sampler.limit=-1"], "E-CONFIG"),
        (["run", "sampler.limt=5"], "E-CONFIG-UNKNOWN-KEY"),
        (["run", "panel=frontear"], "E-CONFIG-CHOICE"),
        (["run", "panel=[rules,frontier]"], "E-CONFIG-CHOICE"),
        (["run", "sampler._target_=os.system"], "E-CONFIG-TARGET"),
        (["run", "source.path=nothing.jsonl"], "E-INPUT"),
        (["run", "panel=frontier"], "E-KEY-MISSING"),
    ],
)
def test_what_a_user_does_wrong_has_its_code(words: list[str], code: str, tmp_path: Path) -> None:
    done = program(tmp_path, *words)
    assert done.code == 3
    assert f"[{code}]" in done.err
