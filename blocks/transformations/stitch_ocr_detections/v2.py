"""Joins detections of text to a text, in one of several ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field

from blocks.parameters import FARTHEST_PLACE, number, whole_number
from blocks.transformations.stitch_ocr_detections.chains import lines_by_chains
from blocks.transformations.stitch_ocr_detections.family import (
    StitchOCRDetectionsManifest,
    checked_delimiter,
    texts_of,
)
from blocks.transformations.stitch_ocr_detections.lines import lines_by_tolerance
from blocks.transformations.stitch_ocr_detections.reading import glyphs_of, reading_of
from blocks.transformations.stitch_ocr_detections.words import words_by_gaps
from execution_engine.block_api import (
    Batch,
    BlockResult,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import FLOAT_KIND, INTEGER_KIND
from execution_engine.value_text import short_text

if TYPE_CHECKING:
    import supervision as sv

Algorithm = Literal["tolerance", "otsu", "collimate"]
SPACE = " "


class StitchOCRDetectionsManifestV2(StitchOCRDetectionsManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Stitch OCR Detections",
            "version": "v2",
            "short_description": "Join detections of text to a text.",
            "long_description": (
                "Puts detections of letters, words or lines in the order in which they are read "
                "and joins their texts, in one of three ways. `tolerance`: pieces that begin at "
                "about the same height are one line. `otsu`: besides, wide gaps divide a line in "
                "words; what is wide comes from the gaps themselves. `collimate`: a line goes from "
                "each piece to the next, so that it may be skewed or curved. Rows are divided by "
                "line breaks, columns by spaces."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["ocr", "text", "read", "lines", "words", "order", "plate"],
        }
    )
    type: Literal["roboflow_core/stitch_ocr_detections@v2"]
    stitching_algorithm: Algorithm = Field(
        title="Stitching Algorithm",
        description="How pieces are joined to lines and words.",
        examples=["tolerance", "otsu", "collimate"],
    )
    otsu_threshold_multiplier: Annotated[float, Field(ge=0)] | Selector(kind=[FLOAT_KIND]) = Field(
        default=1.0,
        title="Otsu Threshold Multiplier",
        description="For `otsu`: above 1 a gap must be wider to divide words, below 1 less wide.",
        examples=[1.0, "$inputs.multiplier"],
    )
    collimate_tolerance: Annotated[int, Field(ge=0)] | Selector(kind=[INTEGER_KIND]) = Field(
        default=10,
        title="Collimate Tolerance",
        description=(
            "For `collimate`: how far across the line the next piece may lie, beside half its "
            "height, px."
        ),
        examples=[10, "$inputs.collimate_tolerance"],
    )


class StitchOCRDetectionsBlockV2(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return StitchOCRDetectionsManifestV2

    def run(
        self,
        predictions: Batch[sv.Detections],
        stitching_algorithm: Algorithm,
        reading_direction: str,
        tolerance: int,
        delimiter: str,
        otsu_threshold_multiplier: float,
        collimate_tolerance: int,
    ) -> BlockResult:
        """`ocr_text`: the text of each set of detections, empty without detections."""
        reach = whole_number("tolerance", tolerance, minimum=1, maximum=FARTHEST_PLACE)
        multiplier = number(
            "otsu_threshold_multiplier", otsu_threshold_multiplier, 0, FARTHEST_PLACE
        )
        chain_reach = whole_number(
            "collimate_tolerance", collimate_tolerance, minimum=0, maximum=FARTHEST_PLACE
        )
        between = checked_delimiter(delimiter)
        results = []
        for rows in predictions:
            reading = reading_of(reading_direction, rows)
            glyphs = glyphs_of(rows, reading)
            if stitching_algorithm == "otsu":
                word_space = between or SPACE
                texts = [
                    word_space.join(texts_of(glyphs, words, between))
                    for words in words_by_gaps(glyphs, multiplier)
                ]
            elif stitching_algorithm == "collimate":
                texts = texts_of(glyphs, lines_by_chains(glyphs, chain_reach), between)
            elif stitching_algorithm == "tolerance":
                texts = texts_of(glyphs, lines_by_tolerance(glyphs, reach), between)
            else:
                raise InvalidFieldValueError(
                    "Field `stitching_algorithm` must be tolerance, otsu or collimate, got "
                    f"{short_text(stitching_algorithm)}."
                )
            results.append({"ocr_text": reading.joined(texts)})
        return results
