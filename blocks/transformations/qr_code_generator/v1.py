"""QR Code Generator, version 1. Encoding and drawing are in `family`."""

from __future__ import annotations

from typing import Literal
from uuid import uuid4

from pydantic import ConfigDict, Field, NonNegativeInt

from blocks.transformations.qr_code_generator.family import draw_modules, qr_modules
from blocks.visualizations.colour_text import colour_of
from execution_engine.block_api import (
    BlockResult,
    ImageParentMetadata,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import IMAGE_KIND, INTEGER_KIND, STRING_KIND

COLOUR_EXAMPLES = ["BLACK", "#1d4ed8", "rgb(29, 78, 216)", "$inputs.color"]


class QRCodeGeneratorManifest(WorkflowBlockManifest):
    """Fields of a QR Code Generator step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "QR Code Generator",
            "version": "v1",
            "short_description": "Makes a picture of a QR code that holds a text.",
            "long_description": (
                "Takes the smallest QR code that the text fits into and draws each of its modules "
                "as 10 x 10 px. Readers need a margin of four modules and a fill colour that is "
                "clearly darker than the background."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["qr", "2d code", "encode", "link"],
        }
    )
    type: Literal["roboflow_core/qr_code_generator@v1", "QRCodeGenerator"]
    text: str | Selector(kind=[STRING_KIND]) = Field(
        title="Text",
        description="What the code says, such as an address.",
        examples=["https://example.org", "$inputs.text"],
    )
    error_correct: Literal[
        "Low (~7% word recovery / highest data capacity)",
        "Medium (~15% word recovery)",
        "Quartile (~25% word recovery)",
        "High (~30% word recovery / lowest data capacity)",
    ] = Field(
        default="Medium (~15% word recovery)",
        title="Error Correction",
        description="How much of the code may be damaged; more makes the code larger.",
        examples=["Medium (~15% word recovery)"],
    )
    border: NonNegativeInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=4,
        title="Border",
        description="Width of the free margin, in modules.",
        examples=[4, "$inputs.border"],
    )
    fill_color: str | Selector(kind=[STRING_KIND]) = Field(
        default="BLACK",
        title="Fill Color",
        description="Colour of the dark modules.",
        examples=COLOUR_EXAMPLES,
    )
    back_color: str | Selector(kind=[STRING_KIND]) = Field(
        default="WHITE",
        title="Background Color",
        description="Colour of the light modules and the margin.",
        examples=["WHITE", "#f0f0f0", "$inputs.color"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The picture."""
        return [OutputDefinition("qr_code", [IMAGE_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        """Engine versions the block works with."""
        return ">=1.3.0,<2.0.0"


class QRCodeGeneratorBlockV1(WorkflowBlock):
    """Makes a picture of a QR code that holds a text."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return QRCodeGeneratorManifest

    def run(
        self, text: str, error_correct: str, border: int, fill_color: str, back_color: str
    ) -> BlockResult:
        """`qr_code`: a square BGR image without parents."""
        fill, back = colour_of("fill_color", fill_color), colour_of("back_color", back_color)
        pixels = draw_modules(qr_modules(text, error_correct), border, fill, back)
        parent = ImageParentMetadata(f"qr_code_generator.{uuid4()}")
        return {"qr_code": WorkflowImageData(parent_metadata=parent, numpy_image=pixels)}
