"""Blocks that draw with annotators of supervision: fields reach them, the colours are ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv
from pydantic import ValidationError

from tests.blocks.visualizations.scenes import compact_objects, objects, picture, run, values_of

PALETTE = sv.ColorPalette.DEFAULT
CENTER, MASS = sv.Position.CENTER, sv.Position.CENTER_OF_MASS
SHAPES: list[tuple[str, dict[str, Any], Any]] = [
    ("bounding_box_v1", {}, sv.BoxAnnotator(PALETTE)),
    ("bounding_box_v1", {"thickness": 5}, sv.BoxAnnotator(PALETTE, 5)),
    ("bounding_box_v1", {"roundness": 0.4}, sv.RoundBoxAnnotator(PALETTE, roundness=0.4)),
    ("circle_v1", {"thickness": 3}, sv.CircleAnnotator(PALETTE, 3)),
    ("corner_v1", {}, sv.BoxCornerAnnotator(PALETTE)),
    ("corner_v1", {"corner_length": 9}, sv.BoxCornerAnnotator(PALETTE, corner_length=9)),
    ("ellipse_v1", {}, sv.EllipseAnnotator(PALETTE)),
    (
        "ellipse_v1",
        {"start_angle": 0, "end_angle": 90, "thickness": 4},
        sv.EllipseAnnotator(PALETTE, 4, 0, 90),
    ),
    ("dot_v1", {}, sv.DotAnnotator(PALETTE)),
    (
        "dot_v1",
        {"radius": 9, "position": "CENTER_OF_MASS", "outline_thickness": 2},
        sv.DotAnnotator(PALETTE, 9, MASS, outline_thickness=2),
    ),
    ("triangle_v1", {}, sv.TriangleAnnotator(PALETTE)),
    (
        "triangle_v1",
        {"base": 30, "height": 12, "position": "CENTER", "outline_thickness": 3},
        sv.TriangleAnnotator(PALETTE, 30, 12, CENTER, outline_thickness=3),
    ),
    ("crop_v1", {}, sv.CropAnnotator(border_color=PALETTE)),
    (
        "crop_v1",
        {"scale_factor": 0.5, "position": "CENTER_OF_MASS", "border_thickness": 4},
        sv.CropAnnotator(MASS, 0.5, PALETTE, 4),
    ),
    ("pixelate_v1", {}, sv.PixelateAnnotator(20)),
    ("pixelate_v1", {"pixel_size": 7}, sv.PixelateAnnotator(7)),
    ("polygon_v1", {}, sv.PolygonAnnotator(PALETTE)),
    ("polygon_v2", {"thickness": 4}, sv.PolygonAnnotator(PALETTE, 4)),
    ("label_v1", {}, sv.LabelAnnotator(PALETTE, text_scale=1.0)),
    (
        "label_v2",
        {
            "text_position": "CENTER_OF_MASS", "text_color": "#00ff00", "text_scale": 0.4,
            "text_thickness": 2, "text_padding": 3, "border_radius": 4,
        },
        sv.LabelAnnotator(
            PALETTE,
            text_color=sv.Color(0, 255, 0),
            text_scale=0.4,
            text_thickness=2,
            text_padding=3,
            text_position=MASS,
            border_radius=4,
        ),
    ),
]  # fmt: skip
COLOURED = ["bounding_box_v1", "circle_v1", "corner_v1", "dot_v1", "triangle_v1", "label_v1"]


class TestShapes:
    @pytest.mark.parametrize(("name", "fields", "annotator"), SHAPES)
    def test_as_the_annotator_draws_it(
        self, name: str, fields: dict[str, Any], annotator: Any
    ) -> None:
        """The picture is the annotator's."""
        expected = annotator.annotate(picture(), compact_objects())
        assert (run(name, compact_objects(), **fields) == expected).all()

    @pytest.mark.parametrize("name", COLOURED)
    @pytest.mark.parametrize(
        ("axis", "ids"), [("CLASS", [0, 1, 5]), ("INDEX", [0, 1, 2]), ("TRACK", [4, 9, 2])]
    )
    def test_colours(self, name: str, axis: str, ids: list[int]) -> None:
        """Each row is drawn in the colour of its class, place or track, again from the start."""
        colours = [(0, 0, 255), (0, 255, 0), (255, 0, 0), (255, 255, 0)]
        black = np.zeros_like(picture())
        result = run(
            name,
            objects(),
            black,
            color_palette="CUSTOM",
            custom_colors=["#ff0000", "#00ff00", "#0000ff", "#00ffff"],
            color_axis=axis,
        )
        used = {colours[number % len(colours)] for number in ids}
        seen = {colour for colour in colours if (result == colour).all(axis=2).any()}
        assert seen == used

    @pytest.mark.parametrize("name", COLOURED)
    def test_unknown_class_is_grey(self, name: str) -> None:
        """A negative class id is drawn in grey, not in the last colour of the palette."""
        detections = objects()[:1]
        detections.class_id = np.array([-1])
        result = run(name, detections, np.zeros_like(picture()))
        assert (result == (128, 128, 128)).all(axis=2).any()
        last = PALETTE.colors[-1].as_bgr()
        assert not (result == last).all(axis=2).any()

    @pytest.mark.parametrize("name", ["dot_v1", "triangle_v1", "crop_v1", "label_v1", "trace_v1"])
    def test_centre_of_mass_needs_masks(self, name: str) -> None:
        """The centre of gravity of rows without masks is an error that says what to use."""
        position = "text_position" if name == "label_v1" else "position"
        with pytest.raises(ValueError, match=r"CENTER_OF_MASS is a place of masks.*use CENTER"):
            run(name, objects(), **{position: "CENTER_OF_MASS"})

    @pytest.mark.parametrize(
        ("name", "field", "value"),
        [
            ("bounding_box_v1", "thickness", -1),
            ("bounding_box_v1", "roundness", 1.5),
            ("circle_v1", "thickness", 1.5),
            ("corner_v1", "corner_length", -3),
            ("ellipse_v1", "end_angle", 1e12),
            ("dot_v1", "radius", 40_000),
            ("dot_v1", "position", "MIDDLE"),
            ("triangle_v1", "base", "wide"),
            ("crop_v1", "scale_factor", 0),
            ("crop_v1", "border_thickness", -1),
            ("pixelate_v1", "pixel_size", 0),
            ("polygon_v2", "thickness", None),
            ("label_v1", "text_scale", float("nan")),
            ("label_v1", "text_color", "colourless"),
            ("label_v2", "text_size_mode", "Large"),
            ("mask_v1", "opacity", 1.01),
            ("color_v1", "opacity", -0.1),
            ("halo_v1", "kernel_size", 0),
            ("blur_v1", "kernel_size", 0),
            ("background_color_v1", "color", 7),
            ("heatmap_v1", "top_hue", 180),
            ("trace_v1", "trace_length", 0),
            ("keypoint_v1", "radius", [3]),
            ("icon_v1", "mode", "moving"),
            ("icon_v1", "icon_width", 0),
        ],
    )
    def test_values_out_of_range(self, name: str, field: str, value: Any) -> None:
        """A value that came through a reference and does not fit is named with its field."""
        fields = values_of(name) | {field: value}
        needs = {"radius": {"annotator_type": "vertex"}}.get(field, {}) if "key" in name else {}
        with pytest.raises(ValueError, match=f"`{field}`") as caught:
            run(name, compact_objects(), inputs=fields | needs)
        assert repr(value) in str(caught.value)

    def test_literals_are_checked_early(self) -> None:
        """A number that a step states is checked when the definition is read."""
        with pytest.raises(ValidationError, match="thickness"):
            values_of("bounding_box_v1", thickness=-2)

    @pytest.mark.parametrize(
        ("name", "field", "fields"),
        [
            ("bounding_box_v1", "thickness", {}),
            ("bounding_box_v1", "thickness", {"roundness": 0.5}),
            ("circle_v1", "thickness", {}),
            ("corner_v1", "thickness", {}),
            ("crop_v1", "border_thickness", {}),
            ("ellipse_v1", "thickness", {}),
            ("label_v1", "text_thickness", {}),
            ("polygon_v2", "thickness", {}),
            ("reference_path_v1", "thickness", {}),
            ("line_counter_v1", "thickness", {}),
        ],
    )
    def test_thinnest_line(self, name: str, field: str, fields: dict[str, Any]) -> None:
        """A line of thickness 0, which OpenCV refuses for some shapes, is drawn as one of 1 px."""
        thinnest = run(name, compact_objects(), **{field: 0}, **fields)
        assert (thinnest == run(name, compact_objects(), **{field: 1}, **fields)).all()


