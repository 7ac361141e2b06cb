"""Reads model packages from disk: a folder with `model_config.json`, or a lone `.onnx` or
`.torchscript` file.

Nothing here opens a network, unpickles, imports code of a package, or loads weights.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from inference_models.errors import (
    CorruptedModelPackageError,
    ForbiddenLocalCodePackageAccessError,
    MissingModelInitParameterError,
    ModelNotFoundError,
    nearest_name_hint,
)
from inference_models.packages.embedded_config import config_from_metadata
from inference_models.packages.model_config import (
    ClassKeypoints,
    ModelConfig,
    RecommendedParameters,
)
from inference_models.packages.network_config import ForwardPass, InferenceConfig
from inference_models.packages.onnx_metadata import read_onnx_metadata
from inference_models.packages.package import ModelPackage
from inference_models.packages.requirements import TrtConfig
from inference_models.packages.torchscript_metadata import read_torchscript_texts
from inference_models.packages.validation import describe_validation_error

CONFIG_FILE = "model_config.json"
# Where a model keeps packages of which one is chosen, in place of being one package.
PACKAGES_FOLDER = "packages"
INFERENCE_CONFIG_FILE = "inference_config.json"
CLASS_NAMES_FILE = "class_names.txt"
KEYPOINTS_FILE = "keypoints_metadata.json"
TRT_CONFIG_FILE = "trt_config.json"
ONNX_SUFFIX = ".onnx"
TORCHSCRIPT_SUFFIX = ".torchscript"
WEIGHTS_SUFFIXES = (ONNX_SUFFIX, TORCHSCRIPT_SUFFIX)

_TENSORRT = "trt"
# File name of the weights by backend, when the configuration names none.
_DEFAULT_WEIGHTS = {
    "onnx": "weights.onnx",
    "torch-script": "weights.torchscript",
    "torch": "weights.safetensors",
    _TENSORRT: "engine.plan",
}
_CODE_PACKAGE_KEYS = ("model_module", "model_class")

_log = logging.getLogger(__name__)
_Config = TypeVar("_Config", ModelConfig, InferenceConfig, TrtConfig)


def load_package(path: Path) -> ModelPackage:
    """The package at a path.

    Args:
        path: a folder with a `model_config.json`, or an `.onnx` or `.torchscript` file that says
            what it is.

    Raises:
        ModelNotFoundError: nothing is at the path.
        CorruptedModelPackageError: the package is incomplete or contradicts itself.
        MissingModelInitParameterError: a lone file does not say what it is.
        ForbiddenLocalCodePackageAccessError: the package brings Python code of its own.
    """
    if path.is_dir():
        return _load_directory(path)
    if not path.is_file():
        raise ModelNotFoundError(f"no model at {path}: no such file or folder")
    return _load_file(path)


def load_packages(path: Path) -> list[ModelPackage]:
    """The package at a path, or all packages of one model.

    Args:
        path: as in `load_package`, or a folder whose `packages` folder holds a package a folder.

    Raises: see `load_package`.
    """
    folder = path / PACKAGES_FOLDER
    if (path / CONFIG_FILE).is_file() or not folder.is_dir():
        return [load_package(path)]
    return [load_package(one) for one in sorted(folder.iterdir()) if (one / CONFIG_FILE).is_file()]


def package_from_config(
    config: ModelConfig, weights: Path, *, location: Path | None = None
) -> ModelPackage:
    """A package of a weights file and a configuration given in code.

    Args:
        config: a complete configuration, class names and network description included.
        weights: the weights file; `config.weights` is not looked at.
        location: what to call the package in messages; the weights file when None.

    Raises:
        ModelNotFoundError: the weights file is missing.
        CorruptedModelPackageError: the configuration is incomplete.
    """
    if not weights.is_file():
        raise ModelNotFoundError(f"no weights at {weights}: no such file")
    return _assemble(config, weights, location or weights, ())


def _load_file(path: Path) -> ModelPackage:
    if path.suffix == ONNX_SUFFIX:
        config = config_from_metadata(read_onnx_metadata(path), path, "onnx")
    elif path.suffix == TORCHSCRIPT_SUFFIX:
        texts = read_torchscript_texts(path)
        metadata: dict[str, Any] = dict(texts)
        if "model_config.json" in texts:
            metadata = {"model_config": texts["model_config.json"]}
        elif "config.txt" in texts:
            metadata = _json_object(texts["config.txt"], f"{path} (config.txt)")
        config = config_from_metadata(metadata, path, "torch-script")
    else:
        raise MissingModelInitParameterError(
            f"{path} is no model file by its name: expected one of {', '.join(WEIGHTS_SUFFIXES)}",
            hint="put other weights in a folder with a model_config.json",
        )
    return _assemble(config, path, path, ())


def _load_directory(path: Path) -> ModelPackage:
    config_path = path / CONFIG_FILE
    if not config_path.is_file():
        raise CorruptedModelPackageError(f"{path} is no model package: it has no {CONFIG_FILE}")
    content = _json_object(_read_text(config_path), str(config_path))
    if any(key in content for key in _CODE_PACKAGE_KEYS):
        raise ForbiddenLocalCodePackageAccessError(
            f"{config_path} names Python code to run ({', '.join(_CODE_PACKAGE_KEYS)}); "
            "packages with code are not loaded"
        )
    _warn_of_unknown_keys(content, config_path)
    config = _validated(ModelConfig, content, config_path)
    updates: dict[str, Any] = {}
    inference_path = path / INFERENCE_CONFIG_FILE
    if _stands_beside(inference_path, config.inference_config, "inference_config", config_path):
        updates["inference_config"] = _validated(
            InferenceConfig,
            _json_object(_read_text(inference_path), str(inference_path)),
            inference_path,
        )
    names_path = path / CLASS_NAMES_FILE
    if _stands_beside(names_path, config.class_names, "class_names", config_path):
        names = tuple(line.strip() for line in _read_text(names_path).splitlines() if line.strip())
        if not names:
            raise CorruptedModelPackageError(f"{names_path} names no class")
        updates["class_names"] = names
    keypoints_path = path / KEYPOINTS_FILE
    if _stands_beside(keypoints_path, config.keypoints_metadata, "keypoints_metadata", config_path):
        updates["keypoints_metadata"] = _keypoints(keypoints_path)
    default_weights = _DEFAULT_WEIGHTS.get(config.backend_type)
    weights_name = config.weights or default_weights
    if weights_name is None:
        raise CorruptedModelPackageError(
            f'{config_path}: weights is missing and backend_type "{config.backend_type}" has no '
            "usual file name"
        )
    weights = path / weights_name
    if not weights.is_file():
        raise CorruptedModelPackageError(f"{path} is incomplete: no weights file {weights}")
    extra = tuple(one for one in sorted(path.iterdir()) if _is_weights_part(one, weights))
    complete = config.model_copy(update=updates)
    return _assemble(_with_batches_of_engine(complete, path), weights, path, extra)


def _with_batches_of_engine(config: ModelConfig, path: Path) -> ModelConfig:
    """The configuration with the batches that the engine's own file names."""
    trt_path = path / TRT_CONFIG_FILE
    if (
        config.backend_type != _TENSORRT
        or not trt_path.is_file()
        or config.inference_config is None
    ):
        return config
    batches = _validated(TrtConfig, _json_object(_read_text(trt_path), str(trt_path)), trt_path)
    forward = ForwardPass(
        static_batch_size=batches.static_batch_size, max_dynamic_batch_size=batches.most
    )
    inference = config.inference_config.model_copy(update={"forward_pass": forward})
    return config.model_copy(update={"inference_config": inference})


