"""Camera Calibration, version 1. The maths is in `undistortion`."""

from __future__ import annotations

from typing import Literal

import cv2
from pydantic import ConfigDict, Field

from blocks.classical_cv.image_manifest import ImageInputManifest
from blocks.transformations.camera_calibration.undistortion import (
    Camera,
    Maps,
    camera_of,
    check_size,
    fisheye_maps,
    pinhole_maps,
)
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import BOOLEAN_KIND, FLOAT_KIND, IMAGE_KIND

_Number = float | Selector(kind=[FLOAT_KIND]) | None
_Key = tuple[Camera, int, int, bool]


class CameraCalibrationManifest(ImageInputManifest):
    """Fields of a Camera Calibration step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Camera Calibration",
            "version": "v1",
            "short_description": "Takes the distortion of a lens out of an image.",
            "long_description": (
                "Makes straight what a lens has bent, with the focal lengths, the centre and the "
                "coefficients that a calibration of the camera gave. All pixels of the image stay "
                "in view and what is beyond them is black. With `use_fisheye_model` the lens "
                "follows the division model: `k1`, `k2` and `k3` are its coefficients, `p1` and "
                "`p2` have no effect, and the image keeps its scale in the centre."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["undistort", "lens", "barrel", "fisheye", "intrinsics"],
        }
    )
    type: Literal["roboflow_core/camera-calibration@v1"]
    fx: _Number = Field(
        title="fx", description="Focal length along x, px.", examples=[1250.5, "$inputs.fx"]
    )
    fy: _Number = Field(
        title="fy", description="Focal length along y, px.", examples=[1250.5, "$inputs.fy"]
    )
    cx: _Number = Field(
        title="cx", description="Optical centre along x, px.", examples=[960.0, "$inputs.cx"]
    )
    cy: _Number = Field(
        title="cy", description="Optical centre along y, px.", examples=[540.0, "$inputs.cy"]
    )
    k1: _Number = Field(
        title="k1", description="First radial coefficient.", examples=[-0.2, "$inputs.k1"]
    )
    k2: _Number = Field(
        title="k2", description="Second radial coefficient.", examples=[0.05, "$inputs.k2"]
    )
    k3: _Number = Field(
        title="k3", description="Third radial coefficient.", examples=[0.0, "$inputs.k3"]
    )
    p1: _Number = Field(
        title="p1", description="First tangential coefficient.", examples=[0.001, "$inputs.p1"]
    )
    p2: _Number = Field(
        title="p2", description="Second tangential coefficient.", examples=[-0.001, "$inputs.p2"]
    )
    use_fisheye_model: bool | Selector(kind=[BOOLEAN_KIND]) | None = Field(
        default=False,
        title="Use Fisheye Model",
        description="Whether the coefficients are those of the division model for fisheye lenses.",
        examples=[True, "$inputs.use_fisheye_model"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The straight image."""
        return [OutputDefinition("calibrated_image", [IMAGE_KIND])]


class CameraCalibrationBlockV1(WorkflowBlock):
    """Takes the distortion of a lens out of images; the maps of the last lens are kept."""

    returns_futures = False

    def __init__(self) -> None:
        # One pair, replaced whole: frames of a video have one lens and one size.
        self._last: tuple[_Key, Maps] | None = None

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return CameraCalibrationManifest

    def run(
        self,
        image: WorkflowImageData,
        fx: float | None,
        fy: float | None,
        cx: float | None,
        cy: float | None,
        k1: float | None,
        k2: float | None,
        k3: float | None,
        p1: float | None,
        p2: float | None,
        use_fisheye_model: bool | None,
    ) -> BlockResult:
        """`calibrated_image`: uint8 of the input's shape. No value for a coefficient counts as 0.

        Raises:
            InvalidFieldValueError: a focal length or the centre is missing, or a number is out of
                range.
        """
        camera = camera_of(fx=fx, fy=fy, cx=cx, cy=cy, k1=k1, k2=k2, k3=k3, p1=p1, p2=p2)
        pixels = image.numpy_image
        first, second = self._maps((camera, *pixels.shape[:2], bool(use_fisheye_model)))
        straight = cv2.remap(pixels, first, second, cv2.INTER_LINEAR)
        return {"calibrated_image": WorkflowImageData.copy_and_replace(image, numpy_image=straight)}

    def _maps(self, key: _Key) -> Maps:
        last = self._last
        if last is not None and last[0] == key:
            return last[1]
        camera, height, width, is_fisheye = key
        check_size(height, width)
        make = fisheye_maps if is_fisheye else pinhole_maps
        maps = make(camera, height, width)
        self._last = (key, maps)
        return maps
