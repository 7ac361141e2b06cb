"""`keypoint_visualization@v1`: joints by id, missing joints, lines, dots and names."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import supervision as sv

from blocks.visualizations.keypoint_visualization.joints import COCO_JOINTS, joints_by_class
from blocks.visualizations.keypoint_visualization.v1 import read_edges
from tests.blocks.visualizations.scenes import key_point_columns, objects, run

PURPLE = sv.Color.ROBOFLOW.as_bgr()
MISSING = [(np.nan, np.nan), (0.0, 0.0), (np.nan, 50.0), (np.inf, 5.0)]
BLACK = np.zeros((120, 160, 3), np.uint8)


def person(points: list[Any], ids: list[int] | None = None, names: Any = None) -> sv.Detections:
    """One detection with joints at points (x, y)."""
    ids = list(range(len(points))) if ids is None else ids
    names = [f"joint {joint}" for joint in ids] if names is None else names
    detections = objects()[:1]
    detections.data |= {
        "keypoints_xy": np.array([points], np.float64),
        "keypoints_class_id": np.array([ids]),
        "keypoints_class_name": np.array([names]),
        "keypoints_confidence": np.ones((1, len(points))),
    }
    return detections


def lines(*pairs: tuple[tuple[int, int], tuple[int, int]]) -> np.ndarray:
    canvas = BLACK.copy()
    for start, end in pairs:
        cv2.line(canvas, start, end, PURPLE, 2)
    return canvas


class TestMissingJoint:
    """A missing joint crashed every drawing of keypoints: roboflow/supervision#2560."""

    @pytest.mark.parametrize("missing", MISSING)
    def test_a_missing_joint_does_not_stop_the_drawing_of_edges(self, missing: Any) -> None:
        """The lines to the missing joint are left out, the others are drawn."""
        detections = person([(10, 10), missing, (100, 100)])
        result = run("keypoint_v1", detections, BLACK, edges=[[1, 2], [2, 3], [1, 3]])
        assert (result == lines(((10, 10), (100, 100)))).all()

    @pytest.mark.parametrize("missing", MISSING)
    def test_a_missing_joint_does_not_stop_the_drawing_of_vertices(self, missing: Any) -> None:
        """There is a dot at each joint that is there, and no other."""
        detections = person([(10, 10), missing, (100, 100)])
        result = run("keypoint_v1", detections, BLACK, annotator_type="vertex", radius=3)
        expected = BLACK.copy()
        for centre in ((10, 10), (100, 100)):
            cv2.circle(expected, centre, 3, PURPLE, -1)
        assert (result == expected).all()

    @pytest.mark.parametrize("missing", MISSING)
    def test_a_missing_joint_does_not_stop_the_drawing_of_names(self, missing: Any) -> None:
        """There is a name at each joint that is there, and no other."""
        detections = person([(30, 30), missing, (120, 100)])
        result = run("keypoint_v1", detections, BLACK, annotator_type="vertex_label")
        alone = person([(30, 30), (120, 100)], [0, 2])
        expected = run("keypoint_v1", alone, BLACK, annotator_type="vertex_label")
        assert (result == expected).all()
        assert cv2.connectedComponents(result.any(axis=2).view(np.uint8))[0] == 1 + 2


class TestJointsByClass:
    def test_by_id(self) -> None:
        """A joint stands at the place of its id, whatever its place in the list."""
        (joints,) = joints_by_class(person([(3, 3), (1, 1)], [3, 1]))
        assert joints.xy[0].tolist() == [[0, 0], [1, 1], [0, 0], [3, 3]]
        assert joints.present.tolist() == [[False, True, False, True]]
        assert joints.names == ["", "joint 1", "", "joint 3"]

    def test_padding(self) -> None:
        """Slots without a name are no joints."""
        (joints,) = joints_by_class(person([(3, 3), (9, 9)], [0, 0], ["nose tip", ""]))
        assert joints.xy[0].tolist() == [[3, 3]]

    def test_classes_apart(self) -> None:
        """Classes may have different skeletons."""
        detections = objects(**key_point_columns())
        detections.class_id = np.array([0, 2, 0])
        first, second = joints_by_class(detections)
        assert (len(first.xy), len(second.xy)) == (2, 1)

    def test_person_without_feet(self) -> None:
        """A person none of whose last joints is seen still has the 17 joints of a person."""
        names = list(COCO_JOINTS[:12])
        points = [(10 + joint, 20) for joint in range(12)]
        (joints,) = joints_by_class(person(points, None, names))
        assert joints.xy.shape == (1, 17, 2)
        (others,) = joints_by_class(person(points))
        assert others.xy.shape == (1, 12, 2)

    @pytest.mark.parametrize("ids", [[0, 5000], [0, 10**12]])
    def test_absurd_id(self, ids: list[int]) -> None:
        """An id that no joint has does not take all memory."""
        with pytest.raises(ValueError, match="keypoint class ids must lie below 4096, got"):
            list(joints_by_class(person([(1, 1), (2, 2)], ids)))

    def test_no_keypoints(self) -> None:
        """Detections of another kind are refused with the columns that they have."""
        with pytest.raises(ValueError, match=r"must have keypoints .* got the columns \['class"):
            list(joints_by_class(objects()))