class TestCrop:
    def test_too_large(self) -> None:
        """A cutting that no memory would hold is refused."""
        with pytest.raises(ValueError, match=r"`scale_factor` must leave .*, got 1000000\.0\."):
            run("crop_v1", objects(), scale_factor=1e6)

    def test_smaller_than_a_pixel(self) -> None:
        """A cutting shrunk to nothing is drawn as one pixel."""
        assert run("crop_v1", objects(), scale_factor=0.001).shape == picture().shape


class TestColor:
    def test_boxes_without_masks(self) -> None:
        """Rows without masks are filled boxes."""
        expected = sv.ColorAnnotator(PALETTE, 0.7).annotate(picture(), objects())
        assert (run("color_v1", objects(), opacity=0.7) == expected).all()

    def test_masks(self) -> None:
        """Rows with masks are filled masks."""
        expected = sv.MaskAnnotator(PALETTE, 0.7).annotate(picture(), compact_objects())
        assert (run("color_v1", compact_objects(), opacity=0.7) == expected).all()


class TestFallbackToBoxes:
    def test_polygon(self) -> None:
        """Without masks, version 1 draws boxes and version 2 draws nothing."""
        expected = sv.BoxAnnotator(PALETTE).annotate(picture(), objects())
        assert (run("polygon_v1", objects()) == expected).all()
        assert (run("polygon_v2", objects()) == picture()).all()

    def test_halo(self) -> None:
        """Without masks, version 1 glows around boxes and version 2 draws nothing."""
        first = run("halo_v1", objects(), opacity=1.0)
        changed = (first != picture()).any(axis=2)
        assert changed[29, 45]
        assert not changed[31:89, 21:69].any()
        assert (run("halo_v2", objects()) == picture()).all()

    @pytest.mark.parametrize("name", ["mask_v1", "polygon_v2", "halo_v2"])
    def test_colours_are_not_asked_for(self, name: str) -> None:
        """Rows that are not drawn need no ids."""
        detections = objects()
        detections.class_id = None
        assert (run(name, detections) == picture()).all()


