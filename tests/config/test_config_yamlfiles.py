"""Files read with libyaml give what Hydra's own way of reading gives, letter by letter."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader

from evalrunner.config.app import App
from evalrunner.config.yamlfiles import QuickFiles, _loader
from evalrunner.paths import data_root

CONF = data_root() / "conf"
FILES = sorted(str(file.relative_to(CONF)) for file in CONF.rglob("*.yaml"))


@pytest.mark.parametrize("file", FILES)
def test_every_packaged_file_reads_alike(file: str) -> None:
    quick = QuickFiles("main", f"file://{CONF}").load_config(file)
    usual = FileConfigSource("main", f"file://{CONF}").load_config(file)
    assert OmegaConf.to_yaml(quick.config) == OmegaConf.to_yaml(usual.config)
    assert (quick.header, quick.path, quick.provider) == (usual.header, usual.path, usual.provider)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1e3", "a: 2001-01-01", "a: 1_000", "a: 0o7", "a: 07", "a: .5", "a: on", "a: ~", "a: 1:30",
        "a: 0x1F",
        "{a: b:c, d: [x:y, 'q']}", "a: {b:1}", "a: [a:b]", "? x\n: y", "a: &x 1\nb: *x", "<<: {a: 1}\nb: 2",
        "a: b: c", "\tx: 1", 'a: "\\u00e9"', "a: !!python/object/apply:pathlib.Path [x]", "a: 1\na: 2", "- 1",
        "x", "", "a: ${oc.env:X}", "a: {b: ${c}}", "a: [${x}, ${y:1,2}]", "a: http://x:8/v1",
        "{u: http://x:8/v1}", "a: '\x00'", "a: \U0001f600", "a: {x, y}", "a: [1, 2,]", "a: |\n  x\n  y\n",
        "a: >-\n  x\n  y", "!!python/object/apply:os.system [x]", "a: !own x",
    ],
)  # fmt: skip
def test_odd_yaml_reads_alike_or_is_refused_alike(text: str) -> None:
    def read(loader: Any) -> str:
        try:
            return repr(yaml.load(text, Loader=loader))
        except yaml.YAMLError as error:
            return type(error).__name__

    assert read(_loader()) == read(get_yaml_loader())


def test_what_is_wrong_with_a_file_is_told_as_usual(tmp_path: Path) -> None:
    (tmp_path / "twice.yaml").write_text("a: 1\na: 2\n", encoding="utf-8")
    told = []
    for source in (QuickFiles, FileConfigSource):
        with pytest.raises(yaml.YAMLError) as caught:
            source("main", f"file://{tmp_path}").load_config("twice")
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_the_program_reads_that_way() -> None:
    kinds = [type(source) for source in App("run").config_loader.repository.sources]
    assert QuickFiles in kinds
