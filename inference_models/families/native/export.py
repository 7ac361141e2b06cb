"""Writes native detectors as model packages: safetensors weights for torch, ONNX for everything
else."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from inference_models.errors import (
    InvalidModelInitParameterError,
    MissingDependencyError,
    ModelRuntimeError,
)
from inference_models.families.native.config import INPUT_MULTIPLE, BranchName, DetectorConfig
from inference_models.families.native.detector import NativeDetector
from inference_models.families.native.graphs import InferenceGraph, inference_graph
from inference_models.families.native.openers import TORCH_BACKEND
from inference_models.families.native.table import (
    BRANCH_OF_ARCHITECTURE,
    has_package_task,
    package_task,
)
from inference_models.families.native.weights import save_weights
from inference_models.packages.embedded_config import CONFIG_KEY
from inference_models.packages.model_config import ModelConfig
from inference_models.packages.package import ModelPackage
from inference_models.packages.writer import write_package

if TYPE_CHECKING:
    import onnx

# Edges around a letterboxed image, as in the training.
PADDING = 114
# The newest opset that every onnxruntime we accept (1.20 and later) runs, and its file format.
_OPSET = 18
_IR_VERSION = 10
_INPUT = "images"
# Arrays below this many numbers gain nothing from half precision.
_SMALL = 256


@dataclass(frozen=True, slots=True)
class ExportDescription:
    """What a package says of a detector beside its weights.

    Attributes:
        class_names: name of each class by id.
        input_size: (height, width) of the network's input, px, multiples of 32.
        keypoint_names: name of each keypoint, task `pose`.
        skeleton: pairs of keypoints that are drawn as lines.
        model_id: the id the package gives itself.
        confidence: the score threshold the maker recommends.
        branch: `one_to_one` for final rows, `one_to_many` for rows that still need suppression.
    """

    class_names: Sequence[str]
    input_size: tuple[int, int]
    keypoint_names: Sequence[str] = ()
    skeleton: Sequence[tuple[int, int]] = ()
    model_id: str | None = None
    confidence: float | None = None
    branch: BranchName = "one_to_one"

    def require_fits(self, config: DetectorConfig) -> None:
        """Refuses names or sizes that are not those of the network.

        Raises:
            InvalidModelInitParameterError: a count differs, or a side is no multiple of 32.
        """
        if any(side < 1 or side % INPUT_MULTIPLE for side in self.input_size):
            raise InvalidModelInitParameterError(
                f"input_size must be multiples of {INPUT_MULTIPLE}, got {self.input_size}"
            )
        counts = (
            ("class_names", len(self.class_names), config.class_count),
            ("keypoint_names", len(self.keypoint_names), config.keypoint_count),
        )
        for name, got, expected in counts:
            if got != expected:
                raise InvalidModelInitParameterError(
                    f"{name} must have {expected} names for this network, got {got}"
                )


def model_config(
    config: DetectorConfig, description: ExportDescription, backend: str
) -> ModelConfig:
    """The content of `model_config.json` for a detector.

    Raises:
        InvalidModelInitParameterError: the description does not fit the network.
        ModelImplementationNotFoundError: packages cannot declare the task.
    """
    description.require_fits(config)
    height, width = description.input_size
    network: dict[str, Any] = {
        "training_input_size": {"height": height, "width": width},
        "color_mode": "rgb",
        "resize_mode": "letterbox",
        "padding_value": PADDING,
        "input_channels": config.input_channels,
        "scaling_factor": 255.0,
    }
    if backend == TORCH_BACKEND:
        network["dynamic_spatial_size_supported"] = True
        network["dynamic_spatial_size_mode"] = {
            "type": "pad-to-be-divisible",
            "value": INPUT_MULTIPLE,
        }
    branch = description.branch
    (architecture,) = (name for name, one in BRANCH_OF_ARCHITECTURE.items() if one == branch)
    content: dict[str, Any] = {
        "model_architecture": architecture,
        "backend_type": backend,
        "task_type": package_task(config.task),
        "model_id": description.model_id,
        "class_names": tuple(description.class_names),
        "inference_config": {
            "network_input": network,
            "post_processing": {"type": "nms", "fused": branch == "one_to_one"},
        },
    }
    if config.keypoint_count:
        points = dict(enumerate(description.keypoint_names))
        edges = [{"from": start, "to": end} for start, end in description.skeleton]
        content["keypoints_metadata"] = [
            {"object_class_id": class_id, "keypoints": points, "edges": edges}
            for class_id in range(config.class_count)
        ]
    if description.confidence is not None:
        content["recommended_parameters"] = {"confidence": description.confidence}
    return ModelConfig.model_validate(content)


def write_torch_package(
    model: NativeDetector,
    directory: Path,
    description: ExportDescription,
    *,
    dtype: Literal["float32", "float16"] = "float16",
) -> ModelPackage:
    """Writes a folder that the model manager runs with torch.

    Only the described branch is written. The weights load without unpickling.

    Args:
        model: the trained network.
        directory: the folder, made when missing.
        description: names and sizes.
        dtype: type of the written weights; they are computed with in float32.
    """
    config = model_config(model.config, description, TORCH_BACKEND)
    weights = directory / "weights.safetensors"
    save_weights(model, weights, dtype=dtype, branches=(description.branch,))
    return write_package(directory, config, weights)


def write_onnx_package(
    model: NativeDetector,
    directory: Path,
    description: ExportDescription,
    *,
    dtype: Literal["float32", "float16"] = "float32",
) -> ModelPackage:
    """Writes a folder that the model manager runs with onnxruntime, without torch.

    Args:
        model: the trained network.
        directory: the folder, made when missing.
        description: names and sizes.
        dtype: type of the written weights; they are computed with in float32.
    """
    config = model_config(model.config, description, "onnx")
    weights = directory / "weights.onnx"
    export_onnx(model, weights, description, dtype=dtype)
    return write_package(directory, config, weights)


def export_onnx(
    model: NativeDetector,
    path: Path,
    description: ExportDescription,
    *,
    dtype: Literal["float32", "float16"] = "float32",
) -> None:
    """Writes one ONNX file: (b, channels, height, width) images in, the outputs of
    `InferenceGraph` out.

    The size of the input is fixed, the batch is not. The file says itself what it is, so it loads
    alone as well.

    Args:
        model: the trained network; not changed.
        path: the file to write.
        description: names and sizes.
        dtype: type of the written weights; they are computed with in float32.

    Raises:
        MissingDependencyError: onnx or onnxscript is not installed.
        InvalidModelInitParameterError: the description does not fit the network.
    """
    description.require_fits(model.config)
    graph = inference_graph(model, description.branch).cpu()
    proto = onnx_model(graph, model.config, description.input_size)
    if dtype == "float16":
        store_half_precision(proto)
    metadata = {"native_detector": model.config.to_json()}
    if has_package_task(model.config.task):
        config = model_config(model.config, description, "onnx")
        metadata[CONFIG_KEY] = config.model_dump_json(by_alias=True, exclude_none=True)
    for key, value in metadata.items():
        proto.metadata_props.add(key=key, value=value)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(proto.SerializeToString())


def require_parity(
    model: NativeDetector,
    path: Path,
    images: np.ndarray,
    description: ExportDescription,
    *,
    tolerance: float = 1e-3,
) -> Mapping[str, float]:
    """Runs an exported file and the network on the same images and compares all outputs.

    Final rows whose scores are all but equal may change places; each must be found again.

    Args:
        model: the network the file was written from.
        path: the file.
        images: (b, channels, height, width) float32 in 0..1.
        description: the one of the export.
        tolerance: greatest difference allowed, as a share of max(1, |value|).

    Returns:
        The greatest such difference of each output.

    Raises:
        ModelRuntimeError: an output differs by more than the tolerance.
    """
    import onnxruntime

    graph = inference_graph(model, description.branch).cpu()
    with torch.inference_mode():
        expected = [one.numpy() for one in graph(torch.from_numpy(images))]
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    answers = session.run(list(graph.output_names), {_INPUT: images})
    differences: dict[str, float] = {}
    for name, want, got in zip(graph.output_names, expected, answers, strict=True):
        sorted_rows = name == graph.output_names[0] and graph.rows == "final"
        gap = _row_gap(want, got) if sorted_rows else _gap(want, got).max(initial=0.0)
        differences[name] = float(gap)
    wrong = {name: gap for name, gap in differences.items() if not gap <= tolerance}
    if wrong:
        found = ", ".join(f"{name} {gap:.2e}" for name, gap in wrong.items())
        raise ModelRuntimeError(
            f"{path} does not answer as the network it was written from: greatest differences "
            f"{found}, allowed {tolerance:.0e}"
        )
    return differences


def _gap(want: np.ndarray, got: np.ndarray) -> np.ndarray:
    gap: np.ndarray = np.abs(want - got) / np.maximum(1.0, np.abs(want))
    return gap


def _row_gap(want: np.ndarray, got: np.ndarray) -> float:
    """The greatest distance from a row of one image to the nearest row of the other answer."""
    worst = 0.0
    for wanted, given in zip(want, got, strict=True):
        gaps = _gap(wanted[:, None], given[None]).max(axis=-1)
        worst = max(worst, gaps.min(axis=0).max(), gaps.min(axis=1).max())
    return float(worst)


def onnx_model(
    graph: InferenceGraph, config: DetectorConfig, input_size: tuple[int, int]
) -> onnx.ModelProto:
    """A graph as an ONNX model with a fixed size of the input and any batch.

    torch.export is the route because the older one through TorchScript is on its way out of torch
    and records whatever one example happened to do; torch.export refuses what it cannot express.
    Its ONNX writer is built on onnxscript, so that package is needed to export, and only for that.

    Args:
        graph: in evaluation mode, on the CPU.
        config: that of its network.
        input_size: (height, width) of the network's input, px.

    Raises:
        MissingDependencyError: onnx or onnxscript is not installed.
    """
    try:
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "onnxscript is needed to write ONNX files and is not installed",
            hint="pip install 'weftlens[torch]'",
        ) from error
    # One image would be taken for a fixed batch of one.
    example = torch.zeros(2, config.input_channels, *input_size)
    exporter_log = logging.getLogger("torch.onnx")
    level = exporter_log.level
    exporter_log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            program = torch.onnx.export(
                graph,
                (example,),
                input_names=[_INPUT],
                output_names=list(graph.output_names),
                dynamic_shapes=({0: torch.export.Dim("batch")},),
                opset_version=_OPSET,
                dynamo=True,
                verbose=False,
            )
    finally:
        exporter_log.setLevel(level)
    assert program is not None
    proto: onnx.ModelProto = program.model_proto
    proto.ir_version = _IR_VERSION
    _forget_sources(proto)
    return proto


def _forget_sources(proto: onnx.ModelProto) -> None:
    """Drops what the exporter notes of each node: stack traces with the paths of this machine."""
    graph = proto.graph
    for part in (graph, *graph.node, *graph.value_info, *graph.input, *graph.output):
        del part.metadata_props[:]
        part.doc_string = ""
    for tensor in graph.initializer:
        del tensor.metadata_props[:]
    del proto.metadata_props[:]


def store_half_precision(proto: onnx.ModelProto) -> None:
    """Stores the kernels of an ONNX model in half precision; a cast in front of their use restores
    the type.

    onnxruntime does these casts once when it opens the file.

    Args:
        proto: the model, changed in place.
    """
    import onnx

    kernels = {node.input[1] for node in proto.graph.node if node.op_type == "Conv"}
    casts = []
    for tensor in proto.graph.initializer:
        values = onnx.numpy_helper.to_array(tensor)
        if tensor.name not in kernels or values.size < _SMALL:
            continue
        name = tensor.name
        tensor.CopyFrom(onnx.numpy_helper.from_array(values.astype(np.float16), f"{name}.half"))
        casts.append(
            onnx.helper.make_node("Cast", [f"{name}.half"], [name], to=onnx.TensorProto.FLOAT)
        )
    for place, cast in enumerate(casts):
        proto.graph.node.insert(place, cast)
