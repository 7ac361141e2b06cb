"""Opened sources: files whole, turned, damaged, cut off, empty, odd."""

from __future__ import annotations

from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from tests.workflows.video.video_files import picture, turned_mp4, write_video
from workflows.video import streams
from workflows.video.errors import ConnectionLostError, FrameDecodeError, VideoSourceError
from workflows.video.sources import source_of
from workflows.video.streams import CaptureStream, ContainerStream, FrameStream


def play(stream: FrameStream) -> tuple[list[np.ndarray], list[float | None], list[str]]:
    """Pictures, timestamps and lost frames of a stream to its end."""
    pictures, times, lost = [], [], []
    while True:
        try:
            frame = stream.read()
        except FrameDecodeError as error:
            lost.append(str(error))
            continue
        if frame is None:
            stream.close()
            return pictures, times, lost
        pictures.append(frame.image)
        times.append(frame.seconds)


def packets_of(path: Path) -> list[tuple[int, int]]:
    """Place and length of the packets of a video file, bytes."""
    with av.open(str(path)) as container:
        return [(packet.pos, packet.size) for packet in container.demux(video=0) if packet.size > 0]


def damaged(path: Path, *numbers: int) -> Path:
    """The file with the content of some packets replaced by noise."""
    content = bytearray(path.read_bytes())
    noise = np.random.default_rng(0)
    places = packets_of(path)
    for number in numbers:
        start, length = places[number]
        content[start : start + length] = noise.integers(0, 256, length, np.uint8).tobytes()
    path.write_bytes(content)
    return path


