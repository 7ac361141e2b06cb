"""How names of sources are understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflows.video.video_files import picture, scripted_source, write_video
from workflows.video.errors import VideoSourceError
from workflows.video.sources import public_label, source_of, sources_of


class TestSourceOf:
    @pytest.mark.parametrize(
        ("reference", "label", "live"),
        [
            (0, "camera 0", True),
            ("3", "camera 3", True),
            ("street.mp4", "street.mp4", False),
            (Path("street.mp4"), "street.mp4", False),
            ("rtsp://admin:secret@10.0.0.7:554/live?token=1", "rtsp://10.0.0.7:554/live", True),
            ("RTSP://host/live", "rtsp://host/live", True),
            ("http://host/video.mp4?key=1", "http://host/video.mp4", False),
            ("https://host/stream", "https://host/stream", True),
            ("udp://[::1]:5000", "udp://[::1]:5000", True),
        ],
    )
    def test_kind_and_label_follow_from_the_name(
        self, reference: str | int | Path, label: str, live: bool
    ) -> None:
        """Cameras and streams are live, files are not; labels hold no secrets."""
        source = source_of(reference)
        assert (source.label, source.live) == (label, live)

    @pytest.mark.parametrize(
        ("reference", "words"),
        [
            (True, "got bool"),
            (None, "got NoneType"),
            (-1, "numbered from 0"),
            ("gopher://host/x", "'gopher' is no kind of address"),
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, reference: object, words: str) -> None:
        """The message says what is taken."""
        with pytest.raises(VideoSourceError, match=words):
            source_of(reference)  # type: ignore[arg-type]

    def test_a_file_that_is_named_like_a_camera_is_a_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`0` is a camera unless there is a file of that name."""
        monkeypatch.chdir(tmp_path)
        write_video(tmp_path / "v.mp4", [picture(1)]).rename(tmp_path / "0")
        assert not source_of("0").live

    def test_properties_belong_to_cameras(self) -> None:
        """For a file they are refused, not ignored."""
        with pytest.raises(VideoSourceError, match="takes no properties"):
            source_of("street.mp4", properties={"fps": 30})

    @pytest.mark.parametrize("name", ["missing.mp4", "."])
    def test_a_file_that_cannot_be_read_is_named_when_opened(
        self, tmp_path: Path, name: str
    ) -> None:
        """roboflow/inference#383: a missing file gives an error that names the path."""
        with pytest.raises(VideoSourceError, match=r"no file|no regular file") as caught:
            source_of(tmp_path / name).open()
        assert str(tmp_path) in str(caught.value)


class TestSourcesOf:
    def test_one_or_many(self) -> None:
        """One name is a list of one; sources pass as they are."""
        own = scripted_source([])
        assert sources_of(own) == [own]
        assert [source.label for source in sources_of([0, own])] == ["camera 0", "scripted"]

    def test_none_is_refused(self) -> None:
        """An empty list has nothing to run on."""
        with pytest.raises(VideoSourceError, match="no video source"):
            sources_of([])


class TestPublicLabel:
    @pytest.mark.parametrize("address", ["rtsp://a:b@[::1", "rtsp://user:pass@host:99999999/x"])
    def test_addresses_that_cannot_be_read_show_nothing(self, address: str) -> None:
        """Not even then is a password shown."""
        assert public_label(address) == "rtsp://..."
