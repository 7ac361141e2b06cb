from __future__ import annotations

from blocks.per_video import PerVideo


class TestPerVideo:
    def test_replace_if(self) -> None:
        """The condition sees what is stored, None at first, and decides."""
        state: PerVideo[int] = PerVideo()
        seen: list[int | None] = []

        def grows(stored: int | None) -> bool:
            seen.append(stored)
            return stored is None or stored < 5

        assert state.replace_if("a", 5, grows) is True
        assert state.replace_if("a", 4, grows) is False
        assert seen == [None, 5]
        assert state.get("a") == 5

    def test_get_or_make(self) -> None:
        """A value is made once a video, and counts as used when it is asked for."""
        state: PerVideo[list[int]] = PerVideo(max_videos=2)
        first = state.get_or_make("a", list)
        state.get_or_make("b", list)
        assert state.get_or_make("a", list) is first
        state.get_or_make("c", list)
        assert [state.get(video) is None for video in ("a", "b", "c")] == [False, True, False]

    def test_is_bounded(self) -> None:
        """The video that was not used for longest is forgotten."""
        state: PerVideo[int] = PerVideo(max_videos=2)
        for video in ("a", "b"):
            state.set(video, 1)
        state.get("a")
        state.set("c", 1)
        assert [state.get(v) for v in ("a", "b", "c")] == [1, None, 1]
        assert len(state) == 2
