"""Which code a configuration may name."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from config_composing import loaded, problems, wheres, write

from evalrunner.component import Component
from evalrunner.config import registry
from evalrunner.errors import TargetError
from evalrunner.paths import data_root


def test_every_target_of_the_packaged_files_is_a_component() -> None:
    files = list((data_root() / "conf").rglob("*.yaml"))
    named = {target for file in files for _, target in registry.targets(yaml.safe_load(file.read_text()))}
    assert named == registry.packaged()
    assert all(issubclass(registry.find(str(target), "x"), Component) for target in named)


@pytest.mark.parametrize(
    "target",
    [
        "os.system",
        "evalrunner.source.file",
        "evalrunner.source.file.FileSource.take",
        "evalrunner.source.file.Path.write_text",
        "evalrunner.model.rules.seat.RulesModel",  # the same class by another name
        "",
        3,
        None,
    ],
)
def test_only_exact_targets_are_known(target: object) -> None:
    assert not registry.known(target)


def test_a_typo_in_a_target() -> None:
    with pytest.raises(TargetError, match=r"did you mean 'evalrunner\.store\.null\.NullStore'"):
        registry.find("evalrunner.store.null.NulStore", "store._target_")


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An installed package that registers two components, one of which is none, and one that is not there."""
    site = tmp_path / "site"
    write(
        site / "shoe_evals.py",
        dedent("""
            from evalrunner.source.file import FileSource
            class ShoeSource(FileSource):
                size: int = 42
            class NoComponent:
                pass
        """),
    )
    write(
        site / "shoe_evals-1.dist-info" / "METADATA", "Metadata-Version: 2.1\nName: shoe-evals\nVersion: 1\n"
    )
    write(
        site / "shoe_evals-1.dist-info" / "entry_points.txt",
        "[evalrunner.components]\nshoes = shoe_evals:ShoeSource\nbad = shoe_evals:NoComponent\n"
        "gone = shoe_evals:Gone\n",
    )
    monkeypatch.syspath_prepend(str(site))
    registry.registered.cache_clear()
    yield site
    registry.registered.cache_clear()


def test_installed_packages_register_components(elsewhere: Path, plugin: Path) -> None:
    write(elsewhere / "conf" / "source" / "shoes.yaml", "_target_: shoe_evals.ShoeSource\npath: x.jsonl\n")
    source: Any = loaded("run", "source=shoes", "source.size=43", "--slug-prefix", "a").source
    assert (type(source).__name__, source.size, source.slug_prefix) == ("ShoeSource", 43, "a")
    assert wheres(problems("run", "source=shoes", "source.size=big")) == ["source.size"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("NoComponent", "is no component class"), ("Gone", "cannot be imported"), ("Other", "is no reg")],
)
def test_what_registers_wrongly_is_refused(elsewhere: Path, plugin: Path, name: str, said: str) -> None:
    write(elsewhere / "conf" / "source" / "shoes.yaml", f"_target_: shoe_evals.{name}\n")
    (found,) = problems("run", "source=shoes")
    assert found.where == "source._target_"
    assert said in found.what
