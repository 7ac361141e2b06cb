"""Every built block against the facts that Roboflow Workflows publishes about it.

The facts (ids, fields, kinds, defaults, limits, outputs, hooks) are in `catalogue.json.gz`. What a
block does with its inputs is tested beside the block.
"""

from __future__ import annotations

import gzip
import importlib
import inspect
import json
import pkgutil
import types
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import pytest
from pydantic import ConfigDict, Field
from pydantic_core import to_jsonable_python

import blocks
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.block_api.digest import digest_block
from execution_engine.block_api.spec import BlockSpec
from execution_engine.kinds.catalogue import FLOAT_KIND, IMAGE_KIND

CATALOGUE_FILE = Path(__file__).parent / "catalogue.json.gz"
CORE_PREFIX = "roboflow_core/"
# Ids of ours under the core prefix that the catalogue does not know.
EXTENSIONS = {"roboflow_core/roboflow_instance_segmentation_model@v5"}
LIMITS = (
    *(side + what for side in ("min", "max") for what in ("imum", "Items", "Length")),
    "exclusiveMinimum",
    "exclusiveMaximum",
)
# One rule under two names, for text and for lists.
SAME_LIMIT = {"minLength": "minItems", "maxLength": "maxItems"}


class Built(NamedTuple):
    """A block of ours beside what the catalogue says of it."""

    spec: BlockSpec
    manifest: type[WorkflowBlockManifest]
    fact: Mapping[str, Any]


Check = Callable[[Built], Iterator[str]]


def read_catalogue() -> dict[str, Mapping[str, Any]]:
    """The facts by canonical id."""
    with gzip.open(CATALOGUE_FILE, "rt", encoding="utf-8") as file:
        return {entry["ids"][0]: entry for entry in json.load(file)}


def block_classes(package: types.ModuleType) -> tuple[list[type[WorkflowBlock]], dict[str, str]]:
    """Concrete block classes of a package, and why modules failed to import, by module.

    Tensor siblings share the manifests of their NumPy versions and need torch: they are left out.
    """
    found, failures = [], {}
    for module_info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if module_info.name.endswith("_tensor"):
            continue
        try:
            module = importlib.import_module(module_info.name)
        except Exception as error:
            failures[module_info.name] = f"{type(error).__name__}: {error}"
            continue
        found += [
            member
            for member in vars(module).values()
            if inspect.isclass(member)
            and issubclass(member, WorkflowBlock)
            and member.__module__ == module.__name__
            and not inspect.isabstract(member)
            and _has_type_id(member)
        ]
    return found, failures


def _has_type_id(block: type[WorkflowBlock]) -> bool:
    hints = get_type_hints(block.get_manifest(), include_extras=True)
    return get_origin(hints.get("type")) is Literal


def mismatch(built: Built, what: str, expected: Any, got: Any) -> str:
    """One difference as text: block, field, expected, got."""
    return f"{built.spec.type_id}: {what}: expected {expected!r}, got {got!r}"


def compare(built: Built, what: str, expected: Any, got: Any) -> Iterator[str]:
    """The difference of two values, if any."""
    if expected != got:
        yield mismatch(built, what, expected, got)


def shared_fields(built: Built) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    """Name, fact and spec of the fields that both sides know."""
    for name, fact in built.fact["fields"].items():
        if name in built.spec.fields:
            yield name, fact, built.spec.fields[name]


def check_ids(built: Built) -> Iterator[str]:
    """Canonical id first, then the aliases in order."""
    got = [built.spec.type_id, *built.spec.aliases]
    yield from compare(built, "ids", built.fact["ids"], got)


def check_titles(built: Built) -> Iterator[str]:
    """Title for people and kind of block."""
    yield from compare(built, "title", built.fact["title"], built.spec.title)
    yield from compare(built, "block_type", built.fact["block_type"], built.spec.block_type)


def check_field_names(built: Built) -> Iterator[str]:
    """No field is missing and none is added."""
    expected, got = set(built.fact["fields"]), set(built.spec.fields)
    for name in sorted(expected - got):
        yield f"{built.spec.type_id}: field `{name}`: expected a field, got nothing"
    for name in sorted(got - expected):
        yield f"{built.spec.type_id}: field `{name}`: expected nothing, got a field"


