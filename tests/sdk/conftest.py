"""The published client in its own environment, and servers of ours for it to ask."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import pytest

from tests.blocks.models.colour_models import three_rectangles, write_colour_models
from tests.examples.people_models import have_people_models, write_people_models
from tests.workflows.remote.live import LiveServer, live_server
from workflows import Session, WeftlensSettings
from workflows.server.security.key_file import add_key
from workflows.server.security.keys import new_key

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-sdk" / "bin" / "python"
SCRIPT = Path(__file__).parent / "client_script.py"
EXAMPLES = ROOT / "examples"
COINS = str(EXAMPLES / "images" / "coins.png")

Client = Callable[..., Any]


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    """Runs scenarios of the script in the other environment."""
    if not PYTHON.exists():
        pytest.skip("`make test-sdk` makes the environment of the client")
    process = subprocess.Popen(
        [str(PYTHON), str(SCRIPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": "/tmp", "MPLCONFIGDIR": "/tmp"},
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def run(scenario: str, **options: Any) -> Any:
        process.stdin.write(json.dumps([scenario, options]) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, f"the client ended in {scenario}"
        return json.loads(line)

    yield run
    process.stdin.close()
    process.wait(60)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of every task, and those of the people example where they are at hand."""
    models = write_colour_models(tmp_path_factory.mktemp("models"))
    return write_people_models(models) if have_people_models() else models


@pytest.fixture(scope="session")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A picture with a red, a green and a blue rectangle."""
    path = tmp_path_factory.mktemp("pictures") / "shapes.png"
    cv2.imwrite(str(path), three_rectangles())
    return str(path)


@pytest.fixture(scope="session")
def live(folder: Path) -> Iterator[LiveServer]:
    """A server with those models and the examples as stored workflows."""
    with live_server(models=(folder,), workflows=EXAMPLES) as running:
        yield running


@pytest.fixture(scope="session")
def local(folder: Path) -> Iterator[Session]:
    """What the server has, in this process."""
    with Session(WeftlensSettings(model_directories=(folder,))) as session:
        yield session


@pytest.fixture(scope="session")
def keyed(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[LiveServer, str]]:
    """A server that wants a key, and the key."""
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    text, record = new_key("sdk", (), True)
    add_key(path, record)
    with live_server(models=(folder,), api_keys=path) as running:
        yield running, text
