"""From a checkpoint to a model package: averaged weights as ONNX and safetensors, scores, and a
model card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from inference_models.errors import (
    CorruptedModelPackageError,
    ModelNotFoundError,
    ModelRuntimeError,
)
from inference_models.families.native.config import DetectorConfig
from inference_models.families.native.detector import NativeDetector
from inference_models.families.native.export import (
    ExportDescription,
    write_onnx_package,
)
from inference_models.families.native.graphs import InferenceGraph
from inference_models.families.native.weights import load_detector, save_weights
from inference_models.packages.package import ModelPackage
from inference_models.training.detector_training import CHECKPOINT_KEY

CARD_FILE = "README.md"
SCORES_FILE = "scores.json"
SAFETENSORS_FILE = "weights.safetensors"
# How near ONNX and torch must be, which compute with the same numbers: px, and parts of a score.
_BOX_TOLERANCE = 1.0
_SCORE_TOLERANCE = 1e-3
_SCORE_TO_COMPARE = 0.1


@dataclass(frozen=True, slots=True)
class TrainedDetector:
    """A detector out of a checkpoint.

    Attributes:
        network: with the averaged weights, in evaluation mode.
        class_names: name of each class by id.
        steps: steps it was trained.
        seconds: how long that took.
        recipe: how it was trained, as plain values.
    """

    network: NativeDetector
    class_names: tuple[str, ...]
    steps: int
    seconds: float
    recipe: Mapping[str, Any]


def read_checkpoint(path: Path) -> TrainedDetector:
    """The averaged detector of a checkpoint of `DetectorTraining`.

    Only tensors and plain values are unpickled.

    Raises:
        ModelNotFoundError: there is no such file.
        CorruptedModelPackageError: it is no such checkpoint.
    """
    if not path.is_file():
        raise ModelNotFoundError(f"no checkpoint at {path}: no such file")
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    state = checkpoint.get(CHECKPOINT_KEY)
    if state is None:
        raise CorruptedModelPackageError(f"{path} is no checkpoint of a detector's training")
    network = NativeDetector(DetectorConfig.from_json(state["config"]))
    weights = {
        name.removeprefix("network."): value
        for name, value in checkpoint["state_dict"].items()
        if name.startswith("network.")
    }
    weights.update(state["average"]["shadow"])
    network.load_state_dict(weights)
    return TrainedDetector(
        network.eval(),
        tuple(state["class_names"]),
        int(checkpoint["global_step"]),
        float(state["seconds"]),
        state["recipe"],
    )


def in_half_precision(trained: TrainedDetector) -> TrainedDetector:
    """The detector with the weights a package holds, rounded to half precision."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / SAFETENSORS_FILE
        save_weights(trained.network, path, dtype="float16")
        return replace(trained, network=load_detector(path).eval())


def write_trained_package(
    trained: TrainedDetector,
    directory: Path,
    description: ExportDescription,
    scores: Mapping[str, float],
    about: Sequence[str],
    samples: np.ndarray,
) -> ModelPackage:
    """Writes a folder with `model_config.json`, ONNX for running, safetensors for going on with,
    the scores and a model card.

    The weights are rounded to half precision once, for safetensors. ONNX holds these in float32
    with the normalisations folded in: rounding after the folding as well would make two models.

    Args:
        trained: the detector.
        directory: the folder, made when missing.
        description: names and sizes.
        scores: what evaluation said.
        about: paragraphs of the model card.
        samples: (b, 3, height, width) float32 RGB 0..1 images of the network's size; the ONNX file
            must answer to them as the safetensors file does.

    Raises:
        ModelRuntimeError: it does not.
    """
    trained = in_half_precision(trained)
    package = write_onnx_package(trained.network, directory, description)
    _require_same_answers(trained.network, package.weights, samples)
    save_weights(trained.network, directory / SAFETENSORS_FILE, dtype="float16")
    text = json.dumps({name: round(value, 4) for name, value in scores.items()}, indent=2)
    (directory / SCORES_FILE).write_text(text + "\n", encoding="utf-8")
    card = _model_card(trained, description, scores, about)
    (directory / CARD_FILE).write_text(card, encoding="utf-8")
    return package


def _require_same_answers(network: NativeDetector, path: Path, samples: np.ndarray) -> None:
    """Compares the answers that matter; those of low scores may change places."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    graph = InferenceGraph(network.deploy()).eval()
    with torch.inference_mode():
        expected = graph(torch.from_numpy(samples))[0].numpy()
    answers = session.run(None, {"images": samples})[0]
    for number, (want, got) in enumerate(zip(expected, answers, strict=True)):
        for row in want[want[:, 4] > _SCORE_TO_COMPARE]:
            same = got[got[:, 5] == row[5]]
            near = np.abs(same[:, :4] - row[:4]).max(axis=1, initial=0) < _BOX_TOLERANCE
            if not (near & (np.abs(same[:, 4] - row[4]) < _SCORE_TOLERANCE)).any():
                raise ModelRuntimeError(
                    f"{path} does not answer as the network it was written from: image {number} "
                    f"lacks the box {row[:4].round(1).tolist()} of class {int(row[5])} with the "
                    f"score {row[4]:.3f}"
                )


def _model_card(
    trained: TrainedDetector,
    description: ExportDescription,
    scores: Mapping[str, float],
    about: Sequence[str],
) -> str:
    config = trained.network.config
    height, width = description.input_size
    rows = "\n".join(f"| {name} | {value:.4f} |" for name, value in scores.items())
    parameters = sum(value.numel() for value in trained.network.deploy().parameters())
    return (
        "\n\n".join(
            [
                f"# {description.model_id}",
                *about,
                f"Classes: {', '.join(trained.class_names)}.",
                f"Task `{config.task}`, scale `{config.scale}`, {parameters} deployed parameters, "
                f"input {width} x {height} px (RGB 0..1, letterboxed), recommended confidence "
                f"{description.confidence}. Trained for {trained.steps} steps in "
                f"{trained.seconds / 60:.0f} minutes.",
                "| score | value |\n| --- | --- |\n" + rows,
                "Files: `weights.onnx` (one-to-one branch, no suppression needed), "
                "`weights.safetensors` (the same weights, both branches, in half precision, for "
                "further training).",
                "License: Apache-2.0, as the code that made it; no photograph that is not part of "
                "this repository was used.",
            ]
        )
        + "\n"
    )