def check_required(built: Built) -> Iterator[str]:
    """Which fields a step must give."""
    for name, fact, spec in shared_fields(built):
        expected = fact.get("required", False)
        yield from compare(built, f"field `{name}`: required", expected, spec.required)


def check_field_aliases(built: Built) -> Iterator[str]:
    """Names of a field in JSON, the published one first."""
    for name, fact, spec in shared_fields(built):
        expected = fact.get("aliases", [name])
        yield from compare(built, f"field `{name}`: names", expected, list(spec.aliases))


def check_defaults(built: Built) -> Iterator[str]:
    """Default values as JSON."""
    for name, fact, _ in shared_fields(built):
        if "default" in fact:
            info = built.manifest.model_fields[name]
            default = info.get_default(call_default_factory=True, validated_data={})
            got = None if info.is_required() else to_jsonable_python(default, by_alias=True)
            yield from compare(built, f"field `{name}`: default", fact["default"], got)


def check_references(built: Built) -> Iterator[str]:
    """What a field may refer to, of which kinds, in which containers; whether it takes values."""
    for name, fact, spec in shared_fields(built):
        references = spec.references
        what = f"field `{name}`"
        for part, expected, got in (
            ("elements", fact.get("elements", []), [item.element for item in references]),
            ("kinds", fact.get("kinds", []), [kind for item in references for kind in item.kinds]),
            (
                "points_to_batch",
                fact.get("points_to_batch", []),
                [item.points_to_batch for item in references],
            ),
            ("containers", containers(fact["type"]), [item.container for item in references]),
        ):
            yield from compare(built, f"{what}: {part}", _as_set(expected), _as_set(got))
        literal = any(member not in ("selector", "null") for member in members(fact["type"]))
        yield from compare(built, f"{what}: takes plain values", literal, spec.accepts_literal)


def _as_set(values: Any) -> list[str]:
    return sorted({str(value) for value in values})


def members(type_text: str) -> list[str]:
    """`selector | array[string | null]` -> its two members."""
    result, depth, start = [], 0, 0
    for position, character in enumerate(type_text):
        depth += (character == "[") - (character == "]")
        if depth == 0 and type_text.startswith(" | ", position):
            result.append(type_text[start:position])
            start = position + 3
    return [*result, type_text[start:]]


def containers(type_text: str) -> list[str | None]:
    """The places of references: None for the value itself, `list` and `dict` for what is inside."""
    found: list[str | None] = []
    for member in members(type_text):
        if member == "selector":
            found.append(None)
        for opening, container in (("array[", "list"), ("object[", "dict")):
            if member.startswith(opening) and "selector" in members(member[len(opening) : -1]):
                found.append(container)
    return found


def check_options(built: Built) -> Iterator[str]:
    """The texts a field of fixed options takes."""
    hints = get_type_hints(built.manifest, include_extras=True)
    for name, fact, _ in shared_fields(built):
        expected = [
            option
            for member in members(fact["type"])
            if member.startswith(("enum:", "const:"))
            for option in member.partition(":")[2].split("|")
        ]
        got = list(options(hints[name]))
        yield from compare(built, f"field `{name}`: options", sorted(expected), sorted(got))


def options(annotation: Any) -> Iterator[str]:
    """Fixed options of an annotation outside containers, as text."""
    origin = get_origin(annotation)
    if origin is Literal:
        for value in get_args(annotation):
            yield str(value.value if isinstance(value, Enum) else value)
    elif origin is Annotated:
        yield from options(get_args(annotation)[0])
    elif origin is Union or origin is types.UnionType:
        for member in get_args(annotation):
            yield from options(member)
    elif inspect.isclass(annotation) and issubclass(annotation, Enum):
        yield from (str(member.value) for member in annotation)


def check_limits(built: Built) -> Iterator[str]:
    """Limits of numbers and lengths; we may set more on the plain values of a mixed field."""
    properties = built.manifest.model_json_schema()["properties"]
    for name, fact, spec in shared_fields(built):
        schema = properties[spec.aliases[0]]
        own = _limits_of(schema)
        inner = {
            key: value
            for part in schema.get("anyOf", ())
            for key, value in _limits_of(part).items()
        }
        expected = _limits_of(fact.get("limits", {}))
        for key, value in expected.items():
            got = {**inner, **own}.get(key)
            yield from compare(built, f"field `{name}`: {key}", value, got)
        for key in own.keys() - expected.keys():
            yield mismatch(built, f"field `{name}`: {key}", None, own[key])


