"""What a workflow needs and a server lacks: how a server finds it out, and how a client reads it.

The question is `POST /workflows/definition/check` with `specification` and, in `inputs`, the
parameters that name models. The answer is `{"missing": [...]}` with an object of `step`,
`block_type`, `kind`, `wanted`, `available` and `where` for each thing, and an empty list when
nothing is missing. Other faults of a definition are not looked for.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from execution_engine.definition.references import INPUT, parse_reference
from execution_engine.errors import Problem
from execution_engine.registry.registry import BlockRegistry
from workflows.remote.errors import MissingItem, MissingOnServerError, ServerAnswerError
from workflows.remote.json_answers import shown

MODEL_FIELD = "model_id"
_MODEL_MANAGER = "model_manager"
_CODES = {
    "block": "block_not_on_server",
    "version": "block_version_not_on_server",
    "model": "model_not_on_server",
}
_NEAREST = 3


def find_missing(
    definition: Any,
    parameters: Mapping[str, Any],
    registry: BlockRegistry,
    has_model: Callable[[str], bool],
    known_models: Callable[[], Iterable[str]],
) -> list[dict[str, Any]]:
    """The `missing` of an answer.

    Args:
        definition: a workflow definition; parts that are not what they should be are left out.
        parameters: values of inputs that name models.
        registry: the blocks that are there.
        has_model: whether there is a model of this id; loads nothing.
        known_models: ids of the models there are.
    """
    missing = []
    inputs = {**_defaults(definition), **parameters}
    for index, step in _steps(definition):
        type_id, name = step.get("type"), str(step.get("name", ""))
        if not isinstance(type_id, str):
            continue
        item: dict[str, Any] = {"step": name, "block_type": type_id}
        spec = registry.spec(type_id)
        if spec is None:
            versions = _versions(type_id, registry)
            item["kind"] = "version" if versions else "block"
            item["wanted"] = type_id
            item["available"] = versions or [
                near for near in registry.nearest_types(type_id) if registry.spec(near)
            ]
            missing.append({**item, "where": f"/steps/{index}/type"})
            continue
        if _MODEL_MANAGER not in spec.init_parameters or MODEL_FIELD not in spec.fields:
            continue
        wanted = _model_of(step, spec.fields[MODEL_FIELD].aliases, inputs)
        if wanted is None or has_model(wanted):
            continue
        item.update(kind="model", wanted=wanted)
        item["available"] = difflib.get_close_matches(wanted, list(known_models()), _NEAREST, 0.5)
        missing.append({**item, "where": f"/steps/{index}/{MODEL_FIELD}"})
    return missing


def model_parameters(definition: Any) -> set[str]:
    """Names of the inputs that name models, told from the fields they feed."""
    names = set()
    for _, step in _steps(definition):
        for field, value in step.items():
            reference = parse_reference(value) if isinstance(value, str) else None
            if MODEL_FIELD in field and reference is not None and reference.kind == INPUT:
                names.add(str(reference.name))
    return names


def missing_on_server(content: Mapping[str, Any], server: str) -> MissingOnServerError | None:
    """The error behind an answer to the question; None when nothing is missing.

    Raises:
        ServerAnswerError: it is no answer to the question.
    """
    items = content.get("missing") or []
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise ServerAnswerError(
            f"The server {server} does not say what it lacks: `missing` must be a list of objects, "
            f"got {shown(items)}. `check=False` leaves the question out.",
            server,
        )
    if not items:
        return None
    missing, problems = [], []
    for item in items:
        kind = str(item.get("kind"))
        available = item.get("available")
        found = MissingItem(
            step=str(item.get("step")),
            block_type=str(item.get("block_type")),
            kind=kind if kind in _CODES else "block",  # type: ignore[arg-type]  # one of three
            wanted=str(item.get("wanted")),
            available=tuple(map(str, available)) if isinstance(available, list) else (),
        )
        missing.append(found)
        problems.append(_problem(found, str(item.get("where") or ""), server))
    message = "\n".join(map(str, problems))
    return MissingOnServerError(message, server, problems, missing)


def _problem(item: MissingItem, where: str, server: str) -> Problem:
    if item.kind == "model":
        what = f"Step '{item.step}' ({item.block_type}) needs the model '{item.wanted}', which"
    else:
        what = f"Step '{item.step}' has the type '{item.wanted}', which"
    return Problem(
        code=_CODES[item.kind],
        message=f"{what} the server {server} does not have.",
        where=where,
        hint=f"it has {', '.join(item.available)}" if item.available else None,
        block_id=item.step,
        block_type=item.block_type,
        property_name=MODEL_FIELD if item.kind == "model" else None,
    )


def _steps(definition: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    steps = definition.get("steps") if isinstance(definition, Mapping) else None
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        if isinstance(step, Mapping):
            yield index, step


def _defaults(definition: Any) -> dict[str, Any]:
    inputs = definition.get("inputs") if isinstance(definition, Mapping) else None
    return {
        item["name"]: item.get("default_value")
        for item in (inputs if isinstance(inputs, list) else ())
        if isinstance(item, Mapping) and isinstance(item.get("name"), str)
    }


def _model_of(
    step: Mapping[str, Any], names: Iterable[str], inputs: Mapping[str, Any]
) -> str | None:
    """The model a step asks for; None when that is not known before the run."""
    value = next((step[name] for name in names if name in step), None)
    reference = parse_reference(value) if isinstance(value, str) else None
    if reference is not None:
        value = inputs.get(str(reference.name)) if reference.kind == INPUT else None
    return value if isinstance(value, str) else None


def _versions(type_id: str, registry: BlockRegistry) -> list[str]:
    """The versions of the same block that are there."""
    family = type_id.rsplit("@", 1)[0]
    return [known for known in registry.specs if known.rsplit("@", 1)[0] == family]
