"""A baseline as text: a Hydra option in YAML that people read in review, and its rows in JSONL beside it.

Every text goes through OmegaConf once, so that `${` in it stays `${`; numbers come back equal.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from evalrunner.config.baseline import Baseline
from evalrunner.config.check import built, raise_all, resolved
from evalrunner.config.hydra_words import TOO_LONG, endless
from evalrunner.config.quoting import literal
from evalrunner.errors import ConfigError, InputError, Problem
from evalrunner.receipt.fingerprint import canonical_json, of_text
from evalrunner.receipt.jsontext import clean, fraction, no_twice, readable_json, whole_number
from evalrunner.receipt.schema import Receipt, parse

BLOCK = "baseline"
ROWS = ("judgements", "items", "cases", "defects", "unmatched")
"""The receipt's keys with a row an item, or several."""

_WIDTH = 100
LARGE = 2048
"""More bytes of rows than this lie in a file of their own."""

_LEFT_OUT = frozenset({"subject", "panel", "budget", "usage", "warnings"})
"""What of a receipt no comparison looks at, or what the option says itself."""


@dataclass(frozen=True)
class Saved:
    """A baseline that was read.

    Attributes:
        name: of the option.
        text: of the YAML file.
        option: its content as it stands there, texts still escaped.
        block: what it says of its run.
        receipt: the block's receipt, with the rows that lie beside it.
    """

    name: str
    text: str
    option: Mapping[str, Any]
    block: Baseline
    receipt: Receipt

    @property
    def fingerprint(self) -> str:
        """The sha256 of the content: comments and layout do not matter."""
        return of_text(canonical_json(self.option)).full


def receipt_block(receipt: Receipt) -> tuple[dict[str, Any], str | None]:
    """The receipt as YAML data, and its rows as JSONL when they are too large to stand in it."""
    kept = {key: value for key, value in receipt.to_json().items() if key not in _LEFT_OUT}
    rows = {key: kept[key] for key in ROWS if kept.get(key)}
    text = "".join(
        readable_json({"key": key, "row": row}) + "\n" for key, each in rows.items() for row in each
    )
    beside = len(text.encode()) > LARGE
    if beside:
        kept = {key: value for key, value in kept.items() if key not in rows}
    exact = {**_beyond_floats(receipt), **(receipt.scores_exact or {})}
    if exact:
        kept["scores_exact"] = exact
    return plain(kept), text if beside else None


def _beyond_floats(receipt: Receipt) -> dict[str, list[str]]:
    """The scores, as fractions, of dimensions in which one has more digits than YAML's numbers keep."""
    return {
        name: [str(Fraction(score)) for score in scores.scores]
        for name, scores in receipt.scores.items()
        if any(Decimal(repr(float(score))) != score for score in scores.scores)
    }


def plain(value: Any) -> Any:
    """JSON-like data as OmegaConf reads it again: numbers as int or float, texts escaped."""
    if isinstance(value, Mapping):
        return {clean(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, str):
        return "(???)" if value == "???" else literal(clean(value))  # ??? alone marks what is missing
    return value


def dump(title: str, option: Mapping[str, Any]) -> str:
    """The text of an option's file, a part of the configuration a paragraph."""
    parts = [
        yaml.dump({key: value}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
        for key, value in option.items()
    ]
    return f"# @package _global_\n# {title}\n" + "\n".join(parts)


class _Dumper(yaml.SafeDumper):
    """YAML that OmegaConf reads as it was: it takes more texts for numbers than YAML 1.1 does."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _scalar(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "'" if re.fullmatch(r"[-+.\d][-+.\d_:eE]*", text) else None
    if not text.isprintable():
        style = '"'  # the only one in which every character has an escape
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _scalar)


def load(name: str, text: str, rows: str | None, place: str) -> Saved:
    """A baseline from the text of its files.

    Args:
        name: of the option.
        text: of the YAML file.
        rows: of the JSONL file; None where there is none.
        place: names the YAML file in messages.

    Raises:
        ConfigError: it is no YAML, or its block `baseline` is missing or wrong; everything that is.
        InputError: the rows are not those that it was saved with.
    """
    option = content(text, place)
    if not isinstance(option.get(BLOCK), Mapping):
        raise ConfigError(
            Problem(place, "pins a run but holds no figures", None, f"evalrunner baseline bless {name}")
        )
    problems: list[Problem] = []
    values = resolved(OmegaConf.create({BLOCK: option[BLOCK]}), problems)
    block = built(Baseline, values[BLOCK], f"{place}: {BLOCK}", problems)
    raise_all(problems)
    return Saved(name, text, option, block, joined(block, rows, place))


def content(text: str, place: str) -> dict[str, Any]:
    """The content of an option's file, interpolations unresolved.

    Raises:
        ConfigError: it is no YAML, or no mapping.
    """
    try:
        made = OmegaConf.create(text)
    except (yaml.YAMLError, OmegaConfBaseException, ValueError) as error:
        said = " ".join(str(error).split())
        raise ConfigError(Problem(place, TOO_LONG if endless(said) else f"is no YAML: {said}")) from None
    if not isinstance(made, DictConfig):
        raise ConfigError(Problem(place, "an option is a mapping"))
    return {str(key): value for key, value in OmegaConf.to_container(made, resolve=False).items()}  # type: ignore[union-attr]


def rows_sha(rows: str) -> str:
    """The sha256 of a file of rows, whatever its line ends."""
    return of_text(rows.replace("\r\n", "\n")).full


def joined(block: Baseline, rows: str | None, place: str) -> Receipt:
    """The block's receipt with the rows of the file beside it.

    Raises:
        InputError: the file is missing, or is another one than the block names.
    """
    if block.rows is None:
        return block.receipt
    beside = place.removesuffix(".yaml") + ".jsonl"
    if rows is None:
        raise InputError(Problem(beside, "no such file; it holds the rows of this baseline"))
    if rows_sha(rows) != block.rows:
        raise InputError(
            Problem(
                beside, "is not the file that the baseline was saved with", rows_sha(rows)[:8], block.rows[:8]
            )
        )
    found: dict[str, list[Any]] = {}
    try:
        for key, row in _rows(rows):
            found.setdefault(key, []).append(row)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(Problem(beside, f"is no JSONL of rows: {error}")) from None
    return parse(block.receipt.to_json() | found, beside)


def _rows(text: str) -> Iterator[tuple[str, Any]]:
    for line in filter(None, text.replace("\r\n", "\n").split("\n")):
        record = json.loads(line, parse_float=fraction, parse_int=whole_number, object_pairs_hook=no_twice)
        yield record["key"], record["row"]
