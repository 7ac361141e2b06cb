"""Joins detections of text to a text, in lines of pieces that begin alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict

from blocks.parameters import FARTHEST_PLACE, whole_number
from blocks.transformations.stitch_ocr_detections.family import (
    StitchOCRDetectionsManifest,
    checked_delimiter,
    texts_of,
)
from blocks.transformations.stitch_ocr_detections.lines import lines_by_tolerance
from blocks.transformations.stitch_ocr_detections.reading import glyphs_of, reading_of
from execution_engine.block_api import Batch, BlockResult, WorkflowBlock, WorkflowBlockManifest

if TYPE_CHECKING:
    import supervision as sv


class StitchOCRDetectionsManifestV1(StitchOCRDetectionsManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Stitch OCR Detections",
            "version": "v1",
            "short_description": "Join detections of text to a text.",
            "long_description": (
                "Puts detections of letters, words or lines in the order in which they are read "
                "and joins their texts. Pieces that begin at about the same height are one line; "
                "in vertical text, pieces that begin at about the same place from the left. Rows "
                "are divided by line breaks, columns by spaces."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["ocr", "text", "read", "lines", "order", "plate"],
        }
    )
    type: Literal["roboflow_core/stitch_ocr_detections@v1"]


class StitchOCRDetectionsBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return StitchOCRDetectionsManifestV1

    def run(
        self,
        predictions: Batch[sv.Detections],
        reading_direction: str,
        tolerance: int,
        delimiter: str,
    ) -> BlockResult:
        """`ocr_text`: the text of each set of detections, empty without detections."""
        reach = whole_number("tolerance", tolerance, minimum=1, maximum=FARTHEST_PLACE)
        between = checked_delimiter(delimiter)
        results = []
        for rows in predictions:
            reading = reading_of(reading_direction, rows)
            glyphs = glyphs_of(rows, reading)
            lines = lines_by_tolerance(glyphs, reach)
            results.append({"ocr_text": reading.joined(texts_of(glyphs, lines, between))})
        return results
