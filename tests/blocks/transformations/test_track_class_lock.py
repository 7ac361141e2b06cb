"""Classes of tracks that do not flicker."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from blocks.kinds.detections.columns import with_columns
from blocks.transformations.track_class_lock import class_votes
from blocks.transformations.track_class_lock.class_votes import LockOptions, VideoVotes
from blocks.transformations.track_class_lock.v1 import (
    TrackClassLockBlockV1,
    TrackClassLockManifest,
)
from tests.blocks.analytics.video_frames import frame, tracked
from tests.blocks.detection_sets import MASK_FORMS, MaskForm, some

BOX = [10.0, 10.0, 50.0, 50.0]
USUAL = {
    "min_votes": 3,
    "vote_confidence": 0.5,
    "lead_margin": 1,
    "switch_after": 4,
    "state_ttl": 20,
    "reattach_window": 5,
    "reattach_iou": 0.3,
}
IDS = {"cat": 0, "dog": 1, "große Katze": 2}


def seen(
    *names: str, score: float = 0.9, track: int = 7, boxes: list[list[float]] | None = None
) -> Any:
    """Detections of tracks from `track` on, all in one place."""
    places = {track + row: (boxes[row] if boxes else BOX) for row in range(len(names))}
    rows = tracked(places, names=list(names), scores=[score] * len(names))
    return with_columns(rows, {"class_id": np.array([IDS[name] for name in names], np.int64)})


class Run:
    """A block and its options, frame after frame."""

    def __init__(self, **options: Any) -> None:
        self.block = TrackClassLockBlockV1()
        self.options = {**USUAL, **options}
        self._number = 0

    def __call__(self, rows: Any, video: str = "v") -> Any:
        self._number += 1
        result: Any = self.block.run(frame(self._number, video), rows, **self.options)
        return result["tracked_detections"]

    def times(self, count: int, *names: str, **options: Any) -> Any:
        """The last of some frames that show the same."""
        for _ in range(count):
            result = self(seen(*names, **options))
        return result


def label(rows: Any, row: int = 0) -> tuple[str, int, bool]:
    """Name, id and flag of a row."""
    return (
        str(rows.data["class_name"][row]),
        int(rows.class_id[row]),
        bool(rows.data["class_locked"][row]),
    )


class TestTrackClassLock:
    def test_a_class_locks_with_enough_votes(self) -> None:
        """In the frame of the last vote; afterwards other frames get it, with its confidence."""
        run = Run()
        assert label(run.times(2, "cat")) == ("cat", 0, False)
        assert label(run.times(1, "cat", score=0.6)) == ("cat", 0, True)
        locked = run(seen("dog", score=0.95))
        assert label(locked) == ("cat", 0, True)
        assert locked.confidence == pytest.approx([(0.9 + 0.9 + 0.6) / 3])

    def test_uncertain_detections_have_no_vote(self) -> None:
        """Neither for a class nor against it."""
        run = Run()
        assert label(run.times(9, "cat", score=0.4)) == ("cat", 0, False)
        run.times(3, "cat")
        run.times(3, "dog")
        assert label(run.times(1, "cat", score=0.4)) == ("cat", 0, True)
        assert label(run.times(1, "dog")) == ("dog", 1, True)

    def test_a_class_must_lead(self) -> None:
        """By the margin over the next one."""
        run = Run(lead_margin=2)
        for _ in range(5):
            run(seen("cat"))
            last = run(seen("dog"))
        assert label(last) == ("dog", 1, False)
        assert label(run.times(1, "cat"))[2] is False
        assert label(run.times(1, "cat")) == ("cat", 0, True)

    def test_only_votes_in_a_row_replace_it(self) -> None:
        """A broken row counts for nothing; the new confidence is that of the row."""
        run = Run()
        run.times(3, "cat")
        run.times(3, "dog")
        run.times(1, "cat")
        assert label(run.times(3, "dog", score=0.7)) == ("cat", 0, True)
        switched = run.times(1, "dog", score=0.7)
        assert label(switched) == ("dog", 1, True)
        assert switched.confidence == pytest.approx([0.7])

    @settings(max_examples=100, deadline=None)
    @given(
        st.lists(st.tuples(st.sampled_from(sorted(IDS)), st.sampled_from([0.4, 0.75])), min_size=1),
        st.integers(1, 4),
        st.integers(0, 3),
        st.integers(1, 4),
    )
    def test_against_the_history(
        self, history: list[tuple[str, float]], votes: int, margin: int, switch: int
    ) -> None:
        """The rules, applied to the list of all votes at each frame anew."""
        run = Run(min_votes=votes, lead_margin=margin, switch_after=switch)
        cast: list[str] = []
        since, locked = 0, None
        for name, score in history:
            if score >= USUAL["vote_confidence"]:
                cast.append(name)
                if locked is None:
                    counts = Counter(cast)
                    for one in counts:
                        others = [counts[other] for other in counts if other != one]
                        lead = counts[one] - max(others, default=0)
                        if counts[one] >= votes and lead >= margin:
                            locked, since = one, len(cast)
                elif name != locked and cast[since:][-switch:] == [name] * switch:
                    locked, since = name, len(cast)
            assert label(run(seen(name, score=score))) == (
                locked or name,
                IDS[locked or name],
                locked is not None,
            )

    def test_long_names_are_whole(self) -> None:
        """In frames whose own names are shorter."""
        run = Run()
        run.times(3, "große Katze")
        assert label(run(seen("cat"))) == ("große Katze", 2, True)

    def test_a_new_track_goes_on_with_a_lost_one(self) -> None:
        """Where it was lost, within the window, and with its votes."""
        run = Run()
        run.times(3, "cat")
        for _ in range(4):
            run(some([]))
        found = run(seen("dog", track=8))
        assert label(found) == ("cat", 0, True)
        assert found.confidence == pytest.approx([0.9])
        assert label(run.times(3, "dog", track=8)) == ("dog", 1, True)

    @pytest.mark.parametrize(
        ("gap", "box", "options"),
        [
            (5, BOX, {}),
            (1, [40, 40, 80, 80], {}),
            (1, BOX, {"reattach_window": 0}),
            (21, BOX, {"reattach_window": 20}),
        ],
    )
    def test_too_late_too_far_or_turned_off(
        self, gap: int, box: list[float], options: dict[str, Any]
    ) -> None:
        """The new track starts from nothing."""
        run = Run(**options)
        run.times(3, "cat")
        for _ in range(gap):
            run(some([]))
        assert label(run(seen("dog", track=8, boxes=[box]))) == ("dog", 1, False)

    def test_tracks_in_the_frame_keep_their_class(self) -> None:
        """A second object in the same place has its own votes."""
        run = Run()
        run.times(3, "cat")
        both = run(seen("cat", "dog"))
        assert (label(both), label(both, 1)) == (("cat", 0, True), ("dog", 1, False))

    def test_the_best_overlaps_first(self) -> None:
        """Of two new tracks each takes the lost one it covers best, none is taken twice."""
        run = Run()
        left, right = [0.0, 0, 40, 40], [10.0, 0, 50, 40]
        run.times(3, "cat", "dog", boxes=[left, right])
        found = run(seen("große Katze", "große Katze", track=9, boxes=[[9, 0, 49, 40], left]))
        assert [label(found, row)[0] for row in range(2)] == ["dog", "cat"]
        other = run(seen("große Katze", track=20, boxes=[[0, 60, 40, 100]]))
        assert label(other) == ("große Katze", 2, False)

    def test_tracks_are_forgotten(self) -> None:
        """After `state_ttl` frames without them."""
        run = Run(state_ttl=6)
        run.times(3, "cat")
        for _ in range(5):
            run(some([]))
        assert label(run(seen("dog"))) == ("cat", 0, True)
        for _ in range(6):
            run(some([]))
        assert label(run(seen("dog"))) == ("dog", 1, False)

    def test_videos_vote_by_themselves(self) -> None:
        """The same track id in two videos is two objects."""
        run = Run()
        run.times(3, "cat")
        assert label(run(seen("dog"), "other")) == ("dog", 1, False)

    def test_unconfirmed_tracks_have_no_class(self) -> None:
        """Several objects share the id -1."""
        run = Run()
        assert label(run.times(5, "cat", track=-1))[2] is False

    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_everything_else_stays(self, form: MaskForm) -> None:
        """Boxes, masks and other columns; the input is not written."""
        run = Run(min_votes=1)
        run.times(1, "cat")
        rows = tracked({7: BOX}, names=["dog"], form=form)
        rows.xyxy.flags.writeable = rows.confidence.flags.writeable = False
        found = run(rows)
        assert rows.data["class_name"].tolist() == ["dog"]
        assert "class_locked" not in rows.data
        assert found.data["class_name"].tolist() == ["cat"]
        assert found.mask is rows.mask
        assert found.data["detection_id"].tolist() == rows.data["detection_id"].tolist()

    @pytest.mark.parametrize("column", ["confidence", "class_id", "class_name"])
    def test_detections_that_lack_a_column(self, column: str) -> None:
        """Without confidence each has a full vote; name or id alone tells the class."""
        run = Run()
        rows = seen("cat", score=1.0)
        if column == "class_name":
            del rows.data["class_name"]
        else:
            rows = with_columns(rows, {column: None})
        for _ in range(3):
            found = run(rows)
        assert found.data["class_locked"].tolist() == [True]
        assert found.confidence.tolist() == [1.0]
        assert (found.class_id is None) == (column == "class_id")
        assert ("class_name" in found.data) == (column != "class_name")

    def test_without_any_class(self) -> None:
        """Nothing locks."""
        rows = with_columns(seen("cat"), {"class_id": None})
        del rows.data["class_name"]
        run = Run(min_votes=1)
        assert run(rows).data["class_locked"].tolist() == [False]

    def test_no_rows(self) -> None:
        """An empty flag, also without ids."""
        assert Run()(some([])).data["class_locked"].shape == (0,)

    def test_untracked_detections_are_an_error(self) -> None:
        """The message says what is missing."""
        with pytest.raises(ValueError, match="put a tracker"):
            Run()(some([BOX]))

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("min_votes", 0), ("min_votes", 1.5), ("vote_confidence", 1.1), ("lead_margin", -1),
            ("switch_after", 0), ("state_ttl", 0), ("reattach_window", -1),
            ("reattach_window", 21), ("reattach_iou", -0.1),
        ],
    )  # fmt: skip
    def test_numbers_out_of_range(self, field: str, value: float) -> None:
        """Refused when the workflow is read, and when a parameter brings them."""
        with pytest.raises(ValueError, match=f"`{field}` must be"):
            Run(**{field: value})(seen("cat"))
        step = {"type": "roboflow_core/track_class_lock@v1", "name": "s", "image": "$inputs.i",
                "detections": "$steps.t.tracked", "state_ttl": 20}  # fmt: skip
        TrackClassLockManifest.model_validate(step | {"reattach_window": "$inputs.w"})
        with pytest.raises(ValidationError, match=field):
            TrackClassLockManifest.model_validate(step | {"reattach_window": 5, field: value})


class TestVideoVotes:
    def test_the_memory_of_tracks_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The tracks seen longest ago are forgotten."""
        monkeypatch.setattr(class_votes, "MOST_TRACKS", 10)
        votes = VideoVotes()
        options = LockOptions(1, 0.0, 0, 1, 10**9, 0, 0.5)
        for track in range(40):
            votes.next_frame([track], np.array([BOX]), options)
        assert len(votes) == 10

    def test_the_search_among_lost_tracks_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Those seen last are looked at."""
        monkeypatch.setattr(class_votes, "MOST_LOST", 2)
        run = Run(min_votes=1, lead_margin=0)
        run(seen("cat", "dog", "große Katze"))
        found = run(seen("cat", "cat", "cat", track=20))
        assert [label(found, row)[0] for row in range(3)] == ["große Katze", "dog", "cat"]


class TestClassVotes:
    def test_the_memory_of_classes_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A class that comes too late has no votes; the others go on."""
        monkeypatch.setattr(class_votes, "MOST_CLASSES", 2)
        run = Run(lead_margin=0)
        run.times(1, "cat")
        run.times(1, "dog")
        assert label(run.times(5, "große Katze"))[2] is False
        assert label(run.times(2, "dog")) == ("dog", 1, True)
