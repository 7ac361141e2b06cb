"""The one post-processing pipeline of all families: raw outputs in, predictions in image px out.

What differs between families is data in `descriptor`; what differs between tasks is one method
here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from inference_models.backends.backend import TensorSpec
from inference_models.errors import (
    CorruptedModelPackageError,
    ModelRuntimeError,
    nearest_name_hint,
)
from inference_models.families.classification import class_scores
from inference_models.families.decode import Candidates, DecodeContext, decode_candidates
from inference_models.families.descriptor import Family, MaskRule
from inference_models.families.keypoints import KeypointSlots
from inference_models.families.native.oriented import oriented_detections
from inference_models.families.request import ClassTable, Request
from inference_models.families.selection import select_candidates
from inference_models.families.semantic import SemanticDecoder
from inference_models.masks import InstanceMasks, MaskGeometry
from inference_models.masks.resize import masks_from_logits, masks_from_prototypes
from inference_models.packages.package import ModelPackage
from inference_models.packages.tasks import Task
from inference_models.predictions.detections import (
    Detections,
    InstanceDetections,
    OrientedDetections,
)
from inference_models.predictions.keypoints import KeyPoints
from inference_models.predictions.whole_image import (
    ClassificationPrediction,
    MultiLabelClassificationPrediction,
    SemanticSegmentationResult,
)
from inference_models.preprocessing.geometry import ImageTransform

Prediction: TypeAlias = (
    Detections
    | InstanceDetections
    | OrientedDetections
    | KeyPoints
    | SemanticSegmentationResult
    | ClassificationPrediction
    | MultiLabelClassificationPrediction
)
RawOutputs: TypeAlias = Mapping[str, np.ndarray]


class PostProcessor:
    """Post-processing of one model.

    Args:
        family: the rules.
        package: classes and names of outputs.
        outputs: outputs of the graph; empty when only a call shows them.

    Raises:
        CorruptedModelPackageError: the graph lacks an output the family or the package needs.
    """

    def __init__(
        self, family: Family, package: ModelPackage, outputs: Sequence[TensorSpec] = ()
    ) -> None:
        self.classes = ClassTable(package.class_names, package.removed_classes)
        self._family = family
        self._package = package
        if family.score_rule == "declared-outputs" and package.outputs is None:
            raise CorruptedModelPackageError(
                f'{package.location}: a "{package.architecture}" needs `outputs`, the names of its '
                "outputs"
            )
        if outputs:
            self._output_names([output.name for output in outputs])
        self._keypoints = KeypointSlots(package, self.classes)
        self._semantic = SemanticDecoder(package, self.classes)
        self._tasks: Mapping[Task, Callable[[RawOutputs, ImageTransform, Request], Prediction]] = {
            Task.OBJECT_DETECTION: self._detections,
            Task.INSTANCE_SEGMENTATION: self._instances,
            Task.ORIENTED_OBJECT_DETECTION: self._oriented,
            Task.KEYPOINT_DETECTION: self._key_points,
            Task.SEMANTIC_SEGMENTATION: self._class_map,
            Task.CLASSIFICATION: self._classification,
            Task.MULTI_LABEL_CLASSIFICATION: self._labels,
        }

    def run(
        self,
        outputs: Mapping[str, np.ndarray],
        index: int,
        transform: ImageTransform,
        request: Request,
    ) -> Prediction:
        """The prediction for one image of a batch.

        Args:
            outputs: outputs of the graph by name, in its order, with the batch axis.
            index: place of the image in the batch.
            transform: where the image lies in the network's input.
            request: the complete parameters of the call.

        Raises:
            CorruptedModelPackageError: an output is missing.
            ModelRuntimeError: an output has not the shape the family says.
        """
        names = self._output_names(list(outputs))
        raw = {role: outputs[name][index] for role, name in names.items()}
        return self._tasks[self._package.task](raw, transform, request)

    def _output_names(self, names: list[str]) -> dict[str, str]:
        """Name of the output that plays each role."""
        if self._family.score_rule == "declared-outputs":
            declared = self._package.outputs
            assert declared is not None
            wanted = (declared.boxes, declared.scores, declared.classes, declared.count)
            for name in wanted:
                if name is not None and name not in names:
                    raise CorruptedModelPackageError(
                        f'{self._package.location}: the graph has no output "{name}", '
                        f"it has {', '.join(names)}",
                        hint=nearest_name_hint(name, names),
                    )
            return {name: name for name in wanted if name is not None}
        by_name = self._family.outputs_by_name(names)
        if by_name is not None:
            return by_name
        needed = max(self._family.outputs.values()) + 1
        if len(names) < needed:
            roles = ", ".join(self._family.outputs)
            raise CorruptedModelPackageError(
                f'{self._package.location}: a "{self._package.architecture}" for '
                f"{self._package.task} needs {needed} outputs ({roles}), the graph has "
                f"{len(names)}: {', '.join(names)}"
            )
        return {role: names[place] for role, place in self._family.outputs.items()}

    def _candidates(
        self, raw: RawOutputs, extra_values: int, transform: ImageTransform, request: Request
    ) -> Candidates:
        context = DecodeContext(
            family=self._family,
            class_count=len(self.classes.network_names),
            extra_values=extra_values,
            thresholds=request.thresholds,
            network_size=transform.network_size,
            outputs=self._package.outputs,
            where=str(self._package.location),
        )
        candidates = decode_candidates(raw, context)
        return select_candidates(candidates, self._family, request, self.classes)

    def _placed(
        self, candidates: Candidates, transform: ImageTransform
    ) -> tuple[Candidates, np.ndarray]:
        """Candidates that touch the image, and their boxes in px of the image.

        A box that lies in the padding alone has no pixel of the image: it is dropped.
        """
        boxes = transform.boxes_to_image(candidates.boxes)
        inside = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
        if inside.all():
            return candidates, boxes
        return candidates.take(inside), boxes[inside]

    def _detections(
        self, raw: RawOutputs, transform: ImageTransform, request: Request
    ) -> Detections:
        candidates, boxes = self._placed(self._candidates(raw, 0, transform, request), transform)
        return Detections(
            xyxy=boxes,
            confidence=candidates.scores,
            class_id=candidates.class_ids,
            image_size=transform.original_size,
            class_names=self.classes.names,
        )

    def _oriented(
        self, raw: RawOutputs, transform: ImageTransform, request: Request
    ) -> OrientedDetections:
        return oriented_detections(raw["predictions"], transform, request, self.classes)

    def _instances(
        self, raw: RawOutputs, transform: ImageTransform, request: Request
    ) -> InstanceDetections:
        rule = self._family.mask
        assert rule is not None
        values = self._mask_values(raw, rule)
        extra = len(values) if rule.source == "protos" else 0
        candidates, boxes = self._placed(
            self._candidates(raw, extra, transform, request), transform
        )
        geometry = MaskGeometry.from_transform(
            transform, (values.shape[1], values.shape[2]), request.masks_resolution_factor
        )
        return InstanceDetections(
            xyxy=boxes,
            confidence=candidates.scores,
            class_id=candidates.class_ids,
            masks=self._masks(raw, values, rule, candidates, geometry),
            image_size=transform.original_size,
            class_names=self.classes.names,
        )

    def _mask_values(self, raw: RawOutputs, rule: MaskRule) -> np.ndarray:
        """(k, h, w) prototypes, or (q, h, w) values of each query."""
        values = raw["masks" if rule.source == "queries" else "protos"]
        if values.ndim != 3 or 0 in values.shape:
            raise ModelRuntimeError(
                f"{self._package.location}: its mask output must have three axes an image, "
                f"got {list(values.shape)}"
            )
        return values.transpose(2, 0, 1) if rule.source == "protos-last" else values

    def _masks(
        self,
        raw: RawOutputs,
        values: np.ndarray,
        rule: MaskRule,
        candidates: Candidates,
        geometry: MaskGeometry,
    ) -> InstanceMasks:
        activation = rule.activation
        if rule.source == "queries":
            return masks_from_logits(
                values,
                geometry,
                threshold=rule.threshold,
                activation=activation,
                instances=candidates.rows,
            )
        if rule.source == "protos-last":
            coefficients = raw["coefficients"][candidates.rows]
        elif self._family.layout == "features-first":
            coefficients = raw["predictions"][-len(values) :, candidates.rows].T
        else:
            coefficients = raw["predictions"][candidates.rows, -len(values) :]
        return masks_from_prototypes(
            coefficients,
            values,
            geometry,
            boxes=candidates.boxes if rule.cut_to_box else None,
            threshold=rule.threshold,
            activation=activation,
        )

    def _key_points(
        self, raw: RawOutputs, transform: ImageTransform, request: Request
    ) -> KeyPoints:
        extra = self._keypoints.count * self._family.point_values
        candidates, boxes = self._placed(
            self._candidates(raw, extra, transform, request), transform
        )
        predictions = raw["predictions"]
        if self._family.layout == "features-first":
            predictions = predictions.T
        rows = predictions[candidates.rows, predictions.shape[1] - extra :]
        points = rows.reshape(-1, self._keypoints.count, self._family.point_values)
        result = KeyPoints(
            xy=transform.points_to_image(points[:, :, :2]),
            keypoint_confidence=points[:, :, 2],
            visible=np.ones(points.shape[:2], dtype=bool),
            xyxy=boxes,
            confidence=candidates.scores,
            class_id=candidates.class_ids,
            image_size=transform.original_size,
            class_names=self.classes.names,
            keypoint_names=self._keypoints.names,
        ).with_visibility(request.keypoint_confidence)
        return result.replace(visible=result.visible & self._keypoints.used[candidates.class_ids])

    def _class_map(
        self, raw: RawOutputs, transform: ImageTransform, request: Request
    ) -> SemanticSegmentationResult:
        found = self._semantic.decode(raw["scores"], transform, request.threshold)
        background = self._semantic.background_id
        return SemanticSegmentationResult(
            segmentation_map=found.class_ids,
            confidence=found.confidence,
            image_size=transform.original_size,
            class_names=self.classes.names,
            background_id=None if background < 0 else background,
        )

    def _classification(
        self, raw: RawOutputs, transform: ImageTransform, request: Request
    ) -> ClassificationPrediction:
        return ClassificationPrediction(
            confidence=class_scores(raw["scores"], self._package, self.classes),
            image_size=transform.original_size,
            class_names=self.classes.names,
        )

    def _labels(
        self, raw: RawOutputs, transform: ImageTransform, request: Request
    ) -> MultiLabelClassificationPrediction:
        scores = class_scores(raw["scores"], self._package, self.classes)
        kept = self.classes.to_model[:-1] >= 0
        return MultiLabelClassificationPrediction(
            confidence=scores,
            class_ids=np.flatnonzero(scores >= request.thresholds[kept]),
            image_size=transform.original_size,
            class_names=self.classes.names,
        )
