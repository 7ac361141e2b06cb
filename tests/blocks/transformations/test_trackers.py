"""What SORT, ByteTrack, OC-SORT and BoT-SORT have in common: objects whose identities are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.transformations.trackers_botsort.v1 import BotSortTrackerBlockV1
from blocks.transformations.trackers_bytetrack.v1 import ByteTrackTrackerBlockV1
from blocks.transformations.trackers_ocsort.v1 import OcSortTrackerBlockV1
from blocks.transformations.trackers_sort.v1 import SortTrackerBlockV1
from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData
from execution_engine.errors import InvalidFieldValueError
from tests.blocks.detection_sets import MASK_FORMS, MaskForm, an_image, some
from tests.blocks.transformations.tracking_scenes import (
    KINDS,
    Places,
    a_world,
    box,
    ids,
    ids_of_objects,
)

IMAGE = an_image((400, 600))
BLOCKS: dict[str, type[Any]] = {
    "sort": SortTrackerBlockV1,
    "bytetrack": ByteTrackTrackerBlockV1,
    "ocsort": OcSortTrackerBlockV1,
    "botsort": BotSortTrackerBlockV1,
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def frame(number: int = 1, video: str = "v", fps: float | None = 30) -> WorkflowImageData:
    """A frame of a video."""
    return WorkflowImageData(
        ImageParentMetadata("image"),
        numpy_image=IMAGE.numpy_image,
        video_metadata=VideoMetadata(video, number, fps=fps),
    )


def step(block: Any, image: WorkflowImageData, rows: Any, **fields: Any) -> Any:
    """One run with the defaults of the manifest."""
    declared = block.get_manifest().model_fields
    own = {name for name in declared if name not in ("type", "name", "image", "detections")}
    values = {name: declared[name].default for name in own}
    return block.run(image, rows, **{**values, **fields})


@every_kind
class TestTrackers:
    @pytest.mark.parametrize("seed", range(3))
    def test_a_world_keeps_its_identities(self, kind: str, seed: int) -> None:
        """Twelve objects, noisy boxes, changing order, some hidden now and then: each object has
        one id all the time and no two share one.
        """
        tracker, options, _ = KINDS[kind]
        found = ids_of_objects(tracker(), options(), a_world(seed))
        assert len(found) == 12
        assert all(len(given) == 1 for given in found.values())
        assert set().union(*found.values()) == set(range(1, 13))

    def test_the_first_ids_come_after_some_frames(self, kind: str) -> None:
        """Not before the object was seen so often in a row; they count from 1."""
        wait = KINDS[kind].frames
        expected = [[-1, -1]] * (wait - 1) + [[1, 2]] * 3
        assert ids(kind, [[(50, 100), (200, 100)]] * (wait + 2)) == expected
        assert ids(kind, [[(50, 100)]] * 2, consecutive_frames=1) == [[1], [1]]

    def test_objects_that_pass_each_other_keep_their_ids(self, kind: str) -> None:
        """Their speeds tell them apart where the boxes overlap."""
        frames = [[(100 + 8 * n, 100), (260 - 8 * n, 118)] for n in range(21)]
        assert ids(kind, frames)[3:] == [[1, 2]] * 18

    def test_an_object_that_was_hidden_gets_its_id_back(self, kind: str) -> None:
        """Ten frames behind something, walking on."""
        frames: list[Places] = [[(50 + 4 * n, 100)] for n in range(15)]
        frames += [[]] * 10
        frames += [[(50 + 4 * n, 100)] for n in range(25, 30)]
        assert ids(kind, frames)[25:] == [[1]] * 5

    @pytest.mark.parametrize(("lost_frames", "expected"), [(8, -1), (9, 1)])
    def test_a_track_is_forgotten_after_its_time(
        self, kind: str, lost_frames: int, expected: int
    ) -> None:
        """Nine frames in which it is not seen."""
        frames: list[Places] = [[(50, 100)]] * 4 + [[]] * 9 + [[(50, 100)]]
        assert ids(kind, frames, lost_frames=lost_frames)[-1] == [expected]

    def test_a_flash_wastes_no_id(self, kind: str) -> None:
        """What is missed while young is no object."""
        frames: list[Places] = [[(50, 100)]] * 4 + [[(50, 100), (300, 100)], [(50, 100)]]
        frames += [[(50, 100), (300, 300)]] * 4
        found = ids(kind, frames)
        assert found[4:6] == [[1, -1], [1]]
        assert found[-1] == [1, 2]

    def test_far_jumps_are_other_objects(self, kind: str) -> None:
        """No overlap, no match, even when none is asked for."""
        name = "first_minimum" if kind == "botsort" else "minimum_iou"
        frames: list[Places] = [[(50, 100)]] * 4 + [[(400, 300)]] * 4
        found = ids(kind, frames, **{name: 0.0})
        assert found[3:5] == [[1], [-1]]
        assert found[-1] == [2]

    def test_a_close_pair_is_kept_before_two_poor_ones(self, kind: str) -> None:
        """One object stays, another appears beside it: the first keeps its id."""
        frames: list[Places] = [[(50, 100)]] * 5 + [[(62, 100), (50, 100)]] * 5
        found = ids(kind, frames)
        assert [row[1] for row in found[5:]] == [1] * 5

    def test_nothing_is_an_empty_integer_array(self, kind: str) -> None:
        """No detections, no special case."""
        tracker, options, _ = KINDS[kind]
        found = tracker().update(np.zeros((0, 4)), np.zeros(0), options())
        assert found.shape == (0,)
        assert found.dtype == np.int64

    def test_odd_boxes_do_no_harm(self, kind: str) -> None:
        """Not a number, no area, turned inside out, huge: the others are followed."""
        tracker, options, _ = KINDS[kind]
        own = tracker()
        boxes = [box(50, 50), [np.nan, 0, 1, 1], [5, 5, 5, 5], [90, 90, 60, 60], [0, 0, 1e300, 1]]
        with np.errstate(all="raise", under="ignore"):
            for _ in range(6):
                found = own.update([*boxes, box(200, 200)], np.full(6, 0.9), options())
        assert found[0] == 1
        assert found[1] == found[4] == -1
        assert found[5] > 0

    def test_a_crowd_is_followed(self, kind: str) -> None:
        """Two hundred objects on a grid, all moving: every id stays where it is."""
        grid = [(60 * x, 60 * y) for x in range(20) for y in range(10)]
        frames: list[Places] = [[(x + 3 * n, y + 2 * n) for x, y in grid] for n in range(8)]
        assert ids(kind, frames)[2:] == [list(range(1, 201))] * 6


@every_kind
class TestBlocks:
    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_only_tracked_rows_are_given_with_all_their_columns(
        self, kind: str, form: MaskForm
    ) -> None:
        """Also masks, in whatever form."""
        block = BLOCKS[kind]()
        rows = some([box(50, 50), box(200, 200)], IMAGE, scores=[0.9, 0.05], form=form)
        for number in range(1, 5):
            result = step(block, frame(number), rows)
        tracked = result["tracked_detections"]
        assert tracked.tracker_id.tolist() == [1]
        assert tracked.data["detection_id"].tolist() == ["d0"]
        assert (tracked.mask is None) == (rows.mask is None)
        assert rows.tracker_id is None

    def test_new_and_seen_before(self, kind: str) -> None:
        """An id is new once."""
        block = BLOCKS[kind]()
        wait = KINDS[kind].frames
        found = []
        for number in range(1, wait + 3):
            result = step(block, frame(number), some([box(50, 50)], IMAGE))
            found.append(
                tuple(
                    result[name].tracker_id.tolist()
                    for name in ("tracked_detections", "new_instances", "already_seen_instances")
                )
            )
        expected = [([], [], [])] * (wait - 1) + [([1], [1], [])] + [([1], [], [1])] * 2
        assert found == expected

    def test_few_ids_may_be_remembered(self, kind: str) -> None:
        """With a cache of one, the first of two objects is new again and again."""
        block = BLOCKS[kind]()
        rows = some([box(50, 50), box(200, 200)], IMAGE, scores=[0.9, 0.9])
        for number in range(1, 6):
            result = step(block, frame(number), rows, instances_cache_size=1)
        assert result["new_instances"].tracker_id.tolist() == [1]
        assert result["already_seen_instances"].tracker_id.tolist() == [2]

    def test_videos_are_tracked_apart(self, kind: str) -> None:
        """Ids of each count from 1, and its frames do not disturb those of another."""
        block = BLOCKS[kind]()
        for number in range(1, 5):
            one = step(block, frame(number, "a"), some([box(50, 50)], IMAGE))
            other = step(block, frame(number, "b"), some([box(300, 300)], IMAGE))
        assert one["tracked_detections"].tracker_id.tolist() == [1]
        assert other["tracked_detections"].tracker_id.tolist() == [1]

    def test_nothing_gives_empty_integer_ids(self, kind: str) -> None:
        """In all three outputs."""
        for output in step(BLOCKS[kind](), frame(), some([], IMAGE)).values():
            assert output.tracker_id.shape == (0,)
            assert np.issubdtype(output.tracker_id.dtype, np.integer)

    def test_detections_without_confidence_are_sure(self, kind: str) -> None:
        """They begin tracks."""
        block = BLOCKS[kind]()
        rows = some([box(50, 50)], IMAGE)
        rows.confidence = None
        for number in range(1, 5):
            result = step(block, frame(number), rows)
        assert result["tracked_detections"].tracker_id.tolist() == [1]

    @pytest.mark.parametrize(("fps", "empty", "expected"), [
        (10, 8, [1]), (10, 12, []), (60, 50, [1]), (None, 25, [1]), (None, 35, []),
        (0, 25, [1]), (float("nan"), 25, [1]), (1e300, 100, [1]),
    ])  # fmt: skip
    def test_the_buffer_is_in_frames_of_thirty_a_second(
        self, kind: str, fps: float | None, empty: int, expected: list[int]
    ) -> None:
        """At 10 frames a second, 30 frames are ten; no rate is 30."""
        block = BLOCKS[kind]()
        for rows in [some([box(50, 50)], IMAGE)] * 4 + [some([], IMAGE)] * empty:
            step(block, frame(fps=fps), rows)
        result = step(block, frame(fps=fps), some([box(50, 50)], IMAGE))
        assert result["tracked_detections"].tracker_id.tolist() == expected

    def test_fields_left_empty_are_the_defaults(self, kind: str) -> None:
        """None everywhere it may be."""
        numbers = {
            name: None
            for name in BLOCKS[kind].get_manifest().model_fields
            if name.startswith(("minimum", "lost", "track_", "high", "direction", "delta", "cmc_d"))
        }
        assert len(numbers) >= 4
        block = BLOCKS[kind]()
        wait = KINDS[kind].frames
        for number in range(1, wait + 1):
            result = step(block, frame(number), some([box(50, 50)], IMAGE), **numbers)
            assert len(result["tracked_detections"]) == (number == wait)

    def test_options_out_of_range_are_refused(self, kind: str) -> None:
        """Given by a parameter, where no schema has seen it; the text names the field."""
        fields = BLOCKS[kind].get_manifest().model_fields
        wrong: dict[str, Any] = {
            name: 1.5 for name in fields if name.endswith(("threshold", "assoc", "weight"))
        }
        wrong |= {"minimum_consecutive_frames": 0, "lost_track_buffer": -1}
        wrong |= {name: 0 for name in ("delta_t", "cmc_downscale") if name in fields}
        wrong["instances_cache_size"] = 0
        for name, value in wrong.items():
            with pytest.raises(InvalidFieldValueError, match=f"`{name}`"):
                step(BLOCKS[kind](), frame(), some([], IMAGE), **{name: value})
