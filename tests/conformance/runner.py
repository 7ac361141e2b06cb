"""Runs recorded cases: reads them, decodes their inputs, gives each a fresh engine. Compares
nothing.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from execution_engine import BlockRegistry, ExecutionEngine
from execution_engine.errors import WorkflowError
from tests.conformance.images import picture_of
from tests.conformance.normalise import UUID, describe_error, mask_ids, merge

CASES = Path(__file__).parent / "cases"
LONGEST_FILE_TEXT = 4000

Case = Mapping[str, Any]

_SOURCES = ("$image", "$skimage", "$asset")
_BESIDE_A_PICTURE = (
    "video_metadata",
    "parent_id",
    "parent_origin",
    "root_parent_id",
    "root_parent_origin",
)
_CUSTOM_PYTHON_PROBE = {
    "version": "1.0",
    "inputs": [],
    "steps": [{"type": "Probe", "name": "probe"}],
    "outputs": [{"type": "JsonField", "name": "o", "selector": "$steps.probe.one"}],
    "dynamic_blocks_definitions": [
        {
            "type": "DynamicBlockDefinition",
            "manifest": {
                "type": "ManifestDescription",
                "block_type": "Probe",
                "inputs": {},
                "outputs": {"one": {"type": "DynamicOutputDefinition", "kind": []}},
            },
            "code": {
                "type": "PythonCode",
                "run_function_code": "def run(self):\n    return {'one': 1}",
            },
        }
    ],
}


def load_cases() -> list[Case]:
    """Every recorded case, by id."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(CASES.glob("*.json"))]


def what_is_missing(case: Case, registry: BlockRegistry) -> str | None:
    """Why a case cannot run in this build, None when it can."""
    types = {step["type"] for step in _steps(case["definition"])}
    missing = sorted(type_id for type_id in types if registry.known(type_id) is not None)
    if missing:
        return f"blocks not in this build: {', '.join(missing)}"
    if _has_custom_python(case["definition"]) and not serves_custom_python(registry):
        return "custom Python blocks are not in this build"
    uses_skimage = '"$skimage"' in json.dumps([case.get("inputs"), case.get("sequence")])
    if uses_skimage and importlib.util.find_spec("skimage") is None:
        return "the picture comes with scikit-image, which is not installed"
    return None


def serves_custom_python(registry: BlockRegistry) -> bool:
    """Whether the engine runs blocks that a definition brings along."""
    try:
        _engine(_CUSTOM_PYTHON_PROBE, {}, "", registry).close()
    except WorkflowError as error:
        codes = [problem.code for problem in getattr(error, "errors", ())]
        if codes == ["unknown_block_type"]:
            return False
        raise
    return True


def run_case(case: Case, registry: BlockRegistry) -> dict[str, Any]:
    """Result of a case as a JSON tree with `outputs`, `sequence` or `error`, and `files` when it
    wrote any.

    A case is run for its serialised result; when there are pictures in it, once more for their
    pixels.
    """
    with _write_folder() as folder:
        serialised, error = _run(case, registry, folder, True)
        files = _written_files(folder)
        if error is not None:
            return {"error": error}
        live: Sequence[Any] = [None] * len(serialised)
        if '"base64"' in json.dumps(serialised):
            for path in Path(folder).iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            live, _ = _run(case, registry, folder, False)
        frames = [merge(item, twin) for item, twin in zip(serialised, live, strict=True)]
        given = UUID.findall(
            json.dumps([case.get("inputs"), case.get("sequence"), case["definition"]])
        )
        masked = mask_ids(frames, frozenset(given))
        masked = json.loads(json.dumps(masked).replace(folder, "<tmpdir>"))
    result: dict[str, Any] = {"sequence": masked} if "sequence" in case else {"outputs": masked[0]}
    if files:
        result["files"] = mask_ids(files)
    return result


def _run(
    case: Case, registry: BlockRegistry, folder: str, serialize: bool
) -> tuple[list[Any], dict[str, Any] | None]:
    """Results of all runs of a case on one engine; in a sequence an error is the result of its
    run.
    """
    results: list[Any] = []
    engine = None
    try:
        engine = _engine(case["definition"], case.get("init_parameters", {}), folder, registry)
        for inputs in case.get("sequence") or [case["inputs"]]:
            try:
                results.append(engine.run(_decoded(inputs, folder), serialize_results=serialize))
            except WorkflowError as error:
                if "sequence" not in case:
                    raise
                results.append(describe_error(error))
    except WorkflowError as error:
        return results, describe_error(error)["$error"]
    finally:
        if engine is not None:
            engine.close()
    return results, None


def _engine(
    definition: Mapping[str, Any],
    init_parameters: Mapping[str, Any],
    folder: str,
    registry: BlockRegistry,
) -> ExecutionEngine:
    permissions = {
        "workflows_core.allow_access_to_file_system": True,
        "workflows_core.allowed_write_directory": folder,
        "workflows_core.allow_custom_python": True,
    }
    return ExecutionEngine.init(definition, {**permissions, **init_parameters}, registry=registry)


def _decoded(value: Any, folder: str) -> Any:
    """Run-time value of what a case has written for it."""
    if isinstance(value, list):
        return [_decoded(item, folder) for item in value]
    if not isinstance(value, dict):
        return value
    if any(key in value for key in _SOURCES):
        _, picture = picture_of(value)
        beside = {key: copy.deepcopy(value[key]) for key in _BESIDE_A_PICTURE if key in value}
        return {"type": "numpy_object", "value": picture, **beside} if beside else picture
    if "$detections" in value:
        return copy.deepcopy(value["$detections"])
    if "$tmpdir" in value:
        return folder
    if "$array" in value:
        return np.array(value["$array"])
    return {key: _decoded(item, folder) for key, item in value.items()}


@contextmanager
def _write_folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        yield folder


def _written_files(folder: str) -> list[dict[str, str]]:
    files = []
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root, name)
            text = path.read_bytes().decode("utf-8", "replace")[:LONGEST_FILE_TEXT]
            files.append({"ext": path.suffix, "text": text})
    return sorted(files, key=lambda file: (file["ext"], file["text"]))


def _steps(definition: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The steps of a definition and of the workflows inside its steps."""
    for step in definition.get("steps", ()):
        yield step
        inner = step.get("workflow_definition")
        if isinstance(inner, Mapping):
            yield from _steps(inner)


def _has_custom_python(definition: Mapping[str, Any]) -> bool:
    inner = (step.get("workflow_definition") for step in definition.get("steps", ()))
    return bool(definition.get("dynamic_blocks_definitions")) or any(
        _has_custom_python(item) for item in inner if isinstance(item, Mapping)
    )