class TestBackgroundColor:
    @pytest.mark.parametrize("detections", [objects(), compact_objects()])
    def test_as_supervision(self, detections: sv.Detections) -> None:
        """Everything but masks, or boxes without masks, is covered."""
        result = run("background_color_v1", detections, color="rgb(10, 200, 30)", opacity=0.4)
        annotator = sv.BackgroundOverlayAnnotator(sv.Color(10, 200, 30), 0.4)
        expected = annotator.annotate(picture(), detections)
        assert np.abs(result.astype(int) - expected).max() <= 1

    def test_nothing_found(self) -> None:
        """Without detections the whole image is background."""
        assert (run("background_color_v1", sv.Detections.empty(), opacity=1.0) == 0).all()


class TestModelComparison:
    def test_four_areas(self) -> None:
        """Only A, only B, neither and both have their colours; both stays clear."""
        both = {"predictions_a": objects()[:1], "predictions_b": objects()[1:2]}
        result = run("model_comparison_v1", inputs=both, opacity=1.0)
        assert result[50, 30].tolist() == [0, 255, 0]
        assert result[50, 100].tolist() == [0, 0, 255]
        assert result[5, 5].tolist() == [0, 0, 0]
        assert (result[30:90, 60:70] == picture()[30:90, 60:70]).all()

    def test_masks_and_boxes(self) -> None:
        """Masks of one model are compared with boxes of another."""
        both = {"predictions_a": compact_objects()[:1], "predictions_b": objects()[:1]}
        result = run("model_comparison_v1", inputs=both, opacity=1.0)
        assert result[31, 21].tolist() == [0, 0, 255]
        assert result[60, 45].tolist() == picture()[60, 45].tolist()

    def test_which_field_is_wrong(self) -> None:
        """The error names the predictions that do not fit."""
        with pytest.raises(ValueError, match="`predictions_b` must be detections, got list"):
            run("model_comparison_v1", inputs={"predictions_b": []})
