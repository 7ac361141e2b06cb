"""Pictures into videos."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.workflows.video.test_streams import play
from tests.workflows.video.video_files import picture
from workflows.video import writer
from workflows.video.errors import VideoWriterError
from workflows.video.sources import source_of
from workflows.video.writer import VideoWriter, check_suffix


def written(path: Path) -> tuple[list[np.ndarray], list[float | None]]:
    """Pictures and times of a video."""
    pictures, times, lost = play(source_of(path).open())
    assert lost == []
    return pictures, times


class TestVideoWriter:
    @pytest.mark.parametrize("suffix", [".mp4", ".mov", ".m4v", ".mkv", ".avi", ".webm", ".MP4"])
    def test_every_container_gives_the_pictures_back(self, tmp_path: Path, suffix: str) -> None:
        """Eight pictures at 20 a second come back in order and in time."""
        path = tmp_path / f"out{suffix}"
        made = VideoWriter(path, 20.0)
        for number in range(8):
            made.write(picture(number), number / 20)
        made.close()
        pictures, times = written(path)
        assert times == pytest.approx([n / 20 for n in range(8)], abs=0.002)
        for number, pixels in enumerate(pictures):
            assert np.abs(pixels.astype(int) - picture(number)).mean() < 8

    @pytest.mark.parametrize(
        ("size", "expected"), [((63, 65), (64, 66)), ((64, 64), (64, 64)), ((1, 1), (16, 16))]
    )
    def test_odd_and_tiny_sizes_are_padded(
        self, tmp_path: Path, size: tuple[int, int], expected: tuple[int, int]
    ) -> None:
        """Encoders take even sizes; the last row and column are repeated."""
        path = tmp_path / "out.mp4"
        made = VideoWriter(path, 30.0)
        made.write(np.full((*size, 3), 200, np.uint8), 0.0)
        made.close()
        [pixels], _ = written(path)
        assert pixels.shape[:2] == expected
        assert pixels.min() > 180

    def test_pictures_of_another_size_are_fitted_in(self, tmp_path: Path) -> None:
        """A higher picture keeps its shape between black bars, and a note says so once."""
        notes: list[str] = []
        path = tmp_path / "out.mp4"
        made = VideoWriter(path, 30.0, notes.append)
        made.write(np.full((64, 96, 3), 200, np.uint8), 0.0)
        made.write(np.full((128, 64, 3), 200, np.uint8), 1 / 30)
        made.close()
        pictures, _ = written(path)
        assert [pixels.shape for pixels in pictures] == [(64, 96, 3)] * 2
        assert pictures[1][:, 40:56].min() > 150  # 128x64 becomes 64x32 in the middle
        assert pictures[1][:, :24].max() < 60
        assert pictures[1][:, 72:].max() < 60
        assert notes == ["out.mp4: pictures of 64x128 px were fitted into 96x64 px"]

    def test_gray_pictures_are_written(self, tmp_path: Path) -> None:
        """(h, w) is a picture too."""
        path = tmp_path / "out.mp4"
        made = VideoWriter(path, None)
        made.write(np.full((32, 32), 120, np.uint8), 0.0)
        made.close()
        [pixels], _ = written(path)
        assert abs(int(pixels.mean()) - 120) < 4

    def test_pictures_keep_their_time_when_some_are_missing(self, tmp_path: Path) -> None:
        """A gap of a second stays a second; a picture that comes too early moves on one tick."""
        path = tmp_path / "out.mp4"
        made = VideoWriter(path, 10.0)
        for position in (0.0, 0.1, 1.1, 1.1, 1.3):
            made.write(picture(1), position)
        made.close()
        assert written(path)[1] == pytest.approx([0.0, 0.1, 1.1, 1.2, 1.3])

    @pytest.mark.parametrize("fps", [1e-3, 1e-9, 5e-324])
    def test_the_slowest_rates_have_a_grid(self, tmp_path: Path, fps: float) -> None:
        """A picture an hour is written like any other."""
        path = tmp_path / "out.mp4"
        made = VideoWriter(path, fps)
        made.write(picture(1), 0.0)
        made.write(picture(2), 3600.0)
        made.close()
        assert written(path)[1] == pytest.approx([0.0, 3600.0], abs=1001 / 2)

    @pytest.mark.parametrize("fps", [None, 0.0, 5000.0, 1000 / 3])
    def test_a_rate_that_cannot_be_is_replaced(self, tmp_path: Path, fps: float | None) -> None:
        """The usual 30 a second serve as the grid."""
        path = tmp_path / "out.mp4"
        made = VideoWriter(path, fps)
        made.write(picture(1), 0.0)
        made.write(picture(1), 1.0)
        made.close()
        assert written(path)[1] == pytest.approx([0.0, 1.0])

    def test_another_encoder_is_used_and_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where the first is missing the second writes, and a note says which."""
        missing = ("no_such_encoder", dict[str, str]())
        monkeypatch.setitem(writer._ENCODERS, ".mp4", (missing, writer._MPEG4))
        notes: list[str] = []
        path = tmp_path / "out.mp4"
        made = VideoWriter(path, 30.0, notes.append)
        made.write(picture(3), 0.0)
        made.close()
        assert len(written(path)[0]) == 1
        assert notes[0].startswith("out.mp4: encoded with mpeg4, not no_such_encoder (")

    def test_no_encoder_at_all_is_an_error_and_leaves_no_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The message names what was tried."""
        monkeypatch.setitem(writer._ENCODERS, ".mp4", (("nope", dict[str, str]()),))
        path = tmp_path / "out.mp4"
        with pytest.raises(VideoWriterError, match=r"No encoder takes .* nope"):
            VideoWriter(path, 30.0).write(picture(1), 0.0)
        assert not path.exists()

    def test_without_encoder_the_old_video_stays(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What cannot be written replaces nothing."""
        monkeypatch.setitem(writer._ENCODERS, ".mp4", (("nope", dict[str, str]()),))
        path = tmp_path / "out.mp4"
        path.write_bytes(b"old")
        with pytest.raises(VideoWriterError, match="No encoder takes"):
            VideoWriter(path, 30.0).write(picture(1), 0.0)
        assert path.read_bytes() == b"old"

    def test_a_folder_that_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        """The message names the file."""
        with pytest.raises(VideoWriterError, match=r"no/out\.mp4' cannot be written: No such file"):
            VideoWriter(tmp_path / "no" / "out.mp4", 30.0).write(picture(1), 0.0)

    def test_without_pictures_no_file_is_made(self, tmp_path: Path) -> None:
        """Closing twice is harmless."""
        made = VideoWriter(tmp_path / "out.mp4", 30.0)
        made.close()
        made.close()
        assert list(tmp_path.iterdir()) == []


class TestCheckSuffix:
    @pytest.mark.parametrize("name", ["out", "out.txt", ".mp4"])
    def test_unknown_suffixes_are_refused(self, name: str) -> None:
        """The message lists what is known."""
        with pytest.raises(VideoWriterError, match=r"known are \.mp4"):
            check_suffix(Path(name))
