"""What the versions of Stitch OCR Detections share: fields, and the text of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from blocks.transformations.stitch_ocr_detections.reading import Direction
from execution_engine.block_api import OutputDefinition, Selector, WorkflowBlockManifest
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    INTEGER_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    STRING_KIND,
)
from execution_engine.value_text import short_text

if TYPE_CHECKING:
    from blocks.transformations.stitch_ocr_detections.reading import Glyphs


class StitchOCRDetectionsManifest(WorkflowBlockManifest):
    """Fields of every version; `type` is that of a version."""

    predictions: Selector(kind=[OBJECT_DETECTION_PREDICTION_KIND]) = Field(
        title="OCR Detections",
        description="Detections of letters, words or lines whose class is their text.",
        examples=["$steps.ocr_model.predictions"],
    )
    reading_direction: Direction = Field(
        title="Reading Direction",
        description=(
            "How the text is read; `auto`: in rows from the left where boxes are wider than high, "
            "in columns from the top otherwise."
        ),
        examples=["left_to_right", "auto"],
    )
    tolerance: Annotated[int, Field(ge=1)] | Selector(kind=[INTEGER_KIND]) = Field(
        default=10,
        title="Tolerance",
        description="How far apart pieces of one line may begin, across the line, px.",
        examples=[10, "$inputs.tolerance"],
    )
    delimiter: str | Selector(kind=[STRING_KIND]) = Field(
        default="",
        title="Delimiter",
        description="Text between the pieces of a line.",
        examples=["", " ", "$inputs.delimiter"],
    )

    @classmethod
    def get_parameters_accepting_batches(cls) -> list[str]:
        return ["predictions"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("ocr_text", [STRING_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.0.0,<2.0.0"


def checked_delimiter(delimiter: Any) -> str:
    """The value of the field `delimiter`.

    Raises:
        InvalidFieldValueError: it is no text.
    """
    if not isinstance(delimiter, str):
        raise InvalidFieldValueError(
            f"Field `delimiter` must be a text, got {short_text(delimiter)}."
        )
    return delimiter


def texts_of(glyphs: Glyphs, lines: list[list[int]], delimiter: str) -> list[str]:
    """The text of each line of rows."""
    return [delimiter.join(glyphs.texts[row] for row in line) for line in lines]
