"""Throw-away blocks and workflow definitions for tests of the engine.

Every block works on plain numbers and texts, so that a result can be worked out by hand. No block
of the project, no
prediction and no picture may be used here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Union

from pydantic import create_model

from execution_engine import BlockRegistry, ExecutionEngine, Plugin
from execution_engine.block_api import (
    Batch,
    FlowControl,
    OutputDefinition,
    Selector,
    StepSelector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import WILDCARD_KIND
from execution_engine.kinds.kind import Kind

ANY = Union[Selector(), Any]
LIST = list[ANY]
OBJECT = dict[str, ANY]
STEPS = list[StepSelector]
STEP_OBJECT = dict[str, StepSelector]

Run = Callable[..., Any]


def block(
    type_id: str,
    run: Run,
    *,
    fields: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Sequence[Kind]] | Sequence[str] = ("out",),
    aliases: Sequence[str] = (),
    batches: Sequence[str] = (),
    batches_or_singles: Sequence[str] = (),
    cast: Sequence[str] = (),
    offsets: Mapping[str, int] | None = None,
    reference: str | None = None,
    output_offset: int = 0,
    accepts_empty: bool = False,
    written: Sequence[str] = (),
    inert: Mapping[str, str] | None = None,
    init: Callable[..., None] | None = None,
    close: Callable[[Any], None] | None = None,
    futures: bool = False,
    compatibility: str | None = None,
    actual_outputs: Callable[[Any], list[OutputDefinition]] | None = None,
) -> type[WorkflowBlock]:
    """A block class whose `run` is the given function (without `self`).

    Args:
        type_id: canonical id.
        run: the code; its parameters are the fields, each taking any value or reference unless
            `fields` says otherwise.
        fields: annotation, or (annotation, default), of fields by name.
        outputs: names, or kinds by name.
        init: a constructor; its parameters (after `self`) are the init parameters.

    The other arguments are the hooks of manifests and blocks.
    """
    kinds = outputs if isinstance(outputs, Mapping) else {name: [WILDCARD_KIND] for name in outputs}
    declared = [OutputDefinition(name, list(kind)) for name, kind in kinds.items()]

    class Hooks(WorkflowBlockManifest):
        @classmethod
        def describe_outputs(cls) -> list[OutputDefinition]:
            return [OutputDefinition("*")] if actual_outputs is not None else declared

        @classmethod
        def get_parameters_accepting_batches(cls) -> list[str]:
            return list(batches)

        @classmethod
        def get_parameters_accepting_batches_and_scalars(cls) -> list[str]:
            return list(batches_or_singles)

        @classmethod
        def get_parameters_enforcing_auto_batch_casting(cls) -> list[str]:
            return list(cast)

        @classmethod
        def get_input_dimensionality_offsets(cls) -> dict[str, int]:
            return dict(offsets or {})

        @classmethod
        def get_dimensionality_reference_property(cls) -> str | None:
            return reference

        @classmethod
        def get_output_dimensionality_offset(cls) -> int:
            return output_offset

        @classmethod
        def accepts_empty_values(cls) -> bool:
            return accepts_empty

        @classmethod
        def get_parameters_written_in_place(cls) -> list[str]:
            return list(written)

        @classmethod
        def get_inert_fields(cls) -> dict[str, str]:
            return dict(inert or {})

        @classmethod
        def get_execution_engine_compatibility(cls) -> str | None:
            return compatibility

    if actual_outputs is not None:
        Hooks.get_actual_outputs = actual_outputs  # type: ignore[method-assign]
    parameters = [
        parameter
        for parameter in inspect.signature(run).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    annotations: dict[str, Any] = {}
    for parameter in parameters:
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        annotations[parameter.name] = (ANY, default)
    for name, annotation in (fields or {}).items():
        annotations[name] = annotation if isinstance(annotation, tuple) else (annotation, ...)
    manifest = create_model(
        f"Manifest of {type_id}",
        __base__=Hooks,
        type=(Literal[(type_id, *aliases)], ...),
        **annotations,
    )

    class Toy(WorkflowBlock):
        returns_futures = futures
        __init__ = init or object.__init__  # type: ignore[assignment]

        @classmethod
        def get_manifest(cls) -> type[WorkflowBlockManifest]:
            return manifest

        @classmethod
        def get_init_parameters(cls) -> list[str]:
            return [] if init is None else list(inspect.signature(init).parameters)[1:]

        def close(self) -> None:
            if close is not None:
                close(self)

    def bound(self: Any, **arguments: Any) -> Any:
        return run(**arguments)

    bound.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        + [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    )
    Toy.run = bound  # type: ignore[method-assign]
    Toy.__abstractmethods__ = frozenset()
    Toy.__name__ = Toy.__qualname__ = type_id.split("/")[-1].split("@")[0].title().replace("_", "")
    return Toy


def toy_registry(*blocks: type[WorkflowBlock], plugins: Iterable[Plugin] = ()) -> BlockRegistry:
    """A registry of the standard toy blocks and the given ones."""
    return BlockRegistry([Plugin("toys", blocks=(*standard_blocks(), *blocks)), *plugins])


def standard_blocks() -> list[type[WorkflowBlock]]:
    """Element-wise, batch, splitting, gathering, gating and empty-tolerant blocks."""
    return [
        block("toy/add@v1", lambda a, b=1: {"out": a + b}),
        block("toy/show@v1", lambda x: {"out": repr(x)}),
        block("toy/pass@v1", lambda x: {"out": x}),
        block("toy/odd_only@v1", lambda x: {"out": x if x % 2 else None}),
        block(
            "toy/batch_add@v1",
            lambda a, b: [{"out": x + y} for x, y in zip(a, b, strict=True)],
            batches=("a", "b"),
        ),
        block(
            "toy/index@v1",
            lambda x: [{"out": index} for index in x.indices],
            batches=("x",),
        ),
        block(
            "toy/split@v1",
            lambda n: [{"out": 10 * n + i} for i in range(n)],
            output_offset=1,
        ),
        block(
            "toy/batch_split@v1",
            lambda n: [[{"out": 10 * item + i} for i in range(item)] for item in n],
            batches=("n",),
            output_offset=1,
        ),
        block("toy/gather@v1", lambda data: {"out": list(data)}, cast=("data",), output_offset=-1),
        block(
            "toy/first@v1",
            lambda data, default=None: {
                "out": next((item for item in data if item is not None), default)
            },
            fields={"data": LIST},
            accepts_empty=True,
        ),
        block(
            "toy/gate@v1",
            lambda test, next_steps: FlowControl(next_steps if test else None),
            fields={"next_steps": STEPS},
            outputs=(),
        ),
        block(
            "toy/switch@v1",
            lambda value, cases, default=(): FlowControl(
                [cases[str(value)]] if str(value) in cases else list(default)
            ),
            fields={"cases": STEP_OBJECT, "default": (STEPS, [])},
            outputs=(),
        ),
        block(
            "toy/with_children@v1",
            lambda parent, children: {
                "out": (parent, None if children is None else list(children))
            },
            offsets={"parent": 0, "children": 1},
            reference="parent",
            accepts_empty=True,
        ),
        block("toy/generate@v1", lambda n=3: [{"out": i} for i in range(n)], output_offset=1),
        block("toy/constant@v1", lambda value: {"out": value}),
    ]


def parameter(name: str, default: Any = None, **more: Any) -> dict[str, Any]:
    """Declaration of one value a run."""
    return {"type": "WorkflowParameter", "name": name, "default_value": default, **more}


def batch_input(name: str, dimensionality: int = 1, **more: Any) -> dict[str, Any]:
    """Declaration of one value a batch element."""
    return {
        "type": "WorkflowBatchInput",
        "name": name,
        "dimensionality": dimensionality,
        **more,
    }


def step(type_id: str, name: str, **fields: Any) -> dict[str, Any]:
    """A step of the block `toy/<type_id>@v1`, or of the whole id when there is a slash in it."""
    full = type_id if "/" in type_id else f"toy/{type_id}@v1"
    return {"type": full, "name": name, **fields}


def workflow(
    inputs: Sequence[Mapping[str, Any]] = (),
    steps: Sequence[Mapping[str, Any]] = (),
    outputs: Mapping[str, str] | Sequence[Mapping[str, Any]] = (),
    **more: Any,
) -> dict[str, Any]:
    """A definition; outputs are selectors by name, or whole declarations."""
    if isinstance(outputs, Mapping):
        outputs = [
            {"type": "JsonField", "name": name, "selector": selector}
            for name, selector in outputs.items()
        ]
    return {
        "version": "1.0",
        "inputs": list(inputs),
        "steps": list(steps),
        "outputs": list(outputs),
        **more,
    }


def run(
    definition: Mapping[str, Any],
    inputs: Mapping[str, Any] | None = None,
    *blocks: type[WorkflowBlock],
    registry: BlockRegistry | None = None,
    init_parameters: Mapping[str, Any] | None = None,
    max_concurrent_steps: int = 1,
    **options: Any,
) -> list[dict[str, Any]]:
    """Result of one run of a definition with the standard toy blocks and the given ones."""
    with ExecutionEngine.init(
        definition,
        init_parameters,
        max_concurrent_steps,
        registry=registry or toy_registry(*blocks),
    ) as engine:
        return engine.run(inputs or {}, **options)


def shown_batches(value: Any) -> Any:
    """Batches as `("batch", elements)`, so that they are told from lists."""
    if isinstance(value, Batch):
        return ("batch", [shown_batches(item) for item in value])
    if isinstance(value, list):
        return [shown_batches(item) for item in value]
    if isinstance(value, dict):
        return {key: shown_batches(item) for key, item in value.items()}
    return value