class TestKeypointVisualization:
    def test_known_skeleton(self) -> None:
        """Without edges, the 17 joints of a person are joined as supervision joins them."""
        points = np.random.default_rng(3).uniform(5, 100, (17, 2)).round()
        result = run("keypoint_v1", person(points.tolist()), BLACK, edges=[])
        key_points = sv.KeyPoints(xy=points[None].astype(np.float32))
        expected = sv.EdgeAnnotator().annotate(BLACK.copy(), key_points)
        assert (result == expected).all()
        assert expected.any()

    def test_unknown_skeleton(self) -> None:
        """Without edges, a skeleton of an unknown number of joints has no lines."""
        assert not run("keypoint_v1", person([(10, 10), (90, 90)]), BLACK, edges=[]).any()

    def test_edge_to_a_joint_that_is_not_seen(self) -> None:
        """Edges may name joints that no instance of the frame shows."""
        detections = person([(10, 10), (100, 100)])
        result = run("keypoint_v1", detections, BLACK, edges=[[1, 2], [2, 9]])
        assert (result == lines(((10, 10), (100, 100)))).all()

    def test_look(self) -> None:
        """Colour, thickness and the look of names reach the drawing."""
        detections = person([(40, 40), (100, 80)])
        result = run(
            "keypoint_v1", detections, BLACK, color="rgb(1, 2, 3)", thickness=7, edges=[[1, 2]]
        )
        expected = cv2.line(BLACK.copy(), (40, 40), (100, 80), (3, 2, 1), 7)
        assert (result == expected).all()
        named = run(
            "keypoint_v1", detections, BLACK, annotator_type="vertex_label", color="RED",
            text_color="WHITE", text_scale=0.4, text_thickness=1, text_padding=2,
        )  # fmt: skip
        annotator = sv.VertexLabelAnnotator(sv.Color.RED, sv.Color.WHITE, 0.4, 1, 2)
        key_points = sv.KeyPoints(xy=np.array([[[40, 40], [100, 80]]], np.float32))
        expected = annotator.annotate(BLACK.copy(), key_points, labels=["joint 0", "joint 1"])
        assert (named == expected).all()

    def test_lone_surrogate(self) -> None:
        """Half a character in a name is drawn as a question mark: OpenCV would end the process."""
        drawn = [
            run(
                "keypoint_v1",
                person([(40, 40)], names=[name]),
                BLACK,
                annotator_type="vertex_label",
            )
            for name in ("a\ud800", "a?")
        ]
        assert (drawn[0] == drawn[1]).all()
        assert drawn[0].any()

    def test_far_joint(self) -> None:
        """A joint far outside the image is drawn towards, and does not stop the drawing."""
        detections = person([(10, 10), (1e12, 10)])
        assert run("keypoint_v1", detections, BLACK, edges=[[1, 2]])[10, 150].any()


class TestReadEdges:
    @pytest.mark.parametrize("edges", [None, [], ()])
    def test_none(self, edges: Any) -> None:
        """No edges mean the known skeleton."""
        assert read_edges(edges) is None

    def test_pairs(self) -> None:
        """Pairs are kept in order."""
        assert read_edges([[1, 2], (3, 1)]) == ((1, 2), (3, 1))

    @pytest.mark.parametrize(
        ("edges", "message"),
        [
            ("1-2", "`edges` must be a list of pairs"),
            ({1: 2}, "`edges` must be a list of pairs"),
            ([[1, 2], [0, 1]], r"`edges\[1\]` must be two keypoints, counted from 1"),
            ([[1, 2, 3]], r"`edges\[0\]` must be two keypoints"),
            ([[1, 2.5]], r"`edges\[0\]` must be two keypoints"),
            ([[1, 10**9]], r"`edges\[0\]` must be two keypoints"),
            ([7], r"`edges\[0\]` must be two keypoints"),
        ],
    )
    def test_refused(self, edges: Any, message: str) -> None:
        """What is no pair of joints is named with its place."""
        with pytest.raises(ValueError, match=message):
            read_edges(edges)
