"""The schema of `inference_config.json`: what a network takes in and what its raw outputs need.

Only the description. Doing what it says belongs to `preprocessing` and `families`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator

ResizeMode = Literal[
    "stretch",
    "letterbox",
    "letterbox-reflect-edges",
    "center-crop",
    "fit-longer-edge",
    "fit-shorter-edge-center-crop",
]
ContrastType = Literal["Adaptive Equalization", "Contrast Stretching", "Histogram Equalization"]


class _Section(BaseModel):
    """A part of the description; a key it does not know is an error, so that no typing error is
    silent."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Switch(_Section):
    """A step that is on or off."""

    enabled: bool = False


class StaticCrop(_Section):
    """The part of the image a model looks at, in percent of its sides."""

    enabled: bool = False
    x_min: float = Field(default=0.0, ge=0, le=100)
    x_max: float = Field(default=100.0, ge=0, le=100)
    y_min: float = Field(default=0.0, ge=0, le=100)
    y_max: float = Field(default=100.0, ge=0, le=100)

    @model_validator(mode="after")
    def _edges_in_order(self) -> StaticCrop:
        if self.x_min >= self.x_max or self.y_min >= self.y_max:
            raise ValueError(
                f"the crop is empty: x {self.x_min}..{self.x_max} %, y {self.y_min}..{self.y_max} %"
            )
        return self


class Contrast(_Section):
    """Contrast enhancement of the whole image before it is resized."""

    enabled: bool = False
    type: ContrastType = "Contrast Stretching"


class ImagePreProcessing(_Section):
    """Steps on the image at its own size. Images come upright: their orientation is applied where
    they are decoded, whatever `auto_orient` says."""

    auto_orient: Switch | None = Field(default=None, alias="auto-orient")
    static_crop: StaticCrop | None = Field(default=None, alias="static-crop")
    grayscale: Switch | None = None
    contrast: Contrast | None = None


class SpatialSize(_Section):
    """Size in px."""

    height: PositiveInt
    width: PositiveInt


class PadToBeDivisible(_Section):
    """Each side may be any multiple of `value`."""

    type: Literal["pad-to-be-divisible"]
    value: PositiveInt


class AnySize(_Section):
    """Each side may be anything."""

    type: Literal["any-size"]


class NetworkInput(_Section):
    """What the network's input tensor holds.

    `scaling_factor` divides the 0-255 values first, `normalization` (means, standard deviations, in
    the network's channel order) comes second. `layout` and `dtype` are those of the tensor the
    graph takes.
    """

    training_input_size: SpatialSize | None = None
    dataset_version_resize_dimensions: SpatialSize | None = None
    dynamic_spatial_size_supported: bool = False
    dynamic_spatial_size_mode: (
        Annotated[PadToBeDivisible | AnySize, Field(discriminator="type")] | None
    ) = None
    color_mode: Literal["rgb", "bgr"] = "rgb"
    resize_mode: ResizeMode = "letterbox"
    padding_value: int | None = Field(default=None, ge=0, le=255)
    input_channels: Literal[1, 3] = 3
    scaling_factor: PositiveFloat | None = None
    normalization: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    layout: Literal["nchw", "nhwc"] = "nchw"
    dtype: Literal["float32", "float16", "uint8"] = "float32"

    @model_validator(mode="after")
    def _parts_agree(self) -> NetworkInput:
        if self.training_input_size is None and not isinstance(
            self.dynamic_spatial_size_mode, AnySize
        ):
            raise ValueError(
                "training_input_size may be missing only when dynamic_spatial_size_mode is any-size"
            )
        if self.normalization is not None:
            means, deviations = self.normalization
            if len(means) != self.input_channels or len(deviations) != self.input_channels:
                raise ValueError(
                    f"normalization has {len(means)} means and {len(deviations)} deviations for "
                    f"{self.input_channels} input channels"
                )
            if any(value == 0 for value in deviations):
                raise ValueError("a standard deviation of normalization is zero")
        if self.dtype == "uint8" and (self.scaling_factor or self.normalization):
            raise ValueError("a uint8 input takes pixels as they are: no scaling, no normalization")
        return self


class ForwardPass(_Section):
    """How many images one call of the graph takes."""

    static_batch_size: PositiveInt | None = None
    max_dynamic_batch_size: PositiveInt | None = None


class NmsParameters(_Section):
    """Values of the non-maximum suppression that is part of the graph, which applies them itself:
    they are kept for readers of the package and change nothing here."""

    max_detections: PositiveInt | None = None
    confidence_threshold: float | None = None
    iou_threshold: float | None = None
    class_agnostic: bool | None = None


class NmsPostProcessing(_Section):
    """Detections; `fused` says that the graph already suppresses overlaps and answers with final
    rows."""

    type: Literal["nms"]
    fused: bool = False
    nms_parameters: NmsParameters | None = None


class ActivationPostProcessing(_Section):
    """Class scores; `fused` says that the graph already applies the activation."""

    type: Literal["softmax", "sigmoid"]
    fused: bool = False


class ClassNameRemoval(_Section):
    """A class of the network that is no class of the model."""

    type: Literal["class_name_removal"]
    class_name: str


class InferenceConfig(_Section):
    """Everything about input and raw outputs of one network."""

    image_pre_processing: ImagePreProcessing | None = None
    network_input: NetworkInput
    forward_pass: ForwardPass = ForwardPass()
    post_processing: (
        Annotated[NmsPostProcessing | ActivationPostProcessing, Field(discriminator="type")] | None
    ) = None
    class_names_operations: tuple[ClassNameRemoval, ...] | None = None
