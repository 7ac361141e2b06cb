"""docs/pinning.md: every command and every program of the page is run, in order, and prints what
the page shows (`…` stands for anything).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from workflows import default_session
from workflows.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "pinning.md").read_text(encoding="utf-8")
PORT = "9001"


def blocks() -> list[tuple[str, str]]:
    """Language and content of each block of code, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def commands(content: str) -> Iterator[tuple[str, str]]:
    """Commands of a console and what each prints."""
    for part in re.split(r"^\$ ", content, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def assert_printed(printed: str, shown: str, what: str) -> None:
    """Whether a text is the one the page shows."""
    pattern = ".*?".join(re.escape(part) for part in shown.strip().split("…"))
    assert re.fullmatch(pattern, printed.strip(), re.DOTALL), (
        f"{what}\n--- printed\n{printed}\n--- the page shows\n{shown}"
    )


class Reader:
    """Somebody who does what the page says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._environment = monkeypatch
        self._server: subprocess.Popen[str] | None = None
        self._port = PORT
        self.ran: list[str] = []

    def read(self, language: str, content: str) -> None:
        """Does what one block of code says."""
        if language == "python":
            self.program(content)
            return
        for command, shown in commands(content):
            self.ran.append(command)
            if command.endswith(" &"):
                self.serve(command)
            elif command.startswith("export "):
                name, _, value = command.removeprefix("export ").partition("=")
                self._environment.setenv(name, shlex.split(value)[0])
            else:
                assert_printed(self.output(command), shown, command)

    def output(self, command: str) -> str:
        """What a command prints."""
        if not command.startswith("weftlens "):
            done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
            return done.stdout + done.stderr
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            main(shlex.split(command)[1:])
        return printed.getvalue()

    def program(self, content: str) -> None:
        """Runs a program; what it prints stands in comments behind the calls of `print`."""
        expected = re.findall(r"^ *print\(.*\)  # (.*)$", content, re.MULTILINE)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(content.replace(f":{PORT}", f":{self._port}"), "pinning.md", "exec"), {})
        assert_printed(printed.getvalue(), "\n".join(expected), content)

    def serve(self, command: str) -> None:
        """Starts a server on any free port in place of the one of the page."""
        words = shlex.split(command.removesuffix(" &").replace(f"--port {PORT}", "--port 0"))
        self._server = subprocess.Popen(
            [sys.executable, "-m", "workflows.cli.main", *words[1:]],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=subprocess.STDOUT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._server.stdout is not None
        seen = []
        for line in self._server.stdout:
            seen.append(line)
            found = re.search(r"running on http://127\.0\.0\.1:(\d+)", line)
            if found:
                self._port = found[1]
                return
        pytest.fail(f"{command}\n{''.join(seen)}")

    def close(self) -> None:
        """Stops the server."""
        if self._server is not None:
            self._server.terminate()
            self._server.communicate(timeout=60)


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """A reader in a folder that looks like a clone."""
    for name in ("examples", "inference_models"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WEFTLENS_MODEL_DIRECTORIES", raising=False)
    default_session().close()  # it may have been made with other settings
    made = Reader(monkeypatch)
    yield made
    made.close()
    default_session().close()


class TestPinningPage:
    def test_from_top_to_bottom(self, reader: Reader) -> None:
        """A reader gets what the page shows, and every command of pinning is on it."""
        for language, content in blocks():
            reader.read(language, content)
        text = "\n".join(reader.ran)
        for command in ("lock", "lock .* --check", "upgrade", "models add", "serve --locked"):
            assert re.search(f"^weftlens {command}", text, re.MULTILINE), command

    def test_every_member_of_a_lock_is_explained(self) -> None:
        """The table names each member of a lock file that holds something."""
        from workflows.locking.lock_file import BlockPin, Lock

        members = set(Lock.model_fields) - {"lock_version", "blocks"}
        members |= {"manifest", "behaviour", "code"} & set(BlockPin.model_fields)
        rows = set(re.findall(r"^\| (?:`blocks` → )?`(\w+)` \|", PAGE, re.MULTILINE))
        assert rows == members
