"""`ClassVotes` and `VideoVotes`: what the frames of a track, and of a video, say about classes.
Know no detections and no block.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections.boxes import box_iou

MOST_TRACKS = 16384
"""Tracks of a video whose votes are remembered."""
MOST_CLASSES = 64
"""Classes that can get votes in a track; the first that are seen."""
MOST_LOST = 512
"""Lost tracks, those seen last, among which a new one looks for its own."""


@dataclass(frozen=True, slots=True)
class LockOptions:
    """When classes lock; may change from frame to frame.

    Attributes:
        min_votes: votes a class needs.
        vote_confidence: confidence a detection needs to vote.
        lead_margin: votes by which the class must lead the next one.
        switch_after: votes in a row that another class needs afterwards.
        state_ttl: frames after which a track that is not seen is forgotten.
        reattach_window: frames within which a new track may go on with the votes of a lost one.
        reattach_iou: overlap of their boxes that it needs for that.
    """

    min_votes: int
    vote_confidence: float
    lead_margin: int
    switch_after: int
    state_ttl: int
    reattach_window: int
    reattach_iou: float


@dataclass(frozen=True, slots=True)
class Label:
    """A class: its name, or where detections have no names its id as text, and its id."""

    name: str
    class_id: int | None


@dataclass(slots=True)
class Tally:
    """Votes for one class and the sum of their confidences."""

    label: Label
    votes: int = 0
    confidence: float = 0.0

    def add(self, confidence: float) -> None:
        """One more vote."""
        self.votes += 1
        self.confidence += confidence


@dataclass(slots=True)
class ClassVotes:
    """The votes of one track.

    Attributes:
        locked: the class that has won.
        last_seen: frame of its last detection.
        box: (4,) xyxy of it, px.
    """

    locked: Tally | None = None
    last_seen: int = 0
    box: NDArray[np.float64] = field(default_factory=lambda: np.zeros(4))
    _tallies: dict[str, Tally] = field(default_factory=dict)
    _challenger: Tally | None = None

    def vote(self, label: Label, confidence: float, options: LockOptions) -> None:
        """Counts a detection; one that is not confident enough says nothing."""
        if not confidence >= options.vote_confidence:  # NaN is no vote either
            return
        if self.locked is None:
            self._elect(label, confidence, options)
        elif label.name == self.locked.label.name:
            self.locked.add(confidence)
            self._challenger = None
        else:
            self._challenge(label, confidence, options)

    def _elect(self, label: Label, confidence: float, options: LockOptions) -> None:
        if label.name not in self._tallies and len(self._tallies) >= MOST_CLASSES:
            return
        own = self._tallies.setdefault(label.name, Tally(label))
        own.add(confidence)
        others = (tally.votes for name, tally in self._tallies.items() if name != label.name)
        lead = own.votes - max(others, default=0)
        if own.votes >= options.min_votes and lead >= options.lead_margin:
            self.locked = own
            self._tallies = {}

    def _challenge(self, label: Label, confidence: float, options: LockOptions) -> None:
        challenger = self._challenger
        if challenger is None or challenger.label.name != label.name:
            challenger = self._challenger = Tally(label)
        challenger.add(confidence)
        if challenger.votes >= options.switch_after:
            self.locked, self._challenger = challenger, None


class VideoVotes:
    """The votes of the tracks of one video. Not safe to use from several threads at once."""

    def __init__(self) -> None:
        self._tracks: OrderedDict[int, ClassVotes] = OrderedDict()
        self._frame = 0

    def __len__(self) -> int:
        return len(self._tracks)

    def next_frame(
        self, tracks: list[int], boxes: NDArray[np.float64], options: LockOptions
    ) -> list[ClassVotes]:
        """Goes on to a frame: the votes of each of its tracks.

        Args:
            tracks: n ids.
            boxes: (n, 4) xyxy, px.
            options: as they are in this frame.
        """
        self._frame += 1
        self._forget(options.state_ttl)
        self._reattach(tracks, boxes, options)
        found = []
        for track, box in zip(tracks, boxes, strict=True):
            votes = self._tracks.setdefault(track, ClassVotes())
            votes.last_seen, votes.box = self._frame, box
            self._tracks.move_to_end(track)
            found.append(votes)
        while len(self._tracks) > MOST_TRACKS:
            self._tracks.popitem(last=False)
        return found

    def _forget(self, state_ttl: int) -> None:
        # The one seen longest ago is the first.
        while self._tracks:
            track, votes = next(iter(self._tracks.items()))
            if self._frame - votes.last_seen <= state_ttl:
                return
            del self._tracks[track]

    def _reattach(
        self, tracks: list[int], boxes: NDArray[np.float64], options: LockOptions
    ) -> None:
        """Gives new tracks the votes of lost ones whose class is locked and whose box they have
        come to, the best overlaps first.
        """
        new = [row for row, track in enumerate(tracks) if track not in self._tracks]
        lost = self._lost(set(tracks), options.reattach_window) if new else []
        if not lost:
            return
        overlaps = box_iou(boxes[new], np.stack([self._tracks[track].box for track in lost]))
        for place in np.argsort(-overlaps, axis=None, kind="stable"):
            one, other = np.unravel_index(place, overlaps.shape)
            if not overlaps[one, other] >= options.reattach_iou:
                return
            track, before = tracks[new[one]], lost[other]
            if before in self._tracks and track not in self._tracks:
                self._tracks[track] = self._tracks.pop(before)

    def _lost(self, present: set[int], window: int) -> list[int]:
        """Lost tracks with a locked class, those seen last first."""
        found: list[int] = []
        for track, votes in reversed(self._tracks.items()):
            if len(found) == MOST_LOST or self._frame - votes.last_seen > window:
                break
            if votes.locked is not None and track not in present:
                found.append(track)
        return found