class TestContainerStream:
    @pytest.mark.parametrize(
        ("name", "codec"), [("a.mp4", "libx264"), ("a.mkv", "ffv1"), ("a.avi", "mjpeg")]
    )
    def test_frames_come_in_order_with_their_times(
        self, tmp_path: Path, name: str, codec: str
    ) -> None:
        """Twelve pictures at 25 a second: all of them, 40 ms apart, the rate as declared."""
        path = write_video(tmp_path / name, [picture(n) for n in range(12)], fps=25, codec=codec)
        stream = source_of(path).open()
        assert stream.fps == 25.0
        pictures, times, lost = play(stream)
        assert lost == []
        assert times == pytest.approx([n / 25 for n in range(12)], abs=0.001)
        for number, pixels in enumerate(pictures):
            assert np.abs(pixels.astype(int) - picture(number)).mean() < 9

    @pytest.mark.parametrize(
        ("matrix", "turned"),
        [
            ((0, 1, -1, 0), lambda p: np.rot90(p, -1)),  # a quarter clockwise
            ((0, -1, 1, 0), lambda p: np.rot90(p, 1)),
            ((-1, 0, 0, -1), lambda p: np.rot90(p, 2)),
            ((-1, 0, 0, 1), lambda p: p[:, ::-1]),  # mirrored, as front cameras do
            ((1, 0, 0, -1), lambda p: p[::-1]),
            ((0, 1, 1, 0), lambda p: p.transpose(1, 0, 2)),
        ],
    )
    def test_videos_of_phones_are_turned_upright(
        self, tmp_path: Path, matrix: tuple[int, int, int, int], turned: object
    ) -> None:
        """Every display matrix of quarters and mirrors is applied to the pixels."""
        original = picture(3, 48, 80)
        path = write_video(tmp_path / "flat.mp4", [original] * 3)
        pictures, _, _ = play(source_of(turned_mp4(path, tmp_path / "t.mp4", matrix)).open())
        expected = turned(original)  # type: ignore[operator]
        assert pictures[1].shape == expected.shape
        assert np.abs(pictures[1].astype(int) - expected).mean() < 4
        assert pictures[1].flags.c_contiguous

    @pytest.mark.parametrize(("name", "codec"), [("a.avi", "mjpeg"), ("a.avi", "mpeg4")])
    def test_damaged_packets_in_the_middle_cost_their_frames_only(
        self, tmp_path: Path, name: str, codec: str
    ) -> None:
        """Two of twelve packets are noise: two lost frames are named, ten come."""
        options = {"g": "1"} if codec == "mpeg4" else {}
        path = write_video(
            tmp_path / name, [picture(n) for n in range(12)], codec=codec, options=options
        )
        pictures, times, lost = play(source_of(damaged(path, 5, 6)).open())
        assert lost == ["Invalid data found when processing input"] * 2
        assert times == pytest.approx([n / 30 for n in range(12) if n not in (5, 6)], abs=0.001)
        assert len(pictures) == 10

    def test_damage_in_a_video_with_frames_that_build_on_others_does_not_end_it(
        self, tmp_path: Path
    ) -> None:
        """H.264: the frames before the damage and the last group come, the rest may be lost."""
        path = write_video(tmp_path / "a.mp4", [picture(n) for n in range(24)])
        pictures, times, lost = play(source_of(damaged(path, 8, 9)).open())
        assert lost
        assert times[:6] == pytest.approx([n / 30 for n in range(6)])
        assert times[-1] == pytest.approx(23 / 30)
        assert np.abs(pictures[-1].astype(int) - picture(23)).mean() < 4

    def test_a_file_cut_off_gives_what_is_there(self, tmp_path: Path) -> None:
        """The index at the front says 40 frames, the data end after some of them."""
        path = write_video(
            tmp_path / "a.mp4",
            [np.random.default_rng(n).integers(0, 256, (64, 64, 3), np.uint8) for n in range(40)],
            container_options={"movflags": "faststart"},
        )
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        stream = source_of(path).open()
        assert stream.total_frames == 40
        pictures, _, _ = play(stream)
        assert 5 < len(pictures) < 40

    def test_a_file_without_frames_ends_at_once(self, tmp_path: Path) -> None:
        """The video stream is there, no frame is in it."""
        path = tmp_path / "a.avi"
        with av.open(str(path), "w") as container:
            stream = container.add_stream("mpeg4", rate=30)
            stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
            container.start_encoding()
        assert play(source_of(path).open()) == ([], [], [])

    def test_frames_may_change_their_size(self, tmp_path: Path) -> None:
        """Each frame comes in its own size."""
        path = tmp_path / "a.mjpeg"
        heights = [64, 80, 96, 64, 80]
        path.write_bytes(
            b"".join(cv2.imencode(".jpg", picture(2, h))[1].tobytes() for h in heights)
        )
        pictures, _, lost = play(source_of(path).open())
        assert [pixels.shape[0] for pixels in pictures] == heights
        assert lost == []

    def test_odd_sizes_come_as_they_are(self, tmp_path: Path) -> None:
        """63x65 px are 63x65 px, to the last row and column."""
        original = picture(4, 63, 65)
        path = write_video(tmp_path / "a.mkv", [original], codec="ffv1")
        [pixels], _, _ = play(source_of(path).open())
        assert pixels.shape == (63, 65, 3)

    def test_names_with_other_letters_and_signs_are_names(self, tmp_path: Path) -> None:
        """Letters beyond ASCII, blanks, patterns and colons are no protocols."""
        for name in ("Straße 東京.mp4", "frame%03d.mp4", "http:x.mp4", "concat:a|b.mp4"):
            path = write_video(tmp_path / name, [picture(1)] * 2)
            assert len(play(source_of(path).open())[0]) == 2

    @pytest.mark.parametrize(
        ("content", "words"),
        [(b"", "cannot be opened as a video"), (b"no video" * 99, "cannot be opened as a video")],
    )
    def test_what_is_no_video_is_refused_with_its_name(
        self, tmp_path: Path, content: bytes, words: str
    ) -> None:
        """The error names the file and what is wrong."""
        path = tmp_path / "broken.mp4"
        path.write_bytes(content)
        with pytest.raises(VideoSourceError, match=words) as caught:
            source_of(path).open()
        assert str(path) in str(caught.value)

    def test_a_sound_file_holds_no_video(self, tmp_path: Path) -> None:
        """A file that opens but has no video stream is refused."""
        path = tmp_path / "a.wav"
        with av.open(str(path), "w") as container:
            stream = container.add_stream("pcm_s16le", rate=8000)
            frame = av.AudioFrame.from_ndarray(
                np.zeros((1, 800), np.int16), format="s16", layout="mono"
            )
            frame.sample_rate = 8000
            container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
        with pytest.raises(VideoSourceError, match="holds no video stream"):
            source_of(path).open()

    def test_frames_beyond_the_limit_are_refused_before_they_are_decoded(
        self, tmp_path: Path
    ) -> None:
        """64x64 px against a limit of 1000 px."""
        path = write_video(tmp_path / "a.mp4", [picture(1)])
        with pytest.raises(VideoSourceError, match="64x64 px, more than the 1000 allowed"):
            source_of(path, max_pixels=1000).open()

    def test_frames_that_grow_beyond_the_limit_are_lost(self, tmp_path: Path) -> None:
        """The first fits, the second does not."""
        path = tmp_path / "a.mjpeg"
        path.write_bytes(
            b"".join(cv2.imencode(".jpg", picture(2, h))[1].tobytes() for h in (64, 96, 64))
        )
        pictures, _, lost = play(source_of(path, max_pixels=64 * 64).open())
        assert len(pictures) == 2
        assert lost == ["it has 64x96 px, more than the 4096 allowed"]

    def test_bytes_cannot_make_the_decoder_open_other_things(self, tmp_path: Path) -> None:
        """A play list that is handed over as bytes is not followed."""
        secret = write_video(tmp_path / "secret.ts", [picture(1)] * 4)
        play_list = tmp_path / "list.m3u8"
        play_list.write_text(
            f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://{secret}\n#EXT-X-ENDLIST\n"
        )
        with play_list.open("rb") as file, pytest.raises(VideoSourceError):
            play(ContainerStream(file, "bytes"))


