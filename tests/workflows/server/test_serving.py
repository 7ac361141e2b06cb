"""`weftlens serve` as a process of its own: start, work, stop."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from workflows.server.serving import stored_text, warnings
from workflows.server.settings import ServerSettings

PATIENCE = 60.0
ROOT = Path(__file__).parents[3]
# What a server that has run nothing must not have imported.
_HEAVY = ("torch", "supervision", "onnxruntime", "networkx", "scipy", "pycocotools", "matplotlib")


class _Process:
    """A running `weftlens serve`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self.plain: list[str] = []
        self._url = ""
        self._heard = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for text in self.process.stderr:
            if not text.startswith("{"):
                self.plain.append(text)
                continue
            line = json.loads(text)
            self.lines.append(line)
            found = re.search(r"http://\S+", line["message"])
            if found:
                self._url = found[0]
                self._heard.set()
        self._heard.set()

    @property
    def url(self) -> str:
        """Where it listens, as its log says."""
        assert self._heard.wait(PATIENCE)
        assert self._url, self.lines
        return self._url

    def end(self, number: int = signal.SIGTERM) -> int:
        """Sends a signal and gives the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code


@contextmanager
def _serve(*arguments: str, **environment: str) -> Iterator[_Process]:
    command = [sys.executable, "-m", "workflows.cli.main", "serve", "--port", "0", *arguments]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=variables,
        cwd=ROOT,
    )  # fmt: skip
    server = _Process(process)
    try:
        yield server
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
        server._reader.join(PATIENCE)
        assert process.stderr is not None
        process.stderr.close()


class TestServe:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_serves_and_ends_well(
        self, tmp_path: Path, coins: Any, discs: Any, http: httpx.Client, number: int
    ) -> None:
        """Options are used, a workflow runs, a signal ends the process with exit code 0."""
        (tmp_path / "count.json").write_text(json.dumps(coins), encoding="utf-8")
        with _serve("--workflows", str(tmp_path)) as server:
            body = {"inputs": {"image": {"type": "base64", "value": discs(3)}}}
            answer = http.post(f"{server.url}/w/workflows/count", json=body)
            assert answer.json()["outputs"][0]["n"] == 3
            assert server.end(number) == 0
            assert server.plain == []
            said = [line["message"] for line in server.lines]
            assert f"1 stored workflow in {tmp_path}" in said
            assert server.lines[-1]["message"].startswith("Finished server process")

    def test_says_what_is_wrong_with_its_settings(self) -> None:
        """A setting that cannot be used ends it at once, with a sentence."""
        environment = {**os.environ, "WEFTLENS_SERVER_MAX_QUEUE": "many", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-m", "workflows.cli.main", "serve", "--port", "0"],
            capture_output=True, text=True, env=environment, timeout=PATIENCE, cwd=ROOT,
            check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert "max_queue is 'many'" in done.stderr
        assert "Traceback" not in done.stderr

    def test_says_that_the_port_is_taken(self, http: httpx.Client) -> None:
        """A second server on one port ends with a message."""
        with _serve() as server:
            port = server.url.rsplit(":", 1)[1]
            with _serve("--port", port) as second:
                assert second.process.wait(PATIENCE) != 0
                second._reader.join(PATIENCE)
                assert any("address already in use" in line["message"] for line in second.lines)
                assert second.plain == [
                    f"weftlens serve: port {port} is taken; give another with --port\n"
                ]
            assert http.get(f"{server.url}/healthz").status_code == 200

    @pytest.mark.parametrize("module", ["typer", "uvicorn", "workflows.server.app"])
    def test_an_interrupt_during_the_imports(self, module: str) -> None:
        """Ctrl-C before it serves ends it as shells count it, without a traceback."""
        code = (
            "import os, signal, sys\n"
            # Jobs in the background of a shell start with the signal ignored.
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "class Interrupting:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            f"        if name == {module!r}:\n"
            "            os.kill(os.getpid(), signal.SIGINT)\n"
            "sys.meta_path.insert(0, Interrupting())\n"
            "from workflows.cli.main import main\n"
            "sys.exit(main(['serve', '--port', '0']))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE,
            cwd=ROOT, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


class TestStoredText:
    def test_counts_what_is_served(self, tmp_path: Path) -> None:
        """Locks are none, a folder that is not there holds none, and there may be no folder."""
        assert stored_text(ServerSettings()) == (
            "no folder of stored workflows (--workflows DIR): clients send theirs along"
        )
        settings = ServerSettings(workflows=tmp_path / "stored")
        assert stored_text(settings) == f"0 stored workflows in {tmp_path / 'stored'}"
        (tmp_path / "stored" / "shop" / "deep").mkdir(parents=True)
        for name in ("a", "a.lock", "shop/b", "shop/deep/c", ".d"):
            (tmp_path / "stored" / f"{name}.json").write_text("{}", encoding="utf-8")
        assert stored_text(settings) == f"2 stored workflows in {tmp_path / 'stored'}"


class TestWarnings:
    def test_name_open_doors_and_missing_folders(self, tmp_path: Path) -> None:
        """Other machines without keys, and folders that are not there."""
        assert warnings(ServerSettings(workflows=tmp_path)) == []
        missing = tmp_path / "nothing"
        found = warnings(ServerSettings(host="0.0.0.0", models=(missing,), workflows=missing))
        assert [text.split(" ")[0] for text in found] == ["everyone", "there", "there"]
        assert str(missing) in found[1]


class TestImports:
    def test_start_with_nothing_heavy(self) -> None:
        """An application that has run nothing has imported no library of models or drawing."""
        code = (
            "import sys; from workflows.server.app import create_app;"
            "from workflows.server.settings import ServerSettings;"
            "from workflows.session import Session;"
            "s = ServerSettings(); create_app(Session(s.session_settings()), s);"
            f"print([name for name in {_HEAVY!r} if name in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE,
            cwd=ROOT, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == "[]"

    def test_is_not_loaded_by_the_library(self) -> None:
        """Whoever runs workflows in process needs no web framework."""
        code = (
            "import sys, workflows, workflows.cli.app;"
            "print([name for name in ('fastapi', 'uvicorn', 'starlette') if name in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE,
            cwd=ROOT, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == "[]"