def _is_weights_part(path: Path, weights: Path) -> bool:
    """Whether a file holds tensors that did not fit into the weights file (ONNX external data)."""
    named_after = path.name.startswith(weights.name) or path.suffix in (".data", ".bin")
    return named_after and path != weights and path.is_file()


def _assemble(
    config: ModelConfig, weights: Path, location: Path, extra_files: tuple[Path, ...]
) -> ModelPackage:
    if config.inference_config is None:
        raise CorruptedModelPackageError(
            f"{location} does not describe the network's input: no inference_config"
        )
    if config.class_names is None:
        raise CorruptedModelPackageError(f"{location} names no classes: no class_names")
    if config.task_type is None:
        raise CorruptedModelPackageError(f"{location} does not say its task: no task_type")
    inference = config.inference_config
    unknown = [
        operation.class_name
        for operation in inference.class_names_operations or ()
        if operation.class_name not in config.class_names
    ]
    if unknown:
        raise CorruptedModelPackageError(
            f"{location}: class_names_operations removes {', '.join(unknown)}, "
            "which class_names lacks",
            hint=nearest_name_hint(unknown[0], config.class_names),
        )
    if config.static_batch_size is not None and inference.forward_pass.static_batch_size is None:
        forward = inference.forward_pass.model_copy(
            update={"static_batch_size": config.static_batch_size}
        )
        inference = inference.model_copy(update={"forward_pass": forward})
    return ModelPackage(
        location=location,
        weights=weights,
        architecture=config.model_architecture,
        task=config.task_type,
        backend=config.backend_type,
        class_names=config.class_names,
        inference=inference,
        outputs=config.outputs,
        keypoints=config.keypoints_metadata or (),
        recommended=config.recommended_parameters or RecommendedParameters(),
        requirements=config.requirements,
        model_id=config.model_id,
        extra_files=extra_files,
    )


def _stands_beside(path: Path, inline: object, key: str, config_path: Path) -> bool:
    """Whether a part is in its own file; being in the configuration as well is a contradiction."""
    if not path.is_file():
        return False
    if inline is not None:
        raise CorruptedModelPackageError(
            f"{key} is given twice: in {config_path} and in {path}; keep one of them"
        )
    return True


def _keypoints(path: Path) -> tuple[ClassKeypoints, ...]:
    try:
        return TypeAdapter(tuple[ClassKeypoints, ...]).validate_json(_read_text(path))
    except ValidationError as error:
        raise CorruptedModelPackageError(
            f"{path} is wrong: {describe_validation_error(error)}"
        ) from error


def _validated(schema: type[_Config], content: dict[str, Any], path: Path) -> _Config:
    try:
        return schema.model_validate(content)
    except ValidationError as error:
        raise CorruptedModelPackageError(
            f"{path} is wrong: {describe_validation_error(error)}"
        ) from error


def _json_object(text: str, where: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise CorruptedModelPackageError(f"{where} is no JSON: {error}") from error
    if not isinstance(content, dict):
        raise CorruptedModelPackageError(
            f"{where} must hold a JSON object, got {type(content).__name__}"
        )
    return content


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorruptedModelPackageError(f"{path} cannot be read: {error}") from error


def _warn_of_unknown_keys(content: dict[str, Any], path: Path) -> None:
    known = ModelConfig.model_fields
    for key in content:
        if key not in known:
            hint = nearest_name_hint(key, known)
            _log.warning("%s: key %r is not read%s", path, key, f" ({hint})" if hint else "")
