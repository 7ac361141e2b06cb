"""QR Code Detection, version 1. Reading is in `family`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.models.qr_code_detector.family import CLASS_NAME, read_qr_codes
from blocks.models.read_codes import CodeDetectorManifest, as_detections
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import QR_CODE_DETECTION_KIND


class QRCodeDetectorManifest(CodeDetectorManifest):
    """Fields of a QR Code Detection step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "QR Code Detection",
            "version": "v1",
            "short_description": "Finds and reads QR codes.",
            "long_description": (
                "Returns a box around each QR code, class `qr_code`, with the text it holds in "
                "`data`. Codes that are seen but cannot be read are left out."
            ),
            "license": "Apache-2.0",
            "block_type": "model",
            "search_keywords": ["qr", "2d code", "decode", "scan"],
        }
    )
    type: Literal["roboflow_core/qr_code_detector@v1", "QRCodeDetector", "QRCodeDetection"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The codes that were read."""
        return [OutputDefinition("predictions", [QR_CODE_DETECTION_KIND])]


class QRCodeDetectorBlockV1(WorkflowBlock):
    """Finds and reads QR codes."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return QRCodeDetectorManifest

    def run(self, images: Batch[WorkflowImageData]) -> BlockResult:
        """`predictions`: supervision detections in px, from top to bottom."""
        return [
            {
                "predictions": as_detections(
                    read_qr_codes(image.numpy_image), image, CLASS_NAME, "qrcode-detection"
                )
            }
            for image in images
        ]