def _limits_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        SAME_LIMIT.get(key, key): schema[key]
        for key in LIMITS
        if key in schema and "pattern" not in schema
    }


def check_outputs(built: Built) -> Iterator[str]:
    """Outputs in order, each with its kinds in order (the order decides the wire format)."""
    outputs = {name: kinds for name, kinds in built.fact["outputs"].items() if name != "*"}
    got = {output.name: list(output.kinds) for output in built.spec.outputs}
    yield from compare(built, "outputs", list(outputs), list(got))
    for name in outputs.keys() & got.keys():
        yield from compare(built, f"output `{name}`: kinds", outputs[name], got[name])
    dynamic = "*" in built.fact["outputs"]
    yield from compare(built, "outputs depend on the step", dynamic, built.spec.dynamic_outputs)


def check_hooks(built: Built) -> Iterator[str]:
    """How the engine feeds the block."""
    hooks, spec = built.fact.get("hooks", {}), built.spec
    for name in ("accepts_batches", "accepts_batches_and_scalars", "auto_batch_cast"):
        yield from compare(built, name, sorted(hooks.get(name, [])), sorted(getattr(spec, name)))
    yield from compare(
        built, "input_offsets", hooks.get("input_offsets", {}), dict(spec.input_offsets)
    )
    for name, default in (
        ("reference_property", None),
        ("output_offset", 0),
        ("accepts_empty", False),
    ):
        yield from compare(built, name, hooks.get(name, default), getattr(spec, name))


def check_engine(built: Built) -> Iterator[str]:
    """Range of engine versions."""
    got = built.spec.engine_compatibility
    yield from compare(built, "engine_compatibility", built.fact["engine"], got)


def check_air_gap(built: Built) -> Iterator[str]:
    """Whether the block works without a network."""
    got = built.manifest.get_air_gapped_availability()["available"]
    expected = built.fact.get("air_gapped", True)
    yield from compare(built, "works without a network", expected, got)


CHECKS: tuple[Check, ...] = (
    check_ids,
    check_titles,
    check_field_names,
    check_required,
    check_field_aliases,
    check_defaults,
    check_references,
    check_options,
    check_limits,
    check_outputs,
    check_hooks,
    check_engine,
    check_air_gap,
)


@pytest.fixture(scope="module")
def discovered() -> tuple[list[type[WorkflowBlock]], dict[str, str]]:
    return block_classes(blocks)


@pytest.fixture(scope="module")
def built_blocks(discovered: tuple[list[type[WorkflowBlock]], dict[str, str]]) -> list[Built]:
    catalogue = read_catalogue()
    digested = [(digest_block(block, "core"), block.get_manifest()) for block in discovered[0]]
    return [
        Built(spec, manifest, catalogue[spec.type_id])
        for spec, manifest in digested
        if spec.type_id in catalogue
    ]


class TestBlocks:
    def test_modules_import(self, discovered: tuple[list[Any], dict[str, str]]) -> None:
        """Every module of the block library imports."""
        assert discovered[1] == {}

    def test_core_ids_are_known(self, discovered: tuple[list[Any], dict[str, str]]) -> None:
        """A block under the core prefix is in the catalogue or a named extension."""
        ids = {digest_block(block, "core").type_id for block in discovered[0]}
        unknown = {name for name in ids if name.startswith(CORE_PREFIX)} - set(read_catalogue())
        assert unknown <= EXTENSIONS

    def test_one_class_an_id(self, discovered: tuple[list[Any], dict[str, str]]) -> None:
        """No two classes serve the same id or alias."""
        owners: dict[str, str] = {}
        clashes = []
        for block in discovered[0]:
            spec = digest_block(block, "core")
            for name in (spec.type_id, *spec.aliases):
                if name in owners:
                    clashes.append(f"{name}: {owners[name]} and {block.__module__}")
                owners[name] = block.__module__
        assert clashes == []

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_fact(self, built_blocks: list[Built], check: Check) -> None:
        """Every built block agrees with the catalogue."""
        problems = [problem for built in built_blocks for problem in check(built)]
        assert not problems, "\n".join(problems)


class TestCatalogue:
    def test_complete(self) -> None:
        """The file names all 250 blocks, each id and alias once."""
        names = [name for entry in read_catalogue().values() for name in entry["ids"]]
        assert len(read_catalogue()) == 250
        assert len(names) == len(set(names))


