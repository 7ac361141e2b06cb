"""What strangers may name as a source."""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import cv2
import pytest

from tests.workflows.video.test_streams import play
from tests.workflows.video.video_files import picture, write_video
from workflows.video.errors import VideoSourceError
from workflows.video.source_policy import SourcePolicy


class TestSource:
    @pytest.mark.parametrize(
        ("reference", "words"),
        [
            (0, "does not let clients use its cameras"),
            ("0", "does not let clients use its cameras"),
            ("/etc/passwd", "does not let clients read its files"),
            ("street.mp4", "does not let clients read its files"),
            ("file:///etc/passwd", "'file' is no kind of address"),
            ("concat://a", "'concat' is no kind of address"),
            ("rtsp://10.0.0.1/live", "only from hosts that its operator names"),
            ("rtsp://example.com/live", "only from hosts that its operator names"),
            ("http://example.com/a.mp4", "does not fetch videos from addresses"),
            (None, "got NoneType"),
            (True, "got bool"),
            (["a"], "got list"),
        ],
    )
    def test_nothing_is_permitted_by_default(self, reference: Any, words: str) -> None:
        """Each kind says what is not permitted."""
        with pytest.raises(VideoSourceError, match=words):
            SourcePolicy().source(reference)

    @pytest.mark.parametrize("name", ["in.mp4", "deep/in.mp4", "./deep/../in.mp4"])
    def test_files_of_the_folders_are_read(self, tmp_path: Path, name: str) -> None:
        """By their names below the folder."""
        (tmp_path / "videos" / "deep").mkdir(parents=True)
        path = write_video(tmp_path / "videos" / "in.mp4", [picture(1)] * 3)
        (tmp_path / "videos" / "deep" / "in.mp4").write_bytes(path.read_bytes())
        source = SourcePolicy(folders=(tmp_path / "none", tmp_path / "videos")).source(name)
        assert len(play(source.open())[0]) == 3

    @pytest.mark.parametrize(
        "name",
        ["../out.mp4", "missing.mp4", ".", "link.mp4", "x\0y", "a" * 5000, "{root}/out.mp4"],
    )
    def test_nothing_else_is_read_or_told(self, tmp_path: Path, name: str) -> None:
        """Ways out of the folder, and what is not there, get one and the same answer."""
        folder = tmp_path / "videos"
        folder.mkdir()
        outside = write_video(tmp_path / "out.mp4", [picture(1)])
        (folder / "link.mp4").symlink_to(outside)
        with pytest.raises(VideoSourceError) as caught:
            SourcePolicy(folders=(folder,)).source(name.format(root=tmp_path))
        assert str(caught.value) == "There is no such video in the folders of this server."

    def test_play_lists_in_the_folders_are_no_videos(self, tmp_path: Path) -> None:
        """A play list would lead to other files."""
        folder = tmp_path / "videos"
        folder.mkdir()
        secret = write_video(tmp_path / "secret.ts", [picture(1)] * 4)
        (folder / "list.m3u8").write_text(
            f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://{secret}\n#EXT-X-ENDLIST\n"
        )
        with pytest.raises(VideoSourceError, match="cannot be opened"):
            SourcePolicy(folders=(folder,)).source("list.m3u8").open()

    def test_named_hosts_are_reached_by_any_protocol(self) -> None:
        """The operator answers for them, wherever they are; the spelling does not matter."""
        policy = SourcePolicy(hosts=frozenset({"camera.local"}))
        source = policy.source("rtsp://user:word@Camera.Local.:554/live")
        assert source.live
        assert "word" not in source.label
        with pytest.raises(VideoSourceError, match="operator names"):
            policy.source("rtsp://camera.local.evil.example/live")

    def test_properties_are_for_cameras(self) -> None:
        """For others they are refused."""
        assert SourcePolicy(cameras=True).source("0", {"fps": 30}).live
        with pytest.raises(VideoSourceError, match="Only cameras"):
            SourcePolicy(urls=True).source("http://example.com/a.mp4", {"fps": 30})


class _Site(BaseHTTPRequestHandler):
    """Serves bytes by path, whole or in parts; `/redirect` leads to a place that must not be."""

    protocol_version = "HTTP/1.1"
    content: ClassVar[dict[str, bytes]] = {}
    asked: ClassVar[list[str]] = []
    gives_parts: ClassVar[bool] = True

    def do_GET(self) -> None:
        """Answers."""
        _Site.asked.append(self.path)
        if self.path.startswith("/redirect"):
            self.send_response(302)
            self.send_header("Location", f"http://inside.example:{self.server.server_port}/a.mp4")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = self.content.get(self.path.partition("?")[0])
        if body is None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        start = 0
        if self.gives_parts:
            start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        try:
            self.wfile.write(body[start:])
        except OSError:
            self.close_connection = True

    def log_message(self, *arguments: Any) -> None:
        """Keeps quiet."""


