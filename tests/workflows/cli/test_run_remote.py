"""`weftlens run --server`: the same output from a server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.remote.live import LiveServer, live_server
from workflows.cli.app import run_app
from workflows.server.security.key_file import add_key
from workflows.server.security.keys import new_key

EXAMPLES = Path(__file__).parents[3] / "examples"
WORKFLOW = str(EXAMPLES / "count_coins.json")
COINS = str(EXAMPLES / "images" / "coins.png")


def without_ids(value: Any) -> Any:
    """A result without the ids that are new in every run."""
    if isinstance(value, dict):
        return {
            name: without_ids(item)
            for name, item in value.items()
            if name not in ("detection_id", "inference_id", "parent_id")
        }
    return [without_ids(item) for item in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def live() -> Iterator[LiveServer]:
    """A server without keys."""
    with live_server() as running:
        yield running


class TestRunOnServer:
    def test_writes_what_a_local_run_writes(
        self, live: LiveServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Text, JSON file and pictures."""
        here, there = tmp_path / "here", tmp_path / "there"
        assert run_app(["run", WORKFLOW, COINS, "--out", str(here)]) == 0
        local = capsys.readouterr().out.replace(str(here), "OUT")
        assert (
            run_app(
                [
                    "run",
                    WORKFLOW,
                    COINS,
                    "--out",
                    str(there),
                    "--server",
                    live.url,
                    "--workers",
                    "2",
                ]
            )
            == 0
        )
        assert capsys.readouterr().out.replace(str(there), "OUT") == local
        assert sorted(path.name for path in there.iterdir()) == sorted(
            path.name for path in here.iterdir()
        )
        counts = [json.loads((out / "coins.json").read_text())["count"] for out in (here, there)]
        assert counts == [24, 24]

    def test_json(self, live: LiveServer, capsys: pytest.CaptureFixture[str]) -> None:
        """Pictures go in as text."""
        assert run_app(["run", WORKFLOW, COINS, "--json", "--server", live.url]) == 0
        [answer] = json.loads(capsys.readouterr().out)
        assert answer["results"][0]["count"] == 24

    def test_runs_what_the_server_stores(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """`workspace/id` gives what its file gives; a name that is not there is said."""
        monkeypatch.chdir(tmp_path)
        here, there = tmp_path / "here", tmp_path / "there"
        (tmp_path / "stored" / "shop").mkdir(parents=True)
        for name in ("count_coins", "find_parts"):
            shutil.copy(EXAMPLES / f"{name}.json", tmp_path / "stored" / "shop")
        with live_server(workflows=tmp_path / "stored") as live:
            on_server = ["--server", live.url]
            for name in ("count_coins", "find_parts"):
                local = ["run", str(EXAMPLES / f"{name}.json"), COINS, "--out", str(here)]
                assert run_app(local) == 0
                said = capsys.readouterr().out.replace(str(here), "OUT")
                stored = ["run", f"shop/{name}", COINS, "--out", str(there), *on_server]
                assert run_app(stored) == 0
                assert capsys.readouterr().out.replace(str(there), "OUT") == said
                files = [sorted(path.name for path in out.iterdir()) for out in (here, there)]
                assert files[0] == files[1]
                rows = [
                    without_ids(json.loads((out / "coins.json").read_text()))
                    for out in (here, there)
                ]
                assert rows[0] == rows[1]
            assert run_app(["run", "shop/count_coins", COINS, "--json", *on_server]) == 0
            assert json.loads(capsys.readouterr().out)[0]["results"][0]["count"] == 24
            assert run_app(["run", "shop/count_coins", *on_server]) == 2
            assert "the workflow needs an image for 'image'" in capsys.readouterr().err
            assert run_app(["run", "shop/count_coins", COINS, "-p", "x=1", *on_server]) == 2
            assert "the workflow has no input 'x'" in capsys.readouterr().err
            assert run_app(["run", "shop/none", COINS, *on_server]) == 1
            assert "There is no workflow 'none'" in capsys.readouterr().err

    def test_says_how_stored_workflows_are_named(
        self, live: LiveServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """For a name that is no file, with a server and without."""
        assert run_app(["run", "find_parts", COINS, "--server", live.url]) == 1
        assert "named workspace/id, such as 'shop/find_parts'" in capsys.readouterr().err
        assert run_app(["run", "shop/count", COINS]) == 1
        assert "`weftlens run shop/count --server URL`" in capsys.readouterr().err
        assert run_app(["run", "shop/count.json", COINS]) == 1
        assert "--server" not in capsys.readouterr().err

    def test_a_server_that_is_not_there_stops_at_once(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It concerns every image."""
        code = run_app(["run", WORKFLOW, COINS, COINS, "--server", "http://127.0.0.1:9"])
        assert code == 1
        text = capsys.readouterr().err
        assert text.count("The server http://127.0.0.1:9 cannot be reached") == 1
        assert "This concerns every image; stopped." in text

    def test_the_key_comes_from_the_environment(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Never from the command line, and never to be seen."""
        text, record = new_key("cli", (), True)
        add_key(tmp_path / "keys.json", record)
        with live_server(api_keys=tmp_path / "keys.json") as live:
            command = ["run", WORKFLOW, COINS, "--server", live.url]
            assert run_app(command) == 1
            assert "wants an API key" in capsys.readouterr().err
            monkeypatch.setenv("MY_SERVER_KEY", text)
            assert run_app([*command, "--api-key-env", "MY_SERVER_KEY"]) == 0
            captured = capsys.readouterr()
            assert "24" in captured.out
            assert text not in captured.out + captured.err

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--server", "somewhere"], "such as http://127.0.0.1:9001, got 'somewhere'"),
            (["--api-key-env", "X"], "--api-key-env goes with --server URL"),
            (
                ["--server", "http://h", "--api-key-env", "NO_SUCH_VARIABLE"],
                "--api-key-env NO_SUCH_VARIABLE: this variable is not set",
            ),
        ],
    )
    def test_wrong_usage(
        self, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Exit code 2 and one line."""
        assert run_app(["run", WORKFLOW, COINS, *options]) == 2
        assert words in capsys.readouterr().err
