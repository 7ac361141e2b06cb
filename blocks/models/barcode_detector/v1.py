"""Barcode Detection, version 1. Reading is in `family`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.models.barcode_detector.family import CLASS_NAME, read_barcodes
from blocks.models.read_codes import CodeDetectorManifest, as_detections
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import BAR_CODE_DETECTION_KIND


class BarcodeDetectorManifest(CodeDetectorManifest):
    """Fields of a Barcode Detection step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Barcode Detection",
            "version": "v1",
            "short_description": "Finds and reads barcodes.",
            "long_description": (
                "Reads EAN-13, EAN-8, UPC-A, Code 128 and Code 39. Returns a box around each code, "
                "class `barcode`, with its text in `data`. Codes that cannot be read are left out."
            ),
            "license": "Apache-2.0",
            "block_type": "model",
            "search_keywords": ["ean", "upc", "code 128", "code 39", "decode", "scan"],
        }
    )
    type: Literal["roboflow_core/barcode_detector@v1", "BarcodeDetector", "BarcodeDetection"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The codes that were read."""
        return [OutputDefinition("predictions", [BAR_CODE_DETECTION_KIND])]


class BarcodeDetectorBlockV1(WorkflowBlock):
    """Finds and reads barcodes."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return BarcodeDetectorManifest

    def run(self, images: Batch[WorkflowImageData]) -> BlockResult:
        """`predictions`: supervision detections in px, from top to bottom."""
        return [
            {
                "predictions": as_detections(
                    read_barcodes(image.numpy_image), image, CLASS_NAME, "barcode-detection"
                )
            }
            for image in images
        ]
