"""`DetectionsRename`: new names and ids for classes of detections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from execution_engine.query_language.definitions import Operation
from execution_engine.query_language.rows import DetectionRows
from execution_engine.query_language.site import Parameters, Site, Step, undeclared


def rename_classes(operation: Operation, site: Site) -> Step:
    """`DetectionsRename`: classes get the names of a map, and ids that fit the new names.

    In strict renaming every class must be in the map, and ids count its new names in sorted order.
    In other renaming classes outside the map keep name and id, new names get ids from the offset on
    in sorted order, and a new name that is already a class of the detections takes that class's id.

    The step raises `OperationError` when the strict map lacks a class or the detections have no
    classes, `UndeclaredSymbolError` when map or flag name a parameter that is not given, and
    `InvalidInputTypeError` when such a parameter has the wrong type.
    """
    class_map, strict = operation.parameters["class_map"], operation.parameters["strict"]
    offset = operation.parameters["new_classes_id_offset"]

    def step(value: Any, parameters: Parameters) -> Any:
        codec = site.detections_codec(value)
        names_map = _class_map(class_map, parameters, site)
        is_strict = _is_strict(strict, parameters, site)
        rows = DetectionRows(codec, value)
        if not rows.count:
            return value
        try:
            names, ids = rows.values("class_name"), rows.values("class_id")
        except KeyError as error:
            raise site.failed(f"the detections have no property {error}", error) from error
        if is_strict:
            _check_covered(names, names_map, site)
            new_ids = {name: index for index, name in enumerate(sorted(set(names_map.values())))}
        else:
            new_ids = _ids_of_new_names(names, ids, names_map, offset)
        old_names = rows.column("class_name")
        keeps_objects = isinstance(old_names, np.ndarray) and old_names.dtype == object
        return codec.with_columns(
            value,
            {
                "class_name": np.array(
                    [names_map.get(name, name) for name in names],
                    dtype=object if keeps_objects else str,
                ),
                "class_id": np.array(
                    [
                        new_ids[names_map[name]] if name in names_map else class_id
                        for name, class_id in zip(names, ids, strict=True)
                    ],
                    dtype=np.int64,
                ),
            },
        )

    return step


def _class_map(given: Any, parameters: Parameters, site: Site) -> dict[str, str]:
    value = _resolved(given, parameters, f"{site.path}.class_map")
    if isinstance(value, dict) and all(isinstance(name, str) for name in value.values()):
        return value
    raise site.wrong_input("an object of texts as class_map", value)


def _is_strict(given: Any, parameters: Parameters, site: Site) -> bool:
    value = _resolved(given, parameters, f"{site.path}.strict")
    if isinstance(value, bool):
        return value
    raise site.wrong_input("true or false as strict", value)


def _resolved(given: Any, parameters: Parameters, path: str) -> Any:
    if not isinstance(given, str):
        return given
    if given not in parameters:
        raise undeclared(given, parameters, path)
    return parameters[given]


def _check_covered(names: Sequence[Any], names_map: Mapping[Any, Any], site: Site) -> None:
    missing = sorted({str(name) for name in names if name not in names_map})
    if missing:
        raise site.failed(
            f"the class map has no entry for {', '.join(repr(name) for name in missing)}"
            " (strict renaming needs one for every class)"
        )


def _ids_of_new_names(
    names: Sequence[Any], ids: Sequence[Any], names_map: Mapping[Any, Any], offset: int
) -> dict[Any, int]:
    known = dict(zip(names, ids, strict=True))
    added = sorted({name for name in names_map.values() if name not in known})
    return known | {name: offset + index for index, name in enumerate(added)}
