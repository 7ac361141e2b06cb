"""What the routes take: the JSON objects of requests as pydantic models. Members that are not named
here are left alone: clients of other servers send more than this one needs.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

_KEY = Field(None, description="API key; the header `Authorization: Bearer` works as well.")


class RequestBody(BaseModel):
    """Base of all bodies."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=())

    api_key: str | None = _KEY


class RunOptions(RequestBody):
    """What both ways to run a workflow take."""

    inputs: dict[str, Any] = Field(
        default_factory=dict, description="Values of the workflow's inputs by name."
    )
    excluded_fields: list[str] | None = Field(
        None, description="Outputs to leave out of the answer; they are not serialised at all."
    )
    enable_profiling: bool = Field(False, description="Give the Chrome trace of the run.")
    debug: bool = Field(
        False,
        description="Taken from clients of other servers, without effect: it asks for what custom "
        "Python blocks wrote, and this server runs none.",
    )
    disable_sinks: bool = Field(False, description="Let steps that send data do nothing.")
    lossless: bool = Field(
        False, description="Give images as PNG and masks as RLE, for clients that decode them."
    )
    inner_workflow_dispatch_depth: int = Field(
        0, ge=0, description="How deep this run lies in runs of other servers."
    )
    workflow_id: str | None = Field(None, description="Id for logs, where a definition has none.")
    lock: dict[str, Any] | None = Field(
        None,
        description="Content of a lock file: the run is refused with 409 when anything differs "
        "from it. The answer then has `lock_digest`, so that a client knows it was checked.",
    )


class RunSpecification(RunOptions):
    """POST /workflows/run."""

    specification: dict[str, Any] = Field(description="The workflow definition.")
    is_preview: bool = Field(False, description="Noted in the profile of the run.")


class RunStored(RunOptions):
    """POST /{workspace}/workflows/{workflow_id}."""

    use_cache: bool = Field(
        True, description="Stored workflows are read again whenever they change, whatever this is."
    )
    workflow_version_id: str | None = Field(None, description="Version of the stored workflow.")


class DescribeSpecification(RequestBody):
    """Bodies of the describe routes for a workflow sent along."""

    specification: dict[str, Any] = Field(description="The workflow definition.")


class CheckSpecification(DescribeSpecification):
    """POST /workflows/definition/check."""

    inputs: dict[str, Any] = Field(
        default_factory=dict, description="Values of inputs that name models."
    )


class DescribeStored(RequestBody):
    """Bodies of the describe routes for a stored workflow."""

    use_cache: bool = Field(True, description="Has no effect: changes are seen at once.")
    workflow_version_id: str | None = Field(None, description="Version of the stored workflow.")


class DescribeBlocks(RequestBody):
    """POST /workflows/blocks/describe."""

    dynamic_blocks_definitions: list[dict[str, Any]] = Field(
        default_factory=list, description="Custom Python blocks to describe along with the others."
    )
    execution_engine_version: str | None = Field(
        None, description="Only blocks that work with this engine version."
    )


class InferModel(RequestBody):
    """POST /infer/..."""

    model_id: str = Field(description="Id of the model: name/version, or an alias.")
    image: Any = Field(description='`{"type": "base64", "value": "..."}`, or a list of them.')
    id: str | None = Field(None, description="Id of the call, given back as `inference_id`.")
    confidence: float | str | None = Field(None, description="Lowest score, 0..1.")
    iou_threshold: float | None = Field(None, description="Overlap that counts as one, 0..1.")
    max_detections: int | None = Field(None, description="Most results of an image.")
    max_candidates: int | None = Field(None, description="Most boxes before suppression.")
    class_filter: list[str] | None = Field(None, description="Classes to report.")
    class_agnostic_nms: bool | None = Field(
        None, description="Whether boxes of different classes suppress each other."
    )
    keypoint_confidence: float | None = Field(None, description="Lowest score of a point, 0..1.")
    mask_decode_mode: str | None = Field(None, description="accurate, fast or tradeoff.")
    tradeoff_factor: float | None = Field(None, description="Factor of the mode tradeoff, 0..1.")
    response_mask_format: str | None = Field(None, description="polygon or rle.")
    allow_reduced_mask_resolution: bool = Field(
        False, description="Take masks on a grid smaller than the image."
    )
    disable_preproc_static_crop: bool | None = Field(None, description="Look at the whole image.")
    disable_preproc_grayscale: bool | None = Field(None, description="Keep the colours.")
    disable_preproc_contrast: bool | None = Field(None, description="Leave the contrast.")
    disable_preproc_auto_orient: bool | None = Field(
        None, description="Not part of this build: images are always turned upright."
    )
    visualize_predictions: bool | None = Field(None, description="Not part of this build.")
    include_anomaly_map: bool | None = Field(None, description="Not part of this build.")


class AddModel(RequestBody):
    """POST /model/add."""

    model_id: str = Field(description="Id of a model in one of the folders of models.")
    model_type: str | None = Field(None, description="Task the model must have.")


class RemoveModel(RequestBody):
    """POST /model/remove."""

    model_id: str = Field(description="Id of the model to take out of memory.")
