"""`label_visualization`: what is written beside detections, and how large."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import supervision as sv

from blocks.visualizations.label_visualization.texts import label_texts
from blocks.visualizations.label_visualization.v2 import automatic_size
from tests.blocks.visualizations.scenes import compact_objects, objects, picture, run


class TestLabelTexts:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Class", ["cat", "dog", "bird"]),
            ("Confidence", ["0.90", "0.75", "0.50"]),
            ("Class and Confidence", ["cat 0.90", "dog 0.75", "bird 0.50"]),
            ("Index", ["0", "1", "2"]),
            ("Dimensions", ["45, 60 50x60", "100, 60 80x80", "125, 92 50x45"]),
            ("Area", ["3000", "6400", "2250"]),
            ("Area (mask)", ["12", "12.50", "N/A"]),
            ("Area (converted)", ["0.25", "3", "4"]),
            ("Tracker Id", ["4", "9", "2"]),
            ("Time In Zone", ["In zone: 1.50s", "In zone: N/A", "In zone: 0.00s"]),
        ],
    )
    def test_texts(self, text: str, expected: list[str]) -> None:
        """Each text says its property of each row."""
        detections = objects(
            area_px=np.array([12.0, 12.5, np.nan]),
            area_converted=np.array([0.25, 3.0, 4.0]),
            time_in_zone=np.array([1.5, np.nan, 0.0]),
        )
        assert label_texts(detections, text) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Class", "N/A"),
            ("Confidence", "N/A"),
            ("Class and Confidence", "N/A N/A"),
            ("Area (mask)", "N/A"),
            ("Area (converted)", "N/A"),
            ("Tracker Id", "No Tracker ID"),
            ("Time In Zone", "In zone: N/A"),
        ],
    )
    def test_not_known(self, text: str, expected: str) -> None:
        """What detections do not know is said so, not an error."""
        assert label_texts(sv.Detections(np.array([[0.0, 0, 1, 1]])), text) == [expected]

    def test_class_without_name(self) -> None:
        """A class without a name is written as its id."""
        detections = objects()
        del detections.data["class_name"]
        assert label_texts(detections, "Class") == ["0", "1", "5"]

    def test_area_of_masks(self) -> None:
        """The area is that of the masks where there are some."""
        detections = compact_objects()
        expected = [str(area) for area in detections.mask.area]
        assert label_texts(detections, "Area") == expected
        assert expected != label_texts(objects(), "Area")

    def test_refused(self) -> None:
        """A text that is not known is named."""
        with pytest.raises(ValueError, match=r"`text` must be one of .*'Weight'"):
            label_texts(objects(), "Weight")


class TestLabelVisualization:
    def test_automatic_size(self) -> None:
        """Scale and thickness follow from the image, and the fields are not looked at."""
        scale, thickness = automatic_size(picture().shape[:2])
        expected = run("label_v1", text_scale=scale, text_thickness=thickness)
        result = run("label_v2", text_size_mode="Automatic", text_scale=9.0, text_thickness=9)
        assert (result == expected).all()
        assert automatic_size((1080, 1920)) == (1.08, 4)

    def test_letters_beyond_ascii(self) -> None:
        """Letters of other scripts are drawn, each its own shape."""
        shapes = []
        for name in ("猫", "犬", "ж", "??"):
            detections = objects()[:1]
            detections.data["class_name"] = np.array([name])
            black = np.zeros_like(picture())
            shapes.append(run("label_v1", detections, black, text_position="CENTER"))
        for index, shape in enumerate(shapes):
            assert all((shape != other).any() for other in shapes[index + 1 :])

    def test_lone_surrogate(self) -> None:
        """Half a character in a class name is drawn as a question mark: OpenCV would end the
        process.
        """
        drawn = []
        for name in ("a\ud800", "a?"):
            detections = objects()[:1]
            detections.data["class_name"] = np.array([name])
            drawn.append(run("label_v1", detections))
        assert (drawn[0] == drawn[1]).all()

    def test_several_lines(self) -> None:
        """A line feed in a class name starts a new line."""
        heights = []
        for name in ("cat", "cat\ncat\ncat"):
            detections = objects()[:1]
            detections.data["class_name"] = np.array([name])
            black = np.zeros_like(picture())
            fields = {"text_position": "CENTER", "text_scale": 0.5}
            drawn = run("label_v1", detections, black, **fields).any(axis=2)
            heights.append(cv2.boundingRect(drawn.view(np.uint8))[3])
        assert heights[1] > 1.8 * heights[0]