class ToyManifest(WorkflowBlockManifest):
    model_config = ConfigDict(json_schema_extra={"name": "Toy", "block_type": "math"})
    type: Literal["toy/add@v1", "Add"]
    image: Selector(kind=[IMAGE_KIND])  # type: ignore[valid-type]
    amount: Annotated[float, Field(ge=0)] | Selector(kind=[FLOAT_KIND]) = 1.5  # type: ignore[valid-type]
    mode: Literal["a", "b"] = "a"

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("image", [IMAGE_KIND]), OutputDefinition("sum", [FLOAT_KIND])]


class ToyBlock(WorkflowBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return ToyManifest

    def run(self, image: Any, amount: float, mode: str) -> BlockResult:
        return {"image": image, "sum": amount}


def toy_fact() -> dict[str, Any]:
    """What the catalogue would say of the toy block."""
    reference = {"elements": ["any_data"], "points_to_batch": ["dynamic"]}
    return {
        "ids": ["toy/add@v1", "Add"],
        "title": "Toy",
        "block_type": "math",
        "fields": {
            "image": {"type": "selector", "required": True, "kinds": ["image"], **reference},
            "amount": {
                "type": "number | selector",
                "default": 1.5,
                "kinds": ["float"],
                "limits": {"minimum": 0},
                **reference,
            },
            "mode": {"type": "enum:a|b", "default": "a"},
        },
        "outputs": {"image": ["image"], "sum": ["float"]},
        "engine": None,
    }


class TestChecks:
    def problems(self, fact: Mapping[str, Any]) -> list[str]:
        built = Built(digest_block(ToyBlock, "toy"), ToyManifest, fact)
        return [problem for check in CHECKS for problem in check(built)]

    def test_agreement(self) -> None:
        """A block that agrees has no problems."""
        assert self.problems(toy_fact()) == []

    @pytest.mark.parametrize(
        ("path", "value", "problem"),
        [
            ("ids", ["toy/add@v1"], "ids: expected ['toy/add@v1'], got ['toy/add@v1', 'Add']"),
            ("title", "Sum", "title: expected 'Sum', got 'Toy'"),
            ("fields new", {"type": "string"}, "field `new`: expected a field, got nothing"),
            ("fields image required", False, "field `image`: required: expected False, got True"),
            ("fields image aliases", ["i"], "field `image`: names: expected ['i'], got ['image']"),
            ("fields amount default", 2, "field `amount`: default: expected 2, got 1.5"),
            ("fields image kinds", ["*"], "field `image`: kinds: expected ['*'], got ['image']"),
            (
                "fields image type",
                "array[selector]",
                "field `image`: containers: expected ['list'], got ['None']",
            ),
            (
                "fields amount type",
                "selector",
                "field `amount`: takes plain values: expected False, got True",
            ),
            ("fields mode type", "enum:a", "field `mode`: options: expected ['a'], got ['a', 'b']"),
            ("fields amount limits", {"minimum": 1}, "field `amount`: minimum: expected 1, got 0"),
            ("outputs", {"sum": []}, "outputs: expected ['sum'], got ['image', 'sum']"),
            ("outputs sum", ["*"], "output `sum`: kinds: expected ['*'], got ['float']"),
            ("hooks", {"output_offset": 1}, "output_offset: expected 1, got 0"),
            ("engine", ">=1.3.0", "engine_compatibility: expected '>=1.3.0', got None"),
            ("air_gapped", False, "works without a network: expected False, got True"),
        ],
    )  # fmt: skip
    def test_deviation(self, path: str, value: Any, problem: str) -> None:
        """Each kind of deviation is named with block, field, expected and got."""
        fact = toy_fact()
        *parents, last = path.split()
        place = fact
        for key in parents:
            place = place[key]
        place[last] = value
        assert f"toy/add@v1: {problem}" in self.problems(fact)


class TestContainers:
    @pytest.mark.parametrize(
        ("type_text", "expected"),
        [
            ("string", []),
            ("selector | null", [None]),
            ("array[selector | string] | selector", ["list", None]),
            ("object[selector]", ["dict"]),
            ("array[any] | selector", [None]),
        ],
    )
    def test_places(self, type_text: str, expected: list[str | None]) -> None:
        """References inside lists and objects are told from those at the top."""
        assert containers(type_text) == expected
