"""`trace_visualization@v1` and `heatmap_visualization@v1`: what they remember of each video."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import supervision as sv

from blocks.visualizations.heatmap_visualization.movement import MovingTracks
from blocks.visualizations.heatmap_visualization.v1 import MOST_VIDEOS
from execution_engine.block_api import VideoMetadata
from tests.blocks.visualizations.scenes import objects, picture, run, visualizations

BLACK = np.zeros((120, 160, 3), np.uint8)


def new(name: str) -> Any:
    return visualizations()[name]()


def moved(steps: int, tracks: tuple[int, ...] = (4, 9, 2)) -> sv.Detections:
    """The objects after so many steps of (4, 2) px."""
    detections = objects()
    detections.xyxy = detections.xyxy + np.array([4, 2, 4, 2], np.float32) * steps
    detections.tracker_id = np.array(tracks)
    return detections


def follow(block: Any, frames: list[sv.Detections], video: str = "v", **fields: Any) -> np.ndarray:
    """Picture of the last frame."""
    result = BLACK
    for detections in frames:
        result = run("trace_v1", detections, BLACK, block, video=video, **fields)
    return result


class TestTrace:
    def test_lines(self) -> None:
        """A line goes through the places of each track, in its colour."""
        result = follow(new("trace_v1"), [moved(0), moved(1), moved(4)], thickness=3)
        expected = BLACK.copy()
        for row, class_id in enumerate((0, 1, 5)):
            middles = [
                ((frame.xyxy[row, :2] + frame.xyxy[row, 2:]) / 2).astype(int)
                for frame in (moved(0), moved(1), moved(4))
            ]
            colour = sv.ColorPalette.DEFAULT.by_idx(class_id).as_bgr()
            cv2.polylines(expected, [np.array(middles)], False, colour, 3)
        assert (result == expected).all()

    def test_videos_apart(self) -> None:
        """Frames of another video do not add to a path."""
        block = new("trace_v1")
        follow(block, [moved(0), moved(1)], "a")
        assert not follow(block, [moved(9)], "b").any()
        alone = follow(new("trace_v1"), [moved(0), moved(1), moved(2)])
        assert (follow(block, [moved(2)], "a") == alone).all()

    def test_instances_apart(self) -> None:
        """Two blocks share nothing."""
        follow(new("trace_v1"), [moved(0), moved(1)])
        assert not follow(new("trace_v1"), [moved(2)]).any()

    def test_length(self) -> None:
        """Only the last frames make the line."""
        frames = [moved(steps) for steps in (0, 5, 9, 12)]
        short = follow(new("trace_v1"), frames, trace_length=2)
        assert (short == follow(new("trace_v1"), frames[2:])).all()

    def test_empty_frames_count(self) -> None:
        """Time goes on in frames without detections, which draw nothing."""
        block = new("trace_v1")
        follow(block, [moved(0), moved(1)], trace_length=2)
        assert not follow(block, [sv.Detections.empty()] * 3, trace_length=2).any()
        assert not follow(block, [moved(2)], trace_length=2).any()

    def test_unconfirmed_tracks(self) -> None:
        """Rows with track -1 are several objects and have no line."""
        frames = [moved(steps, (-1, -1, 2)) for steps in (0, 1, 2)]
        result = follow(new("trace_v1"), frames, color_axis="TRACK")
        rows = [frame[2:] for frame in frames]
        assert (result == follow(new("trace_v1"), rows, color_axis="TRACK")).all()
        assert result.any()

    def test_no_tracks(self) -> None:
        """Detections that no tracker has seen are an error that says what is missing."""
        detections = objects()
        detections.tracker_id = None
        with pytest.raises(ValueError, match="`predictions` must have tracker ids; put a tracker"):
            run("trace_v1", detections)


def heat(block: Any, frames: list[sv.Detections], video: str = "v", **fields: Any) -> np.ndarray:
    """Picture of the last frame."""
    result = picture()
    for detections in frames:
        result = run("heatmap_v1", detections, block=block, video=video, **fields)
    return result


def warm(result: np.ndarray) -> np.ndarray:
    return (result != picture()).any(axis=2)


class TestHeatmap:
    def test_as_supervision(self) -> None:
        """Without tracks, heat adds up as in supervision."""
        frames = [moved(0), moved(1), moved(5)]
        for frame in frames:
            frame.tracker_id = None
        fields = {
            "position": "CENTER", "opacity": 0.6, "radius": 12, "kernel_size": 7, "top_hue": 20,
            "low_hue": 100,
        }  # fmt: skip
        result = heat(new("heatmap_v1"), frames, **fields)
        annotator = sv.HeatMapAnnotator(sv.Position.CENTER, 0.6, 12, 7, 20, 100)
        for frame in frames:
            expected = annotator.annotate(picture(), frame)
        assert (result == expected).all()

    def test_videos_apart(self) -> None:
        """Heat of one video does not warm another; empty frames keep the heat of theirs."""
        block = new("heatmap_v1")
        shown = heat(block, [objects()], "a", ignore_stationary=False)
        assert not warm(heat(block, [sv.Detections.empty()], "b")).any()
        assert (warm(heat(block, [sv.Detections.empty()], "a")) == warm(shown)).all()

    def test_metadata(self) -> None:
        """Given video metadata say which video an image belongs to."""
        block = new("heatmap_v1")
        other = {"metadata": VideoMetadata("other")}
        for _ in range(2):
            run("heatmap_v1", objects(), block=block, inputs=other, ignore_stationary=False)
        empty = sv.Detections.empty()
        assert not warm(run("heatmap_v1", empty, block=block)).any()
        assert warm(run("heatmap_v1", empty, block=block, inputs=other)).any()

    def test_bounded(self) -> None:
        """Heat of the longest unused video is dropped first."""
        block = new("heatmap_v1")
        for number in range(MOST_VIDEOS + 1):
            heat(block, [objects()], str(number), ignore_stationary=False)
        assert len(block._heat) == MOST_VIDEOS
        assert not warm(heat(block, [sv.Detections.empty()], "0")).any()

    def test_standing_objects_are_ignored(self) -> None:
        """A track heats only after it has moved by the threshold."""
        block = new("heatmap_v1")
        assert not warm(heat(block, [moved(0)] * 5)).any()
        assert not warm(heat(block, [moved(5)], motion_threshold=25)).any()
        assert warm(heat(block, [moved(6)], motion_threshold=25)).any()
        assert warm(heat(new("heatmap_v1"), [moved(0)], ignore_stationary=False)).any()

    def test_another_size(self) -> None:
        """Heat starts anew when frames get another size."""
        block = new("heatmap_v1")
        heat(block, [objects()], ignore_stationary=False)
        small = picture(60, 80)
        result = run("heatmap_v1", sv.Detections.empty(), small, block, video="v")
        assert (result == small).all()


class TestMovingTracks:
    def test_distance_adds_up(self) -> None:
        """The distance is from where a track last counted, so that slow objects count as well."""
        tracks = MovingTracks()
        seen = [
            bool(tracks.moved(np.array([7]), np.array([[x, 0.0]]), 10)[0])
            for x in (0, 4, 8, 12, 16, 20, 22, 11)
        ]
        assert seen == [False, False, False, True, False, False, True, True]

    def test_unconfirmed(self) -> None:
        """Track -1 is no track."""
        tracks = MovingTracks()
        for x in (0.0, 100.0):
            assert not tracks.moved(np.array([-1]), np.array([[x, 0.0]]), 10).any()
        assert len(tracks) == 0

    def test_bounded(self) -> None:
        """The longest unseen track is forgotten first."""
        tracks = MovingTracks(most_tracks=2)
        for track in (1, 2, 1, 3):
            tracks.moved(np.array([track]), np.zeros((1, 2)), 10)
        far = np.full((3, 2), 50.0)
        assert tracks.moved(np.array([1, 2, 3]), far, 10).tolist() == [True, False, True]
        assert len(tracks) == 2

    def test_zero_threshold(self) -> None:
        """With threshold 0 a standing track counts from its second frame on."""
        tracks = MovingTracks()
        seen = [tracks.moved(np.array([1]), np.zeros((1, 2)), 0)[0] for _ in range(3)]
        assert seen == [False, True, True]
