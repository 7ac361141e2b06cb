"""Draws the keypoints of detections: dots, names or a skeleton."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from blocks.parameters import choice
from blocks.visualizations.colour_text import colour_of
from blocks.visualizations.drawable import drawable
from blocks.visualizations.drawn_text import drawable_text
from blocks.visualizations.keypoint_visualization.joints import (
    MOST_JOINTS,
    Joints,
    joints_by_class,
)
from blocks.visualizations.limits import line_thickness
from blocks.visualizations.limits import pixels as whole_pixels
from blocks.visualizations.limits import text_scale as scale_of_text
from blocks.visualizations.manifest import (
    COLOUR_EXAMPLES,
    PREDICTIONS_EXAMPLES,
    PositiveNumber,
    Text,
    VisualizationManifest,
    WholeNumberFrom0,
    describe,
    relevant_for,
)
from blocks.visualizations.visualization_block import (
    VisualizationBlock,
    colour_copy,
    drawn,
    sv_colour,
)
from execution_engine.block_api import (
    BlockResult,
    Selector,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    KEYPOINT_DETECTION_PREDICTION_KIND,
    LIST_OF_VALUES_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

Edges = tuple[tuple[int, int], ...]


class KeypointVisualizationManifest(VisualizationManifest):
    model_config = describe(
        "Keypoint Visualization",
        "Draw keypoints of detections.",
        (
            "Draws lines between keypoints (`edge`), a dot at each (`vertex`) or the name of each "
            "(`vertex_label`). Keypoints that are missing are left out, and the lines to them. "
            "Without `edges`, lines are drawn where the number of keypoints is that of a known "
            "skeleton: 17 for a person, 21 for a hand, 33, 468 and 478."
        ),
        ["pose", "skeleton", "joints", "landmarks"],
    )
    type: Literal["roboflow_core/keypoint_visualization@v1", "KeypointVisualization"]
    predictions: Selector(kind=[KEYPOINT_DETECTION_PREDICTION_KIND]) = Field(
        title="Predictions",
        description="Detections with keypoints.",
        examples=PREDICTIONS_EXAMPLES,
    )
    annotator_type: Literal["edge", "vertex", "vertex_label"] = Field(
        default="edge",
        title="Annotator Type",
        description="What is drawn.",
        examples=["edge", "vertex"],
    )
    color: Text = Field(
        default="#A351FB",
        title="Color",
        description="Colour of lines, dots or the boxes of names.",
        examples=COLOUR_EXAMPLES,
    )
    text_color: Text = Field(
        default="black",
        title="Text Color",
        description="Colour of the letters.",
        examples=COLOUR_EXAMPLES,
        json_schema_extra=relevant_for("annotator_type", "vertex_label"),
    )
    text_scale: PositiveNumber = Field(
        default=0.5,
        title="Text Scale",
        description="Size of the letters, 1 for the font's own.",
        examples=[0.5, "$inputs.text_scale"],
        json_schema_extra=relevant_for("annotator_type", "vertex_label"),
    )
    text_thickness: WholeNumberFrom0 = Field(
        default=1,
        title="Text Thickness",
        description="Thickness of the letters, px.",
        examples=[1, "$inputs.text_thickness"],
        json_schema_extra=relevant_for("annotator_type", "vertex_label"),
    )
    text_padding: WholeNumberFrom0 = Field(
        default=10,
        title="Text Padding",
        description="Space between text and edge of its box, px.",
        examples=[10, "$inputs.text_padding"],
        json_schema_extra=relevant_for("annotator_type", "vertex_label"),
    )
    thickness: WholeNumberFrom0 = Field(
        default=2,
        title="Thickness",
        description="Thickness of the lines, px.",
        examples=[2, "$inputs.thickness"],
        json_schema_extra=relevant_for("annotator_type", "edge"),
    )
    radius: WholeNumberFrom0 = Field(
        default=10,
        title="Radius",
        description="Radius of the dots, px.",
        examples=[10, "$inputs.radius"],
        json_schema_extra=relevant_for("annotator_type", "vertex"),
    )
    edges: list[Any] | Selector(kind=[LIST_OF_VALUES_KIND]) = Field(
        default=None,
        title="Edges",
        description="Pairs of keypoints that lines join; keypoints count from 1, by class id.",
        examples=[[[1, 2], [2, 3]], "$inputs.edges"],
        json_schema_extra=relevant_for("annotator_type", "edge"),
    )

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.2.0,<2.0.0"


class KeypointVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return KeypointVisualizationManifest

    def run(
        self,
        image: WorkflowImageData,
        predictions: sv.Detections,
        copy_image: bool,
        annotator_type: str,
        color: str,
        text_color: str,
        text_scale: float,
        text_thickness: int,
        text_padding: int,
        thickness: int,
        radius: int,
        edges: list[Any] | None,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the keypoints.

        Raises:
            ValueError: the detections have no keypoints, or a setting is out of range.
        """
        draw = choice("annotator_type", annotator_type, _DRAWINGS)
        pairs = read_edges(edges)
        annotator: Any
        if annotator_type == "edge":
            annotator = self._prepared.get(_edge_annotator, color, thickness, pairs)
        elif annotator_type == "vertex":
            annotator = self._prepared.get(_vertex_annotator, color, radius)
        else:
            annotator = self._prepared.get(
                _label_annotator, color, text_color, text_scale, text_thickness, text_padding
            )
        pixels = colour_copy(image.numpy_image)
        detections = drawable(predictions, pixels.shape[:2], masks=False)
        if len(detections):
            last_joint = max((joint for pair in pairs or () for joint in pair), default=0)
            for joints in joints_by_class(detections, last_joint):
                draw(annotator, pixels, joints)
        return drawn(image, pixels)


