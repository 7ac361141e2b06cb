"""Gives each tracked object one class for all frames."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import (
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationInfo,
    field_validator,
)

from blocks.analytics.tracked_anchors import tracker_ids
from blocks.kinds.detections import keys
from blocks.kinds.detections.boxes import as_boxes
from blocks.kinds.detections.columns import with_columns
from blocks.kinds.prediction_kinds import TRACKED_KINDS
from blocks.parameters import number, whole_number
from blocks.per_video import PerVideo
from blocks.transformations.track_class_lock.class_votes import (
    ClassVotes,
    Label,
    LockOptions,
    VideoVotes,
)
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    FLOAT_ZERO_TO_ONE_KIND,
    IMAGE_KIND,
    INTEGER_KIND,
)
from execution_engine.value_text import short_text

if TYPE_CHECKING:
    import supervision as sv

CLASS_LOCKED = "class_locked"
ZeroToOne = Annotated[float, Field(ge=0, le=1)]


class TrackClassLockManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Track Class Lock",
            "version": "v1",
            "short_description": "Give each tracked object one class for all frames.",
            "long_description": (
                "Stops the classes of tracked objects from flickering. Each confident detection of "
                "a track is a vote for its class. A class that has `min_votes` votes and leads the "
                "next one by `lead_margin` is locked: from then on all detections of the track get "
                "it, with the mean confidence of its votes. It is replaced only by a class that "
                "gets `switch_after` votes in a row. A new track that appears where a locked one "
                "was lost goes on with its class. The column `class_locked` says which detections "
                "have a locked class; the others stay as they are."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["flicker", "voting", "majority", "stable label", "tracking"],
        }
    )
    type: Literal["roboflow_core/track_class_lock@v1"]
    image: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="Frame that the detections were made on; it tells the video.",
        examples=["$inputs.image"],
    )
    detections: Selector(kind=[*TRACKED_KINDS]) = Field(
        title="Detections",
        description="Tracked objects.",
        examples=["$steps.tracker.tracked_detections"],
    )
    min_votes: PositiveInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=10,
        title="Minimum Votes",
        description="Votes that a class needs to be locked.",
        examples=[10],
    )
    vote_confidence: ZeroToOne | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        default=0.8,
        title="Vote Confidence",
        description="Confidence that a detection needs to vote.",
        examples=[0.8],
    )
    lead_margin: NonNegativeInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=3,
        title="Lead Margin",
        description="Votes by which a class must lead the next one to be locked.",
        examples=[3],
    )
    switch_after: PositiveInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=15,
        title="Switch After",
        description="Votes in a row with which another class takes the place of the locked one.",
        examples=[15],
    )
    state_ttl: PositiveInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=300,
        title="State TTL",
        description="Frames after which a track that is not seen is forgotten.",
        examples=[300],
    )
    reattach_window: NonNegativeInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=30,
        title="Reattach Window",
        description=(
            "Frames within which a new track may go on with the class of a lost one, at most "
            "`state_ttl`; 0 turns this off."
        ),
        examples=[30],
    )
    reattach_iou: ZeroToOne | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        default=0.3,
        title="Reattach IoU",
        description="Overlap of the boxes of a new and a lost track that takes them for one.",
        examples=[0.3],
    )

    @field_validator("reattach_window")
    @classmethod
    def _window_is_in_reach(cls, window: Any, info: ValidationInfo) -> Any:
        state_ttl = info.data.get("state_ttl")
        if isinstance(window, int) and isinstance(state_ttl, int):
            check_window(window, state_ttl)
        return window

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("tracked_detections", [*TRACKED_KINDS])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class TrackClassLockBlockV1(WorkflowBlock):
    """Counts the votes of each video by itself."""

    returns_futures = False

    def __init__(self) -> None:
        self._votes: PerVideo[VideoVotes] = PerVideo()
        self._lock = Lock()

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return TrackClassLockManifest

    def run(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        min_votes: int,
        vote_confidence: float,
        lead_margin: int,
        switch_after: int,
        state_ttl: int,
        reattach_window: int,
        reattach_iou: float,
    ) -> BlockResult:
        """`tracked_detections`: the detections with the locked classes of their tracks and the
        column `class_locked`.
        """
        options = LockOptions(
            whole_number("min_votes", min_votes, 1),
            number("vote_confidence", vote_confidence, 0, 1),
            whole_number("lead_margin", lead_margin, 0),
            whole_number("switch_after", switch_after, 1),
            whole_number("state_ttl", state_ttl, 1),
            whole_number("reattach_window", reattach_window, 0),
            number("reattach_iou", reattach_iou, 0, 1),
        )
        check_window(options.reattach_window, options.state_ttl)
        ids = tracker_ids(detections)
        labels = labels_of(detections)
        scores = detections.confidence
        confidences = np.ones(len(ids)) if scores is None else np.asarray(scores, np.float64)
        confirmed = np.flatnonzero(ids >= 0)
        boxes = as_boxes(detections.xyxy)[confirmed]
        locked: dict[int, Label] = {}
        means = confidences.copy()
        with self._lock:
            video = self._votes.get_or_make(image.video_metadata.video_identifier, VideoVotes)
            votes = video.next_frame(ids[confirmed].tolist(), boxes, options)
            for row, own in zip(confirmed.tolist(), votes, strict=True):
                label = labels[row]
                if label is not None:
                    own.vote(label, float(confidences[row]), options)
            for row, own in zip(confirmed.tolist(), votes, strict=True):
                if own.locked is not None:
                    locked[row] = own.locked.label
                    means[row] = mean_confidence(own)
        return {"tracked_detections": relabelled(detections, locked, means)}


def check_window(reattach_window: int, state_ttl: int) -> None:
    """Raises `InvalidFieldValueError` when tracks are forgotten before they can be found again."""
    if reattach_window > state_ttl:
        raise InvalidFieldValueError(
            f"Field `reattach_window` must be at most `state_ttl`, got "
            f"{short_text(reattach_window)} with {short_text(state_ttl)}."
        )


def mean_confidence(votes: ClassVotes) -> float:
    """Mean confidence of the votes for the locked class, at most 1."""
    tally = votes.locked
    return 0.0 if tally is None else min(tally.confidence / tally.votes, 1.0)


def labels_of(detections: sv.Detections) -> list[Label | None]:
    """Class of each row, None where it has neither name nor id."""
    names, class_ids = detections.data.get(keys.CLASS_NAME), detections.class_id
    ids = [None] * len(detections) if class_ids is None else class_ids.tolist()
    if names is None:
        return [None if one is None else Label(str(one), one) for one in ids]
    return [Label(str(name), one) for name, one in zip(names, ids, strict=True)]


def relabelled(
    detections: sv.Detections, locked: dict[int, Label], means: np.ndarray
) -> sv.Detections:
    """The detections with other classes in some rows.

    Args:
        detections: n rows.
        locked: classes by row; the others keep theirs.
        means: (n,) confidences.
    """
    flags = np.zeros(len(detections), dtype=bool)
    flags[list(locked)] = True
    columns: dict[str, Any] = {CLASS_LOCKED: flags}
    if locked:
        names, class_ids = detections.data.get(keys.CLASS_NAME), detections.class_id
        if names is not None:
            texts = [str(name) for name in names]
            for row, label in locked.items():
                texts[row] = label.name
            columns[keys.CLASS_NAME] = np.array(texts, dtype=str)
        if class_ids is not None:
            columns["class_id"] = class_ids.copy()
            for row, label in locked.items():
                if label.class_id is not None:
                    columns["class_id"][row] = label.class_id
        scores = detections.confidence
        columns["confidence"] = means if scores is None else means.astype(scores.dtype)
    return with_columns(detections, columns)
