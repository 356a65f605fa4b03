"""JSON Schemas (2020-12) of what users write and read, made from the models that check it.

They say what a value may look like. What needs two values at once, or a look at a file, only the program
checks.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from pydantic_core import core_schema

from evalrunner.component import Component
from evalrunner.config import registry
from evalrunner.config.tree import RegressConfig, ReplayConfig, StageConfig, TrendConfig
from evalrunner.model.litellm_model import LitellmModel
from evalrunner.receipt.schema import Receipt
from evalrunner.source.cases import JudgeBatch, ReviewCase
from evalrunner.source.takes import ALLOWED, REQUIRED, Take

Json = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_ROOTS: Final = (StageConfig, RegressConfig, TrendConfig, ReplayConfig)
_OWN: Final = frozenset({"choices", "overrides", "shadowed"})
_LATER: Final = {
    "description": "an interpolation, or ??? for later",
    "pattern": r"\$\{|^\?\?\?$",
    "type": "string",
}
_FIXED: Final = frozenset({"_target_", "defaults", "hydra"})
_NAME: Final = {"description": "a model id, or an option of group model", "type": "string"}
_BOUNDS: Final = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_ATTRIBUTE: Final = re.compile(r"^ {4}(\w+(?:, \w+)*): ", re.MULTILINE)


class _Generator(GenerateJsonSchema):
    """Numbers as numbers, paths as texts, and any component of a group where a protocol stands."""

    whole = False

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> Json:
        bounds = {_BOUNDS[key]: float(value) for key, value in schema.items() if key in _BOUNDS}  # type: ignore[arg-type]
        return {"type": "number", **bounds}

    def model_schema(self, schema: core_schema.ModelSchema) -> Json:
        if schema["cls"] is Receipt and not self.whole:
            return {"type": "object", "description": "a receipt, whose schema stands by itself"}
        return super().model_schema(schema)

    def is_instance_schema(self, schema: core_schema.IsInstanceSchema) -> Json:
        return {"$group": schema["cls"].__name__}


class _OfReceipts(_Generator):
    """Receipts in full; a configuration only holds one, in its baseline."""

    whole = True


def receipt_schema() -> Json:
    """Of a receipt, `schema_version` 1. Keys that it does not know are allowed, as the contract says."""
    definitions = _definitions([Receipt], _OfReceipts)
    root = definitions.pop("Receipt")
    return _document("A receipt of evalrunner, schema_version 1", root, definitions)


def takes_schema() -> Json:
    """Of one row of takes. Further columns are allowed; they are carried along as truth."""
    definitions = _definitions([Take])
    root = definitions.pop("Take")
    root |= {"required": sorted(REQUIRED), "additionalProperties": True}
    properties = root["properties"]
    for name, allowed in ALLOWED.items():
        properties[name] |= {"description": allowed}
    properties["id"]["anyOf"].append({"type": "integer"})
    properties["weight"] |= {"type": "number", "minimum": 0, "maximum": 1}
    properties["page_slug"] |= {"pattern": r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$"}
    for name in ("holder", "claim"):
        properties[name] |= {"pattern": r"\S"}
    return _document("A take: one row of a file of takes", root, definitions)


def cases_schema() -> Json:
    """Of one row of review cases, or of judge batches."""
    kinds = (ReviewCase, JudgeBatch)
    definitions = _definitions(kinds)
    for kind in kinds:
        row = definitions[kind.__name__]
        row["anyOf"] = [{"required": ["diff"]}, {"required": ["diff_base64"]}]
    for row in (*(definitions[kind.__name__] for kind in kinds), definitions["LabelledFinding"]):
        row["properties"]["id"] |= {"type": ["string", "integer"]}
    either = {"anyOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in kinds]}
    return _document(
        "A review case, or a batch of labelled findings: one row of their files", either, definitions
    )


def config_schema(targets: Iterable[str] | None = None) -> Json:
    """Of a file of conf/: a whole configuration, or an option of a group, told by its `_target_`.

    An option that leaves `_target_` out, since it builds on another one, is read as a whole configuration.
    No key is required: what one file leaves out, another one says.

    Args:
        targets: the components that may be named; None is those of conf/ and those that installed packages
            registered.
    """
    extra = sorted(registry.registered() if targets is None else set(targets) - registry.packaged())
    groups = {group: [*names, *extra] for group, names in registry.by_group().items()}
    classes = {name: registry.find(name, name) for names in groups.values() for name in names}
    definitions = _definitions([*dict.fromkeys(classes.values()), *_ROOTS])
    keys = _places(classes.values(), definitions)
    roots = [definitions.pop(root.__name__) for root in _ROOTS]
    definitions.pop("RunConfig", None)
    for target, component in classes.items():
        own = definitions[keys[component]]
        own["properties"] = {
            "_target_": {"const": target},
            "defaults": {"type": "array"},
            **own["properties"],
        }
    for group, names in groups.items():
        definitions[f"group.{group}"] = {"anyOf": [_ref(keys[classes[name]]) for name in names]}
    definitions["group.model"]["anyOf"].insert(0, _NAME)
    definitions["later"] = _LATER
    whole: Json = {"defaults": {"type": "array"}, "hydra": {"type": "object"}}
    for root in roots:
        whole |= {name: part for name, part in root["properties"].items() if name not in _OWN}
    definitions["configuration"] = {"type": "object", "properties": whole, "additionalProperties": False}
    for definition in definitions.values():
        definition.pop("required", None)
        _open(definition, keys[LitellmModel])
    named = {"anyOf": [_ref(keys[component]) for component in dict.fromkeys(classes.values())]}
    either = {"if": {"required": ["_target_"]}, "then": named, "else": _ref("configuration")}
    return _document("A file of conf/, or a composed configuration, of evalrunner", either, definitions)


SCHEMAS: Final[Mapping[str, Callable[[], Json]]] = {
    "receipt": receipt_schema,
    "config": config_schema,
    "cases": cases_schema,
    "takes": takes_schema,
}
"""What there is a schema of."""


def _document(title: str, root: Json, definitions: Json) -> Json:
    parts = {"$defs": dict(sorted(definitions.items()))} if definitions else {}
    return {"$schema": DIALECT, **root, "title": title, **parts}


def _ref(name: str) -> Json:
    return {"$ref": f"#/$defs/{name}"}


def _definitions(models: Iterable[type[Any]], generator: type[_Generator] = _Generator) -> Json:
    """The models, and all that they are made of, by name."""
    pairs: list[Any] = [(model, "validation") for model in models]
    _, document = models_json_schema(pairs, schema_generator=generator)
    definitions: Json = document["$defs"]
    for definition in definitions.values():
        _describe(definition)
        _tidy(definition)
    return definitions


def _places(classes: Iterable[type[Component]], definitions: Json) -> dict[type[Component], str]:
    """Each component's name among the definitions, which is longer where two have the same."""
    found = {}
    for component in classes:
        full = f"{component.__module__}.{component.__qualname__}".replace(".", "__")
        found[component] = component.__name__ if component.__name__ in definitions else full
    return found


