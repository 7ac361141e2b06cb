"""The networks that run after training: images in, decoded numbers out. The torch backend and the
ONNX export run the same ones, so both answer the same."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from inference_models.errors import InvalidModelInitParameterError
from inference_models.families.native.anchors import distances_to_boxes
from inference_models.families.native.config import BranchName
from inference_models.families.native.decoding.selection import (
    MAX_ROWS,
    decode_keypoints,
    keypoint_rows,
    select_top_k,
    take_anchors,
)
from inference_models.families.native.detector import (
    DeployedDetector,
    DeployedOutputs,
    NativeDetector,
)

RowForm = Literal["final", "dense"]
OUTPUT_NAMES = ("predictions", "prototypes")


class InferenceGraph(nn.Module):
    """A detector with its decoding.

    Args:
        detector: the network with one branch.
        rows: `final` for the best rows of a one-to-one branch, which need no suppression; `dense`
            for a row of every anchor, which need it.
        max_rows: rows of an image in the form `final`.

    Raises:
        InvalidModelInitParameterError: the task has no rows of this form.
    """

    def __init__(
        self, detector: DeployedDetector, rows: RowForm = "final", max_rows: int = MAX_ROWS
    ) -> None:
        super().__init__()
        if rows == "dense" and detector.config.task == "oriented":
            raise InvalidModelInitParameterError(
                'the task "oriented" has rows of the form "final" only, got "dense"'
            )
        self.detector = detector
        self.rows = rows
        self.max_rows = max_rows

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs in their order."""
        return OUTPUT_NAMES if self.detector.prototypes is not None else OUTPUT_NAMES[:1]

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        """Rows, and prototypes where there are masks.

        Args:
            images: (b, channels, h, w) RGB in 0..1, sides that are multiples of 32.

        Returns:
            Final rows (b, max_rows, n): box, score, class and extras, by falling score, zeros
            behind the last. Dense rows (b, a, n): box, score of each class, extras. The box is
            x1, y1, x2, y2 or centre x, y, width, height, angle; the extras are mask coefficients,
            or x, y, confidence of each point. Prototypes are (b, k, h / 4, w / 4).
        """
        outputs: DeployedOutputs = self.detector(images)
        rows = self._final(outputs) if self.rows == "final" else _dense(outputs)
        if outputs.prototypes is None:
            return (rows,)
        return rows, outputs.prototypes

    def _final(self, outputs: DeployedOutputs) -> Tensor:
        branch = outputs.branch
        selection = select_top_k(branch, outputs.anchors, self.max_rows)
        parts = [selection.rows]
        if branch.coefficients is not None:
            parts.append(take_anchors(branch.coefficients, selection.anchor))
        if branch.keypoints is not None:
            points = keypoint_rows(branch, outputs.anchors, selection.anchor)
            parts.append(points.flatten(2))
        return torch.cat(parts, -1) if len(parts) > 1 else parts[0]


def inference_graph(model: NativeDetector, branch: BranchName) -> InferenceGraph:
    """The graph that runs one branch of a trained detector; the detector stays as it is."""
    rows: RowForm = "final" if branch == "one_to_one" else "dense"
    return InferenceGraph(model.fuse(branch), rows).eval()


def _dense(outputs: DeployedOutputs) -> Tensor:
    branch, anchors = outputs.branch, outputs.anchors
    parts = [distances_to_boxes(branch.distances, anchors), branch.class_logits.sigmoid()]
    if branch.coefficients is not None:
        parts.append(branch.coefficients)
    if branch.keypoints is not None and branch.keypoint_spreads is not None:
        points = decode_keypoints(branch.keypoints, branch.keypoint_spreads, anchors)
        parts.append(points.flatten(2))
    return torch.cat(parts, -1)