@pytest.fixture
def site() -> Iterator[ThreadingHTTPServer]:
    """A web site on a free port of this machine."""
    _Site.content, _Site.asked, _Site.gives_parts = {}, [], True
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def policy_for_site() -> SourcePolicy:
    """Takes the name `site.example` for the public internet; its address is this machine's."""

    def resolver(host: str, port: int) -> list[Any]:
        inside = host == "inside.example"
        return [ipaddress.ip_address("127.0.0.2" if inside else "127.0.0.1")]

    return SourcePolicy(
        urls=True, permits=lambda address: str(address) == "127.0.0.1", resolver=resolver
    )


class TestAddress:
    @pytest.mark.parametrize(
        ("in_parts", "index_first"), [(True, True), (True, False), (False, True)]
    )
    def test_a_video_is_read_over_checked_connections(
        self, site: ThreadingHTTPServer, tmp_path: Path, in_parts: bool, index_first: bool
    ) -> None:
        """With its index at the front or, where the server gives parts, at the end."""
        options = {"movflags": "faststart"} if index_first else {}
        path = write_video(
            tmp_path / "a.mp4", [picture(n) for n in range(8)], container_options=options
        )
        _Site.content["/a.mp4"] = path.read_bytes()
        _Site.gives_parts = in_parts
        source = policy_for_site().source(
            f"http://site.example:{site.server_port}/a.mp4?token=secret"
        )
        assert not source.live
        assert "secret" not in source.label
        assert len(play(source.open())[0]) == 8

    def test_a_stream_without_an_end_is_live(self, site: ThreadingHTTPServer) -> None:
        """Pictures one after the other, as cameras send them."""
        frames = [cv2.imencode(".jpg", picture(n))[1].tobytes() for n in range(4)]
        _Site.content["/stream"] = b"".join(frames)
        _Site.gives_parts = False
        source = policy_for_site().source(f"http://site.example:{site.server_port}/stream")
        assert source.live
        assert len(play(source.open())[0]) == 4

    def test_a_redirect_is_checked(self, site: ThreadingHTTPServer) -> None:
        """It leads inside: refused, and nobody asked there."""
        source = policy_for_site().source(f"http://site.example:{site.server_port}/redirect.mp4")
        with pytest.raises(VideoSourceError, match="does not lie in the public internet"):
            source.open()
        assert _Site.asked == ["/redirect.mp4"]

    @pytest.mark.parametrize(
        ("url", "words"),
        [
            ("http://127.0.0.1:{port}/a.mp4", "public internet"),
            ("http://localhost:{port}/a.mp4", "public internet"),
            ("http://[::1]:{port}/a.mp4", "public internet"),
            ("http://169.254.169.254/latest", "public internet"),
            ("http://user:word@example.com/a.mp4", "credentials"),
        ],
    )
    def test_private_addresses_are_refused(
        self, site: ThreadingHTTPServer, url: str, words: str
    ) -> None:
        """The check of image addresses, with the resolver of the system."""
        source = SourcePolicy(urls=True).source(url.format(port=site.server_port))
        with pytest.raises(VideoSourceError, match=words):
            source.open()
        assert _Site.asked == []

    def test_an_answer_that_is_an_error_is_said(self, site: ThreadingHTTPServer) -> None:
        """Status 404."""
        source = policy_for_site().source(f"http://site.example:{site.server_port}/none.mp4")
        with pytest.raises(VideoSourceError, match="the answer has status 404, expected 200"):
            source.open()

    @pytest.mark.parametrize(
        "text",
        [
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://inside.example:{port}/a.ts\n",
            "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\n"
            "m=video {port} RTP/AVP 96\na=rtpmap:96 H264/90000\n",
            "ffconcat version 1.0\nfile 'http://inside.example:{port}/a.ts'\n",
        ],
    )
    def test_what_names_other_places_is_no_video(
        self, site: ThreadingHTTPServer, text: str
    ) -> None:
        """Play lists and session descriptions would make the decoder connect by itself."""
        _Site.content["/a.mp4"] = text.format(port=site.server_port).encode()
        source = policy_for_site().source(f"http://site.example:{site.server_port}/a.mp4")
        with pytest.raises(VideoSourceError, match="cannot be opened"):
            source.open()
        assert set(_Site.asked) == {"/a.mp4"}