def _describe(definition: Json) -> None:
    """Moves what a docstring says of an attribute to the attribute's own description."""
    text = definition.pop("description", "")
    summary, _, attributes = text.partition("\n\nAttributes:\n")
    if summary:
        definition["description"] = " ".join(summary.split("\n\n", maxsplit=1)[0].split())
    parts = _ATTRIBUTE.split(attributes)[1:]
    for names, said in zip(parts[::2], parts[1::2], strict=True):
        for name in names.split(", "):
            if name in definition.get("properties", {}):
                definition["properties"][name]["description"] = " ".join(said.split())


def _tidy(node: Any) -> None:
    """Bounds in JSON Schema's own words, no formats, and no defaults that only say null."""
    for part in node.values() if isinstance(node, dict) else node:
        if isinstance(part, dict | list):
            _tidy(part)
    if isinstance(node, dict):
        for word, name in _BOUNDS.items():
            if word in node and not isinstance(node[word], dict):
                node[name] = node.pop(word)
        if isinstance(node.get("format"), str):
            del node["format"]


def _open(node: Any, llm: str) -> None:
    """Puts groups in the place of protocols, and lets every key of a configuration be said later."""
    if isinstance(node, list):
        for part in node:
            _open(part, llm)
        return
    if not isinstance(node, dict):
        return
    if (protocol := node.pop("$group", None)) is not None:
        node |= _ref(f"group.{_group(protocol)}")
    for key, part in node.items():
        _open(part, llm)
        if key == "properties":
            part |= {name: _or_later(value, llm) for name, value in part.items() if name not in _FIXED}


def _or_later(value: Json, llm: str) -> Json:
    if value.keys() - {"description", "default"} == {"type"} and value["type"] == "string":
        return value
    told = {"description": value.pop("description")} if "description" in value else {}
    ways = value["anyOf"] if value.keys() <= {"anyOf", "default"} and "anyOf" in value else [value]
    default = {"default": value.pop("default")} if "default" in value else {}
    names = [_NAME] if _ref(llm) in ways else []
    return {**told, "anyOf": [*ways, *names, _ref("later")], **default}


def _group(protocol: str) -> str:
    return {"Seat": "model", "Speaker": "model"}.get(protocol, protocol.lower())


def written(schema: Json) -> str:
    """A schema as the text of a file."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
