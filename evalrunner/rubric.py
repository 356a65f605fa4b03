"""Rubrics: versioned YAML files with dimensions, anchors and a scale, read strictly."""

from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from evalrunner.component import Component, ExactDecimal, Many
from evalrunner.errors import InputError, Problem, nearest, show
from evalrunner.paths import data_root, find_file, user_folder
from evalrunner.receipt.jsontext import MOST_DIGITS


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Scale(_Strict):
    """The range of scores, both ends in, with what its points mean."""

    min: ExactDecimal
    max: ExactDecimal
    anchors: dict[int, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _ordered(self) -> "Scale":
        if self.min >= self.max:
            raise ValueError("scale.min must be below scale.max")
        outside = [point for point in self.anchors if not self.min <= point <= self.max]
        if outside:
            raise ValueError(f"anchors outside the scale: {outside}")
        return self


class Dimension(_Strict):
    """One thing that is scored."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    question: str = Field(min_length=1)
    guidance: str = ""
    anchors: dict[int, str] = Field(default_factory=dict)


class Rubric(_Strict):
    """A rubric file.

    Attributes:
        version: what people call it; two files with one version are told apart by their fingerprint.
        scale: range of scores; None where nothing is scored on a scale.
        dimensions: in the order in which they are asked and shown.
        rules: settings of deterministic scoring (a window, a matching rule, a checklist), as plain data.
        content: the whole parsed file, for the fingerprint.
        path: where it was read from.
    """

    version: str = Field(min_length=1)
    title: str = ""
    scale: Scale | None = None
    dimensions: Many[Dimension] = ()
    rules: dict[str, Any] = Field(default_factory=dict)
    content: dict[str, Any] = Field(default_factory=dict, exclude=True)
    path: Path | None = Field(default=None, exclude=True)

    @field_validator("dimensions")
    @classmethod
    def _unique(cls, value: tuple[Dimension, ...]) -> tuple[Dimension, ...]:
        ids = [dimension.id for dimension in value]
        twice = sorted({each for each in ids if ids.count(each) > 1})
        if twice:
            raise ValueError(f"dimensions named twice: {', '.join(twice)}")
        return value

    @model_validator(mode="after")
    def _scored(self) -> "Rubric":
        if self.dimensions and self.scale is None:
            raise ValueError("a rubric with dimensions needs a scale")
        return self

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The dimensions' ids, in order."""
        return tuple(dimension.id for dimension in self.dimensions)

    @cached_property
    def plain(self) -> dict[str, Any]:
        """The rubric as plain data, for templates."""
        return self.model_dump()

    def allows(self, score: Decimal) -> bool:
        """Whether a score is finite and inside the scale, both ends in."""
        return self.scale is not None and score.is_finite() and self.scale.min <= score <= self.scale.max


class RubricFile(Component):
    """Which rubric an eval uses.

    Attributes:
        name: of the file in rubrics/, without `.yaml`.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")

    def load(self) -> Rubric:
        """The rubric; see `load_rubric`."""
        return load_rubric(self.name)


class _UniqueKeys(yaml.SafeLoader):
    """YAML that refuses a key written twice: the second would silently win."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> dict[Any, Any]:
    pairs = [
        (loader.construct_object(key, deep=True), loader.construct_object(value, deep=True))
        for key, value in node.value
    ]
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(
                None, None, f"key {key!r} is written twice", node.start_mark
            )
    return dict(pairs)


def _whole(loader: _UniqueKeys, node: yaml.ScalarNode) -> Any:
    if len(node.value) > MOST_DIGITS:
        what = f"a whole number has {len(node.value)} digits; at most {MOST_DIGITS} are read"
        raise yaml.constructor.ConstructorError(None, None, what, node.start_mark)
    return loader.construct_yaml_int(node)


_UniqueKeys.add_constructor("tag:yaml.org,2002:int", _whole)
_UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def load_rubric(name: str) -> Rubric:
    """The rubric `name` (without .yaml) from the user's ./rubrics, else from the packaged ones.

    Raises:
        InputError: there is none of that name, or the file is not a valid rubric; names file and field.
    """
    path = find_file("rubrics", f"{name}.yaml")
    if path is None:
        known = sorted(
            {
                file.stem
                for folder in (user_folder("rubrics"), data_root() / "rubrics")
                if folder is not None
                for file in folder.glob("*.yaml")
            }
        )
        raise InputError(
            Problem(
                "rubric.name", "no such rubric", show(name), ", ".join(known) or "none", nearest(name, known)
            )
        )
    return read_rubric(path)


def read_rubric(path: Path) -> Rubric:
    """The rubric in a file.

    Raises:
        InputError: unreadable, not YAML, or not a rubric; every problem with its place.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys)
    except (OSError, ValueError, yaml.YAMLError) as error:  # a day that no calendar has is a ValueError
        raise InputError(
            Problem(str(path), f"cannot be read as YAML: {' '.join(str(error).split())}")
        ) from None
    if not isinstance(content, dict):
        raise InputError(Problem(str(path), "a rubric is a mapping", show(content)))
    try:
        return Rubric.model_validate({**content, "content": content, "path": path})
    except ValidationError as error:
        raise InputError(
            [
                Problem(f"{path}: {'.'.join(map(str, each['loc']))}", each["msg"], show(each["input"]))
                for each in error.errors()
            ]
        ) from None
