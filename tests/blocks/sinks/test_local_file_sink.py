"""`local_file_sink@v1`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from blocks.sinks.local_file_sink.v1 import LocalFileSinkBlockV1

SAVED = {"error_status": False, "message": "Data saved successfully"}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Any]:
    """Runs one sink: `write(content, **fields)`; files go to `tmp_path / "out"`."""
    block = LocalFileSinkBlockV1(True, str(tmp_path), False)

    def run(content: Any, **fields: Any) -> Any:
        values = {
            "file_type": "csv",
            "output_mode": "append_log",
            "target_directory": str(tmp_path / "out"),
            "file_name_prefix": "log",
            "max_entries_per_file": 1024,
        }
        return block.run(content=content, **(values | fields))

    return run


def texts(folder: Path) -> list[str]:
    return [path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()]


class TestAppendLog:
    def test_csv_header_stands_once(self, write: Callable[..., Any], tmp_path: Path) -> None:
        """Repeated headers are left out and a full log is continued in a new file."""
        for content in ("a,b\n1,2\n", "a,b\n3,4\n", "a,b\n5,6", "a,b\n7,8\n"):
            assert write(content, max_entries_per_file=3) == SAVED
        assert texts(tmp_path / "out") == ["a,b\n1,2\n3,4\n5,6\n", "a,b\n7,8\n"]

    def test_header_of_several_lines(self, write: Callable[..., Any], tmp_path: Path) -> None:
        """A quoted line feed in the header belongs to the header."""
        write('"a\nb",c\n1,2\n')
        write('"a\nb",c\n3,4\n')
        assert texts(tmp_path / "out") == ['"a\nb",c\n1,2\n3,4\n']

    def test_other_header_begins_a_new_file(
        self, write: Callable[..., Any], tmp_path: Path
    ) -> None:
        """Rows of other columns never go below a header that does not fit them."""
        write("a,b\n1,2\n")
        write("a,c\n3,4\n")
        assert texts(tmp_path / "out") == ["a,b\n1,2\n", "a,c\n3,4\n"]

    def test_header_without_rows_adds_nothing(
        self, write: Callable[..., Any], tmp_path: Path
    ) -> None:
        """An entry that is a header only leaves the log as it is."""
        write("a,b\n1,2\n")
        assert write("a,b\n") == SAVED
        assert texts(tmp_path / "out") == ["a,b\n1,2\n"]

    def test_json_lines(self, write: Callable[..., Any], tmp_path: Path) -> None:
        """Each document is one line; text that is no JSON is reported and not written."""
        assert write('{"a":\n 1}', file_type="json") == SAVED
        assert write("{broken", file_type="json") == {
            "error_status": True,
            "message": "Invalid JSON content",
        }
        assert write('[1,  2, "ä"]', file_type="json") == SAVED
        assert texts(tmp_path / "out") == ['{"a": 1}\n[1, 2, "ä"]\n']
        assert [p.suffix for p in (tmp_path / "out").iterdir()] == [".jsonl"]

    def test_text_keeps_its_line_ends(self, write: Callable[..., Any], tmp_path: Path) -> None:
        """Text is written as it is, with a line feed at its end."""
        write("one\r\n", file_type="txt")
        write("two", file_type="txt")
        path = next((tmp_path / "out").iterdir())
        assert path.read_bytes() == b"one\r\ntwo\n"

    def test_logs_of_other_places_are_apart(
        self, write: Callable[..., Any], tmp_path: Path
    ) -> None:
        """Folder, prefix and format each have a log of their own."""
        write("1", file_type="txt")
        write("2", file_type="txt", file_name_prefix="other")
        write("3", file_type="txt", target_directory=str(tmp_path / "out2"))
        write("4", file_type="txt")
        assert texts(tmp_path / "out") == ["1\n4\n", "2\n"]
        assert texts(tmp_path / "out2") == ["3\n"]

    def test_log_that_was_taken_away(self, write: Callable[..., Any], tmp_path: Path) -> None:
        """When the file is gone a new one begins, header included."""
        write("a\n1\n")
        next((tmp_path / "out").iterdir()).unlink()
        write("a\n2\n")
        assert texts(tmp_path / "out") == ["a\n2\n"]

    def test_threads_lose_nothing(self, write: Callable[..., Any], tmp_path: Path) -> None:
        """Entries written at the same time are all there, whole."""

        def fill(thread: int) -> None:
            for i in range(20):
                write(f"{thread}-{i}", file_type="txt", max_entries_per_file=7)

        threads = [Thread(target=fill, args=(t,)) for t in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lines = "".join(texts(tmp_path / "out")).splitlines()
        assert sorted(lines) == sorted(f"{t}-{i}" for t in range(4) for i in range(20))
        assert len(texts(tmp_path / "out")) == 12


class TestSeparateFiles:
    def test_each_entry_has_its_file(self, write: Callable[..., Any], tmp_path: Path) -> None:
        """Every entry is written whole, in order of names."""
        for i in range(3):
            assert write(f"h\n{i}", output_mode="separate_files") == SAVED
        assert texts(tmp_path / "out") == ["h\n0\n", "h\n1\n", "h\n2\n"]
        assert all(p.name.startswith("log_") for p in (tmp_path / "out").iterdir())

    def test_same_moment_overwrites_nothing(
        self, write: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two entries of the same microsecond get two files."""
        from datetime import datetime

        class Stopped(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Stopped:
                return cls(2026, 1, 2, 3, 4, 5, 6)

        monkeypatch.setattr("blocks.sinks.local_file_sink.log_files.datetime", Stopped)
        write("1", output_mode="separate_files", file_type="txt")
        write("2", output_mode="separate_files", file_type="txt")
        names = sorted(p.name for p in (tmp_path / "out").iterdir())
        assert names == [
            "log_2026_01_02_03_04_05_000006.txt",
            "log_2026_01_02_03_04_05_000006_1.txt",
        ]


class TestPermissions:
    def test_no_access_unless_the_host_allows(self, tmp_path: Path) -> None:
        """Without leave of the host nothing is written."""
        block = LocalFileSinkBlockV1(False, None, False)
        with pytest.raises(PermissionError, match="allow_access_to_file_system"):
            block.run("x", "txt", "separate_files", str(tmp_path / "out"), "p", 1)
        assert not (tmp_path / "out").exists()

    def test_disabled_sinks_write_nothing(self, tmp_path: Path) -> None:
        """With sinks disabled the block says so and reports no error."""
        block = LocalFileSinkBlockV1(True, None, True)
        result: Any = block.run("x", "txt", "separate_files", str(tmp_path / "out"), "p", 1)
        assert result["error_status"] is False
        assert "disabled" in result["message"]
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize(
        "directory", ["/nowhere_allowed", "{allowed}/../other", "{allowed}_neighbour", "."]
    )
    def test_target_outside_is_refused(self, tmp_path: Path, directory: str) -> None:
        """A folder outside the permitted one is refused, however it is written."""
        allowed = tmp_path / "allowed"
        allowed.mkdir()
        block = LocalFileSinkBlockV1(True, str(allowed), False)
        with pytest.raises(
            PermissionError, match="outside the folder this host lets workflows write"
        ):
            block.run("x", "txt", "append_log", directory.format(allowed=allowed), "p", 1)

    def test_link_out_of_the_folder_is_refused(self, tmp_path: Path) -> None:
        """A link inside the permitted folder does not lead out of it."""
        allowed, outside = tmp_path / "allowed", tmp_path / "outside"
        allowed.mkdir()
        outside.mkdir()
        os.symlink(outside, allowed / "link")
        block = LocalFileSinkBlockV1(True, str(allowed), False)
        with pytest.raises(PermissionError):
            block.run("x", "txt", "append_log", str(allowed / "link"), "p", 1)
        with pytest.raises(PermissionError):
            block.run("x", "txt", "append_log", str(allowed), "link/p", 1)
        assert not list(outside.iterdir())

    @pytest.mark.parametrize("prefix", ["../p", "/tmp/p", "a/../../p", "p\0q", "p\ud800"])
    def test_prefix_that_leads_out_is_refused(
        self, write: Callable[..., Any], tmp_path: Path, prefix: str
    ) -> None:
        """The prefix may not leave the target folder."""
        with pytest.raises(PermissionError):
            write("x", file_type="txt", file_name_prefix=prefix)
        assert texts(tmp_path) == []

    def test_prefix_with_sub_folder(self, write: Callable[..., Any], tmp_path: Path) -> None:
        """A prefix may name a folder inside the target."""
        assert write("x", file_type="txt", file_name_prefix="day/cam") == SAVED
        assert texts(tmp_path / "out" / "day") == ["x\n"]

    def test_permitted_folder_itself(self, write: Callable[..., Any], tmp_path: Path) -> None:
        """The permitted folder is inside itself."""
        assert write("x", file_type="txt", target_directory=str(tmp_path)) == SAVED


class TestBadInput:
    def test_content_of_another_type_is_reported(self, write: Callable[..., Any]) -> None:
        """What is no text is an error status, not an exception."""
        assert write({"a": 1}) == {
            "error_status": True,
            "message": "Content must be text, got dict",
        }

    def test_failing_disk_is_reported(self, write: Callable[..., Any], tmp_path: Path) -> None:
        """A folder that cannot be made is an error status with the reason."""
        (tmp_path / "out").write_text("a file in the way")
        result = write("x", file_type="txt")
        assert result["error_status"] is True
        assert result["message"].startswith("Data could not be saved: ")

    def test_text_that_has_no_encoding_is_reported(
        self, write: Callable[..., Any], tmp_path: Path
    ) -> None:
        """Lone surrogates cannot be written, and no empty file stays behind."""
        assert write("\ud800", file_type="txt")["error_status"] is True
        assert texts(tmp_path) == []

    @pytest.mark.parametrize("limit", [0, -1, "x", None])
    def test_bad_limit_is_named(self, write: Callable[..., Any], limit: Any) -> None:
        """The limit must be a positive whole number."""
        with pytest.raises(ValueError, match="max_entries_per_file must be"):
            write("x", max_entries_per_file=limit)

    def test_limit_as_text(self, write: Callable[..., Any], tmp_path: Path) -> None:
        """A reference may deliver the limit as text."""
        write("1", file_type="txt", max_entries_per_file="1")
        write("2", file_type="txt", max_entries_per_file="1")
        assert texts(tmp_path / "out") == ["1\n", "2\n"]
