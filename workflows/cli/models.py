"""`weftlens models`: what is in the folders of models; adding, checking and removing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inference_models.errors import InferenceModelsError
from inference_models.shipped import shipped_models
from workflows.cli.exit_codes import OK, PROBLEM
from workflows.cli.terminal import write, write_error, write_json
from workflows.model_folder.adding import add_model
from workflows.model_folder.checksums import (
    CHECKSUMS_FILE,
    ChecksumsError,
    Verification,
    verify_package,
)
from workflows.model_folder.listing import (
    FolderModel,
    describe_model,
    describe_package,
    find_model,
    list_models,
)
from workflows.model_folder.package_files import FileDigests
from workflows.model_folder.removing import remove_model
from workflows.settings import read_settings

_SHOWN_CLASSES = 8
_NO_FOLDER = "no folder of models: give --models DIR, or set WEFTLENS_MODEL_DIRECTORIES='[\"DIR\"]'"


def list_command(folder: Path | None, as_json: bool) -> int:
    """Prints every model: id, task, classes, backend, place; 1 when one cannot be read."""
    directories = [*_folders(folder), shipped_models()]
    models = list_models(directories)
    if as_json:
        write_json([_summary(model) for model in models])
    elif not models:
        write(f"no models in {', '.join(map(str, directories))}")
    else:
        for line in _columns([_row(model) for model in models]):
            write(line)
    return PROBLEM if any(model.fault for model in models) else OK


def add_command(source: Path, model_id: str | None, folder: Path | None, as_json: bool) -> int:
    """Copies a model into the folder of models and says what it is; 1 when it cannot."""
    folders = _folders(folder)
    if not folders:
        write_error(f"weftlens models add: {_NO_FOLDER}")
        return PROBLEM
    try:
        name = add_model(folders[0], source, model_id)
        described = describe_model(find_model([folders[0]], name), FileDigests())
    except InferenceModelsError as error:
        write_error(f"weftlens models add: {error}")
        return PROBLEM
    if as_json:
        write_json(described)
    else:
        write(f"added {name}")
        write(_shown(described))
    return OK


def show_command(model_id: str, folder: Path | None, as_json: bool) -> int:
    """Prints what a model is; 1 when there is none or it cannot be read."""
    try:
        model = find_model([*_folders(folder), shipped_models()], model_id)
        described = describe_model(model, FileDigests())
    except InferenceModelsError as error:
        write_error(f"weftlens models show: {error}")
        return PROBLEM
    if as_json:
        write_json(described)
    else:
        write(_shown(described))
    return PROBLEM if model.fault else OK


def verify_command(model_ids: Sequence[str], folder: Path | None, as_json: bool) -> int:
    """Hashes models again and says which files changed; 1 when one did, or when a model that was
    named has no digests to compare with.
    """
    directories = [*_folders(folder), shipped_models()]
    try:
        models = [find_model(directories, model_id) for model_id in model_ids]
    except InferenceModelsError as error:
        write_error(f"weftlens models verify: {error}")
        return PROBLEM
    results = [_verified(model) for model in models or list_models(directories)]
    if as_json:
        write_json(results)
    else:
        for result in results:
            write(_verified_text(result))
    bad = {"changed", "unreadable", *(["unknown"] if model_ids else [])}
    return PROBLEM if any(result["state"] in bad for result in results) else OK


def remove_command(model_id: str, folder: Path | None, locks: Path | None) -> int:
    """Removes a model from the folder of models; 1 when it cannot or must not."""
    folders = _folders(folder)
    if not folders:
        write_error(f"weftlens models remove: {_NO_FOLDER}")
        return PROBLEM
    try:
        remove_model(folders[0], model_id, locks)
    except InferenceModelsError as error:
        write_error(f"weftlens models remove: {error}")
        return PROBLEM
    write(f"removed {model_id} from {folders[0]}")
    return OK


def _folders(folder: Path | None) -> list[Path]:
    return [folder] if folder is not None else list(read_settings().model_directories)


def _summary(model: FolderModel) -> dict[str, Any]:
    return {
        "id": model.model_id,
        "location": str(model.location),
        "packages": [describe_package(package) for package in model.packages],
        "fault": model.fault or None,
    }


def _row(model: FolderModel) -> tuple[str, ...]:
    if not model.packages:
        return (model.model_id, f"cannot be read: {model.fault}")
    first = model.packages[0]
    count = len(first.class_names) - len(first.removed_classes)
    backends = ", ".join(dict.fromkeys(package.backend for package in model.packages))
    return (
        model.model_id,
        first.task.replace("-", " "),
        "1 class" if count == 1 else f"{count} classes",
        backends,
        str(model.location),
    )


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    complete = [row for row in rows if len(row) > 2]
    count = max((len(row) for row in complete), default=0)
    widths = [max(len(row[i]) for row in complete) for i in range(count)]
    return [
        "  ".join(
            cell.ljust(widths[i]) if len(row) > 2 else cell for i, cell in enumerate(row)
        ).rstrip()
        for row in rows
    ]


def _shown(described: Mapping[str, Any]) -> str:
    lines = [str(described["id"])]
    if described["fault"]:
        lines.append(f"  cannot be read: {described['fault']}")
    for package in described["packages"]:
        taken = package["input"]
        height, width = taken["height"] or "any", taken["width"] or "any"
        classes = package["classes"]
        more = f" and {len(classes) - _SHOWN_CLASSES} more" if len(classes) > _SHOWN_CLASSES else ""
        lines += [
            f"  task: {package['task'].replace('-', ' ')}",
            f"  classes: {', '.join(classes[:_SHOWN_CLASSES])}{more}",
            f"  input: {height} x {width} px (h x w), {taken['channels']} channels, "
            f"{taken['color']}",
            f"  backend: {package['backend']} ({package['architecture']}, "
            f"{package['bytes'] / 1e6:.1f} MB)",
        ]
    lines.append(f"  digest: {described['digest']}")
    lines.append(f"  files: {', '.join(described['files'])}")
    lines.append(f"  in: {described['location']}")
    return "\n".join(lines)


def _verified(model: FolderModel) -> dict[str, Any]:
    result: dict[str, Any] = {"id": model.model_id, "location": str(model.location)}
    try:
        found: Verification | None = verify_package(model.location, FileDigests())
    except (OSError, ChecksumsError) as error:
        return {**result, "state": "unreadable", "fault": str(error)}
    if found is None:
        return {**result, "state": "unknown"}
    return {
        **result,
        "state": "ok" if found.ok else "changed",
        "changed": list(found.changed),
        "missing": list(found.missing),
        "added": list(found.added),
    }


def _verified_text(result: Mapping[str, Any]) -> str:
    name, state = result["id"], result["state"]
    if state == "unreadable":
        return f"{name}: cannot be checked: {result['fault']}"
    if state == "unknown":
        return f"{name}: no {CHECKSUMS_FILE} to compare with (weftlens models add writes one)"
    if state == "ok":
        return f"{name}: ok"
    parts = [
        f"{word} {', '.join(result[key])}"
        for key, word in (("changed", "changed"), ("missing", "missing"), ("added", "new"))
        if result[key]
    ]
    return f"{name}: not what it was: {'; '.join(parts)}"
