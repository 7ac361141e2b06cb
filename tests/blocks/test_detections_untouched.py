"""Blocks that turn detections into detections change none of what they are given.

One row a block. What a block makes of detections is tested beside the block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.analytics.detection_event_log.v1 import DetectionEventLogBlockV1
from blocks.analytics.overlap.v1 import OverlapBlockV1
from blocks.analytics.path_deviation_analytics.v2 import PathDeviationAnalyticsBlockV2
from blocks.analytics.velocity.v1 import VelocityBlockV1
from blocks.classical_cv.detections_nearest_neighbor.v1 import DetectionsNearestNeighborBlockV1
from blocks.classical_cv.distance_measurement.v1 import DistanceMeasurementBlockV1
from blocks.classical_cv.mask_edge_snap.v1 import MaskEdgeSnapBlockV1
from blocks.fusion.detections_classes_replacement.v1 import DetectionsClassesReplacementBlockV1
from blocks.fusion.detections_consensus.v1 import DetectionsConsensusBlockV1
from blocks.fusion.detections_difference.v1 import DetectionsDifferenceBlockV1
from blocks.fusion.detections_list_rollup.v1 import DetectionsListRollUpBlockV1
from blocks.fusion.detections_stitch.v1 import DetectionsStitchBlockV1
from blocks.fusion.overlap_analysis.v1 import OverlapAnalysisBlockV1
from blocks.kinds.detections.columns import copy_of, select
from blocks.transformations.bounding_rect.v1 import BoundingRectBlockV1
from blocks.transformations.detection_offset.v1 import DetectionOffsetBlockV1
from blocks.transformations.detections_combine.v1 import DetectionsCombineBlockV1
from blocks.transformations.detections_merge.v1 import DetectionsMergeBlockV1
from blocks.transformations.dynamic_crop.v1 import DynamicCropBlockV1
from blocks.transformations.dynamic_zone.v1 import DynamicZoneBlockV1
from blocks.transformations.geotag_detection.v1 import GeoTagDetectionBlockV1
from blocks.transformations.mask_area_measurement.v1 import MaskAreaMeasurementBlockV1
from blocks.transformations.per_class_confidence_filter.v1 import PerClassConfidenceFilterBlockV1
from blocks.transformations.size_measurement.v1 import SizeMeasurementBlockV1
from blocks.transformations.stabilize_detections.v1 import StabilizeDetectionsBlockV1
from blocks.transformations.stitch_ocr_detections.v2 import StitchOCRDetectionsBlockV2
from blocks.transformations.track_class_lock.v1 import TrackClassLockBlockV1
from execution_engine.block_api import Batch
from tests.blocks.detection_sets import MASK_FORMS, WITH_MASKS, MaskForm, an_image, some

IMAGE = an_image((60, 90))
BOXES = [[5, 5, 25, 30], [6, 6, 26, 31], [40, 20, 80, 55]]
NAMES = ["car", "car", "person"]

Call = Callable[[sv.Detections, sv.Detections], Any]

ROWS: list[tuple[str, Call]] = [
    ("bounding_rect", lambda a, b: BoundingRectBlockV1().run(a)),
    ("consensus", lambda a, b: DetectionsConsensusBlockV1().run(
        [Batch([a]), Batch([b])], 1, False, 0.1, 0.0, None, None, *["max"] * 3, "union")),
    ("classes_replacement", lambda a, b: DetectionsClassesReplacementBlockV1().run(
        a, Batch(["x", "y", "z"][: len(a)]), "none", None)),
    ("combine", lambda a, b: DetectionsCombineBlockV1().run(a, b)),
    ("detection_offset", lambda a, b: DetectionOffsetBlockV1().run(Batch([a]), 9, 9, "Pixels")),
    ("difference", lambda a, b: DetectionsDifferenceBlockV1().run(a, b, 0.4, 0.1, 0.7, False, 1)),
    ("distance", lambda a, b: DistanceMeasurementBlockV1().run(
        a, "car", "person", "vertical", "pixel to centimeter", "", 1, 1, 1) if len(a) else None),
    ("dynamic_crop", lambda a, b: DynamicCropBlockV1().run(
        Batch([IMAGE]), Batch([a]), 0.5, "#fff")),
    ("dynamic_zone", lambda a, b: DynamicZoneBlockV1().run(Batch([a]), 4, 1.1, True, 0.9)),
    ("geotag", lambda a, b: GeoTagDetectionBlockV1().run(IMAGE, a, 47.0, 9.0, 70, 73.7, 0)),
    ("list_rollup", lambda a, b: DetectionsListRollUpBlockV1().run(a, [b] * len(a), "max", 0.0, 9)),
    ("mask_area", lambda a, b: MaskAreaMeasurementBlockV1().run(a, 2.0)),
    ("mask_edge_snap", lambda a, b: MaskEdgeSnapBlockV1().run(IMAGE, a, 9, -1.0, 0, 1, 9, 9)),
    ("merge", lambda a, b: DetectionsMergeBlockV1().run(a, "m")),
    ("event_log", lambda a, b: DetectionEventLogBlockV1().run(IMAGE, a, 1, 1, 9, None, 1.0)),
    ("path_deviation", lambda a, b: PathDeviationAnalyticsBlockV2().run(
        IMAGE, a, "CENTER", [[0, 0], [50, 50]])),
    ("stabilize", lambda a, b: [block.run(IMAGE, rows, 3, 0.2) for block in [
        StabilizeDetectionsBlockV1()] for rows in (a, b, select(a, np.zeros(len(a), bool)))]),
    ("track_class_lock", lambda a, b: TrackClassLockBlockV1().run(IMAGE, a, 1, 0, 0, 1, 9, 9, 0.3)),
    ("velocity", lambda a, b: VelocityBlockV1().run(IMAGE, a, 0.5, 1)),
    ("nearest", lambda a, b: DetectionsNearestNeighborBlockV1().run(
        a, b, "CENTER", "CENTER", None, None, None)),
    ("overlap", lambda a, b: OverlapBlockV1().run(a, "Any Overlap", "person")),
    ("overlap_analysis", lambda a, b: OverlapAnalysisBlockV1().run(a, b, 0.1)),
    ("per_class", lambda a, b: PerClassConfidenceFilterBlockV1().run(
        Batch([a]), {"car": 0.89}, 0.1)),
    ("size", lambda a, b: SizeMeasurementBlockV1().run(a, b, [4, 3])),
    *(
        (f"stitch-ocr-{name}", lambda a, b, name=name: StitchOCRDetectionsBlockV2().run(
            Batch([a, b]), name, "auto", 9, " ", 1.0, 9))
        for name in ("tolerance", "otsu", "collimate")
    ),
    ("stitch-nms", lambda a, b: DetectionsStitchBlockV1().run(IMAGE, Batch([a, b]), "nms", 0.3)),
    ("stitch-nmm", lambda a, b: DetectionsStitchBlockV1().run(IMAGE, Batch([a, b]), "nmm", 0.3)),
]  # fmt: skip
NEED_MASKS = {"bounding_rect", "dynamic_zone", "mask_edge_snap"}
# What comes of these are numbers, pairs and texts.
WITHOUT_DETECTIONS = {
    "distance", "geotag", "overlap_analysis", "size", "stitch-ocr-collimate", "stitch-ocr-otsu",
    "stitch-ocr-tolerance",
}  # fmt: skip
# Of no rows these make no crop, so nothing either.
NOTHING_OF_NO_ROWS = {*WITHOUT_DETECTIONS, "dynamic_crop"}


def by_form(without: set[str]) -> list[Any]:
    """The calls with each form of masks, those of some blocks left out."""
    return [
        pytest.param(call, form, id=f"{name}-{form}")
        for name, call in ROWS
        if name not in without
        for form in (WITH_MASKS if name in NEED_MASKS else MASK_FORMS)
    ]


def rows(form: MaskForm, ids: str, count: int = 3) -> sv.Detections:
    outlines = np.empty(count, dtype=object)
    outlines[:] = [np.array([[5, 5], [20, 5], [20, 20]]) for _ in range(count)]
    detections = some(
        BOXES[:count],
        IMAGE,
        names=NAMES[:count],
        ids=[f"{ids}{row}" for row in range(count)],
        form=form,
        polygon=outlines,
        keypoints_xy=np.ones((count, 2, 2), np.float32),
        keypoints_confidence=np.ones((count, 2)),
        keypoints_class_id=np.ones((count, 2), np.int64),
        keypoints_class_name=np.full((count, 2), "nose"),
    )
    detections.tracker_id = np.arange(count)
    return detections


def contents(detections: sv.Detections) -> dict[str, Any]:
    """Everything detections hold, in comparable form."""
    fields = {
        name: getattr(detections, name) for name in ("xyxy", "confidence", "class_id", "tracker_id")
    }
    mask = None if detections.mask is None else np.asarray(detections.mask).tolist()
    plain = {
        name: None if column is None else plain_column(column)
        for name, column in {**fields, **detections.data}.items()
    }
    return {**plain, "mask": mask, "metadata": dict(detections.metadata)}


def plain_column(column: Any) -> list[Any]:
    return [item.tolist() if hasattr(item, "tolist") else item for item in column]


def detections_in(value: Any) -> list[sv.Detections]:
    """All detections inside a result."""
    if isinstance(value, sv.Detections):
        return [value]
    if isinstance(value, Mapping):
        return [found for item in value.values() for found in detections_in(item)]
    if isinstance(value, list):
        return [found for item in value for found in detections_in(item)]
    return []


class TestInputsUntouched:
    @pytest.mark.parametrize(("call", "form"), by_form(set()))
    def test_contents(self, call: Call, form: MaskForm) -> None:
        """Both sets hold the same after the call."""
        first, second = rows(form, "a"), rows(form, "b")
        before = contents(first), contents(second)
        call(first, second)
        assert (contents(first), contents(second)) == before

    @pytest.mark.parametrize(("call", "form"), by_form(WITHOUT_DETECTIONS))
    def test_result_holds_no_container_of_the_input(self, call: Call, form: MaskForm) -> None:
        """A column added to a result does not turn up in the input."""
        first, second = rows(form, "a"), rows(form, "b")
        results = detections_in(call(first, second))
        assert results
        for result in results:
            assert result.data is not first.data
            assert result.data is not second.data

    @pytest.mark.parametrize(("call", "form"), by_form(set()))
    def test_inputs_that_cannot_be_written(self, call: Call, form: MaskForm) -> None:
        """Arrays that are read-only are enough."""
        first, second = (copy_of(rows(form, name)) for name in "ab")
        for detections in (first, second):
            for array in (detections.xyxy, detections.confidence, *detections.data.values()):
                array.flags.writeable = False
        call(first, second)


class TestNoRows:
    @pytest.mark.parametrize(("call", "form"), by_form(NOTHING_OF_NO_ROWS))
    def test_columns_and_image(self, call: Call, form: MaskForm) -> None:
        """Sets without rows give sets without rows, which keep ids, classes and the image."""
        results = detections_in(call(rows(form, "a", 0), rows(form, "b", 0)))
        assert results
        for result in results:
            assert len(result) == 0
            assert {"class_name", "detection_id", "parent_id"} <= result.data.keys()
            assert result.metadata["parent_id"] == "image"
            assert list(result.metadata["image_dimensions"]) == [60, 90]
            assert result.data["class_name"].dtype.kind == "U"
            assert result.xyxy.dtype == np.float32
