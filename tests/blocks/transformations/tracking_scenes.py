"""Scenes of boxes whose identities are known, and what trackers make of them. Tests nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from blocks.transformations.trackers_botsort.bot_sort import BotSort, BotSortOptions
from blocks.transformations.trackers_bytetrack.two_stage import TwoStageByteTrack, TwoStageOptions
from blocks.transformations.trackers_ocsort.oc_sort import OcSort, OcSortOptions
from blocks.transformations.trackers_sort.sort import Sort, SortOptions

# (x, y) or (x, y, score) of the centres of boxes of 40 x 40 px.
Places = Sequence[Sequence[float]]


class Kind(NamedTuple):
    """A tracker and its options."""

    tracker: type[Any]
    options: type[Any]
    frames: int
    """Frames in which an object must be seen before it gets an id."""


KINDS = {
    "sort": Kind(Sort, SortOptions, 3),
    "bytetrack": Kind(TwoStageByteTrack, TwoStageOptions, 2),
    "ocsort": Kind(OcSort, OcSortOptions, 3),
    "botsort": Kind(BotSort, BotSortOptions, 2),
}


def box(x: float, y: float, size: float = 40) -> list[float]:
    """A box around a centre."""
    return [x - size / 2, y - size / 2, x + size / 2, y + size / 2]


def ids(kind: str, frames: Sequence[Places], **options: Any) -> list[list[int]]:
    """The ids that a tracker gives, frame by frame."""
    tracker = KINDS[kind].tracker()
    found = []
    for places in frames:
        boxes = np.array([box(*place[:2]) for place in places]).reshape(-1, 4)
        scores = np.array([place[2] if len(place) > 2 else 0.9 for place in places])
        found.append(tracker.update(boxes, scores, KINDS[kind].options(**options)).tolist())
    return found


class World(NamedTuple):
    """Boxes (n, 4) xyxy, scores (n,) and the objects (n,) they show, frame by frame."""

    boxes: list[np.ndarray]
    scores: list[np.ndarray]
    objects: list[np.ndarray]


def a_world(seed: int, *, objects: int = 12, frames: int = 80, hidden: float = 0.05) -> World:
    """Objects of various sizes that walk on lanes of their own, some each way, with noise in their
    boxes, in changing order, each hidden in some frames.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(30, 90, (objects, 2))
    speeds = rng.uniform(2, 7, objects) * rng.choice([-1, 1], objects)
    starts = rng.uniform(300, 600, objects)
    lanes = 100 * np.arange(objects) + 60
    world = World([], [], [])
    for frame in range(frames):
        shown = rng.permutation(np.flatnonzero(rng.random(objects) >= hidden))
        centres = np.column_stack([starts + speeds * frame, lanes])[shown]
        corners = np.hstack([centres - sizes[shown] / 2, centres + sizes[shown] / 2])
        world.boxes.append(corners + rng.normal(0, 1, corners.shape))
        world.scores.append(rng.uniform(0.75, 0.95, len(shown)))
        world.objects.append(shown)
    return world


def ids_of_objects(tracker: Any, options: Any, world: World) -> dict[int, set[int]]:
    """The ids that each object gets in the course of time, those too young aside."""
    found: dict[int, set[int]] = {}
    for boxes, scores, objects in zip(*world, strict=True):
        given = tracker.update(boxes, scores, options)
        for name, number in zip(objects.tolist(), given.tolist(), strict=True):
            if number > 0:
                found.setdefault(name, set()).add(number)
    return found