class FakeCapture:
    """Stands in for a camera: two pictures, then nothing."""

    def __init__(self, index: int) -> None:
        self.pictures = [picture(1), picture(2)[:, :, 0]] if index == 0 else []
        self.settings: dict[int, float] = {}
        self.released = False

    def isOpened(self) -> bool:  # noqa: N802 - OpenCV's name
        """Whether the camera is there."""
        return bool(self.pictures)

    def set(self, name: int, value: float) -> bool:
        """Takes every property but the gain."""
        self.settings[name] = value
        return name != cv2.CAP_PROP_GAIN

    def get(self, name: int) -> float:
        """What was set."""
        return self.settings.get(name, 0.0)

    def read(self) -> tuple[bool, np.ndarray | None]:
        """The next picture."""
        return (True, self.pictures.pop(0)) if self.pictures else (False, None)

    def release(self) -> None:
        """Remembers that it was called."""
        self.released = True


class TestCaptureStream:
    @pytest.fixture(autouse=True)
    def _camera(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(streams.cv2, "VideoCapture", FakeCapture)

    def test_frames_come_until_the_camera_is_gone(self) -> None:
        """Colour and gray pictures both come as (h, w, 3); then the connection is lost."""
        stream = CaptureStream(0, {"fps": 15.0, "frame_width": 64})
        assert stream.fps == 15.0
        first, second = stream.read(), stream.read()
        assert first is not None
        assert second is not None
        assert first.image.shape == second.image.shape == (64, 64, 3)
        with pytest.raises(ConnectionLostError, match="no frame"):
            stream.read()
        stream.close()

    @pytest.mark.parametrize(
        ("index", "properties", "words"),
        [
            (7, {}, "camera 7 cannot be opened"),
            (0, {"gain": 2.0}, "does not take gain=2.0"),
            (0, {"frame_widht": 1}, "'frame_widht' is no property"),
        ],
    )
    def test_what_a_camera_cannot_do_is_refused(
        self, index: int, properties: dict[str, float], words: str
    ) -> None:
        """No camera, a property it does not take, a property nobody knows."""
        with pytest.raises(VideoSourceError, match=words):
            CaptureStream(index, properties)