def read_edges(edges: Any) -> Edges | None:
    """Pairs of joints counted from 1; None when no edges are given.

    Raises:
        ValueError: an entry is no pair of whole numbers from 1 up; the text says which.
    """
    if edges is None or (isinstance(edges, Sequence) and len(edges) == 0):
        return None
    if isinstance(edges, str) or not isinstance(edges, Sequence):
        raise InvalidFieldValueError(
            f"Field `edges` must be a list of pairs of keypoints, got {edges!r}."
        )
    return tuple(_pair(index, edge) for index, edge in enumerate(edges))


def _pair(index: int, edge: Any) -> tuple[int, int]:
    fits = (
        isinstance(edge, (list, tuple))
        and len(edge) == 2
        and all(isinstance(joint, Integral) and 1 <= int(joint) <= MOST_JOINTS for joint in edge)
    )
    if not fits:
        raise InvalidFieldValueError(
            f"Field `edges[{index}]` must be two keypoints, counted from 1 up to {MOST_JOINTS}, "
            f"got {edge!r}."
        )
    return int(edge[0]), int(edge[1])


def _edge_annotator(color: str, thickness: int, edges: Edges | None) -> sv.EdgeAnnotator:
    import supervision as sv

    return sv.EdgeAnnotator(
        color=sv_colour(colour_of("color", color)),
        thickness=line_thickness("thickness", thickness),
        edges=edges,
    )


def _vertex_annotator(color: str, radius: int) -> sv.VertexAnnotator:
    import supervision as sv

    return sv.VertexAnnotator(
        color=sv_colour(colour_of("color", color)), radius=whole_pixels("radius", radius)
    )


def _label_annotator(
    color: str, text_color: str, text_scale: float, text_thickness: int, text_padding: int
) -> sv.VertexLabelAnnotator:
    import supervision as sv

    return sv.VertexLabelAnnotator(
        color=sv_colour(colour_of("color", color)),
        text_color=sv_colour(colour_of("text_color", text_color)),
        text_scale=scale_of_text("text_scale", text_scale),
        text_thickness=line_thickness("text_thickness", text_thickness),
        text_padding=whole_pixels("text_padding", text_padding),
    )


def _draw_edges(annotator: Any, pixels: Any, joints: Joints) -> None:
    from supervision.key_points.skeletons import SKELETONS_BY_VERTEX_COUNT

    if annotator.edges is not None or len(joints.names) in SKELETONS_BY_VERTEX_COUNT:
        annotator.annotate(pixels, joints.key_points())


def _draw_dots(annotator: Any, pixels: Any, joints: Joints) -> None:
    annotator.annotate(pixels, joints.key_points())


def _draw_names(annotator: Any, pixels: Any, joints: Joints) -> None:
    annotator.annotate(
        pixels, joints.key_points(), labels=[drawable_text(name) for name in joints.names]
    )


_DRAWINGS = {"edge": _draw_edges, "vertex": _draw_dots, "vertex_label": _draw_names}
