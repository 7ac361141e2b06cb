"""Weights of native detectors on disk: safetensors files that carry the configuration. Nothing is
pickled.

A file may hold both branches or one of them. State of the training (optimiser, averages, epoch) is
not kept here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from inference_models.errors import (
    CorruptedModelPackageError,
    InvalidModelInitParameterError,
    ModelNotFoundError,
)
from inference_models.families.native.config import BRANCHES, BranchName, DetectorConfig
from inference_models.families.native.detector import NativeDetector

FORMAT = "weftlens-native-detector"
_FORMAT_VERSION = "1"
# Parts that only training has a use for.
_TRAINING_PARTS = ("semantic.",)


def save_weights(
    model: NativeDetector,
    path: Path,
    *,
    dtype: Literal["float32", "float16"] = "float32",
    branches: Iterable[BranchName] = BRANCHES,
    state: Mapping[str, Tensor] | None = None,
) -> None:
    """Writes a detector's weights and configuration.

    Args:
        model: the detector.
        path: the file to write, `.safetensors`.
        dtype: type of the matrices and kernels. Vectors, such as the running statistics, stay
            float32: half precision would lose small variances.
        branches: branches of the head to keep. With one of them the file serves running only, and
            the parts for training are left out as well.
        state: values to write in place of the model's own, such as the averaged ones, by the names
            of its state dict.

    Raises:
        InvalidModelInitParameterError: `state` has other names or shapes than the model, or no
            branch is kept.
    """
    kept = tuple(branches)
    own = model.state_dict()
    values = own if state is None else dict(state)
    _require_same_tensors(own, values)
    if not kept or not set(kept) <= set(BRANCHES):
        raise InvalidModelInitParameterError(
            f"branches must be one or both of {', '.join(BRANCHES)}, got {list(kept)}"
        )
    left_out = tuple(f"head.{branch}." for branch in BRANCHES if branch not in kept)
    if left_out:
        left_out += _TRAINING_PARTS
    matrix_dtype = torch.float16 if dtype == "float16" else torch.float32
    tensors = {
        name: _as_saved(value, matrix_dtype)
        for name, value in values.items()
        if not name.startswith(left_out)
    }
    metadata = {
        "format": FORMAT,
        "format_version": _FORMAT_VERSION,
        "config": model.config.to_json(),
        "branches": ",".join(branch for branch in BRANCHES if branch in kept),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    # The library's own writing of files gives them to their owner only, whatever the umask.
    path.write_bytes(save(tensors, metadata))


def read_config(path: Path) -> DetectorConfig:
    """The configuration a weights file carries; no tensor is read.

    Raises:
        ModelNotFoundError: there is no such file.
        CorruptedModelPackageError: the file holds no native detector.
    """
    with _opened(path) as file:
        return _config_of(file, path)


def load_detector(path: Path, *, branches: Iterable[BranchName] | None = None) -> NativeDetector:
    """A detector from its weights, in evaluation mode, on the CPU, in float32.

    No random number is drawn.

    Args:
        path: the file.
        branches: the branches the caller needs, both when None. A branch that neither is needed nor
            lies in the file stays on the meta device and cannot be called.

    Raises:
        ModelNotFoundError: there is no such file.
        CorruptedModelPackageError: the file holds no native detector, or not all of its weights.
    """
    needed = BRANCHES if branches is None else tuple(branches)
    optional = tuple(f"head.{branch}." for branch in BRANCHES if branch not in needed)
    if branches is not None:
        optional += _TRAINING_PARTS
    with _opened(path) as file:
        config = _config_of(file, path)
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    with torch.device("meta"):
        model = NativeDetector(config)
    expected = model.state_dict()
    missing = [name for name in expected if name not in tensors and not name.startswith(optional)]
    unknown = sorted(tensors.keys() - expected.keys())
    wrong = [
        f"{name} {list(tensors[name].shape)}, expected {list(value.shape)}"
        for name, value in expected.items()
        if name in tensors and tensors[name].shape != value.shape
    ]
    if missing or unknown or wrong:
        problem = (
            f"{len(missing)} weights are missing, such as {missing[0]}"
            if missing
            else f"{unknown[0]} is no weight of it"
            if unknown
            else f"a weight has the wrong shape: {wrong[0]}"
        )
        raise CorruptedModelPackageError(
            f"{path} is no complete {config.task} detector of scale {config.scale} with "
            f"{config.class_count} classes: {problem}"
        )
    floats = {name: _as_loaded(value) for name, value in tensors.items()}
    model.load_state_dict(floats, strict=False, assign=True)
    return model.eval()


def _require_same_tensors(own: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
    differing = sorted(own.keys() ^ values.keys())
    differing += [name for name in own if name in values and own[name].shape != values[name].shape]
    if differing:
        raise InvalidModelInitParameterError(
            f"state must have the names and shapes of the model's state dict, they differ at "
            f"{differing[0]}"
        )


def _as_saved(value: Tensor, matrix_dtype: torch.dtype) -> Tensor:
    value = value.detach().cpu()
    if value.is_floating_point():
        value = value.to(matrix_dtype if value.dim() > 1 else torch.float32)
    # A file may not hold the same memory under two names.
    return value.clone(memory_format=torch.contiguous_format)


def _as_loaded(value: Tensor) -> Tensor:
    return value.float() if value.is_floating_point() else value


def _opened(path: Path) -> Any:
    if not path.is_file():
        raise ModelNotFoundError(f"no weights at {path}: no such file")
    try:
        return safe_open(str(path), framework="pt")
    except (SafetensorError, OSError) as error:
        raise CorruptedModelPackageError(f"{path} is no safetensors file: {error}") from error


def _config_of(file: Any, path: Path) -> DetectorConfig:
    metadata = file.metadata() or {}
    if metadata.get("format") != FORMAT or metadata.get("format_version") != _FORMAT_VERSION:
        raise CorruptedModelPackageError(
            f"{path} holds no native detector: its metadata must say format {FORMAT} "
            f"{_FORMAT_VERSION}, got {metadata.get('format')!r} {metadata.get('format_version')!r}"
        )
    try:
        return DetectorConfig.from_json(metadata.get("config", ""))
    except InvalidModelInitParameterError as error:
        raise CorruptedModelPackageError(f"the metadata of {path} is wrong: {error}") from error
