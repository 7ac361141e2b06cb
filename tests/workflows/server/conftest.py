"""An application with blocks that wait and fail on command, in process and behind a real port."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cv2
import httpx
import numpy as np
import pytest

fastapi = pytest.importorskip("fastapi")

from fastapi.testclient import TestClient  # noqa: E402

from blocks.plugin import core_plugin  # noqa: E402
from execution_engine.block_api import (  # noqa: E402
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (  # noqa: E402
    IMAGE_KIND,
    SECRET_KIND,
    STRING_KIND,
)
from execution_engine.registry.plugin import Plugin  # noqa: E402
from execution_engine.registry.registry import BlockRegistry  # noqa: E402
from workflows.server.app import create_app  # noqa: E402
from workflows.server.host import ServerHost  # noqa: E402
from workflows.server.serving import DrainingServer, make_server  # noqa: E402
from workflows.server.settings import ServerSettings  # noqa: E402
from workflows.session import Session  # noqa: E402

PATIENCE = 60.0


class Gate:
    """Where held steps wait: counts who came and lets all go on when it is opened."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.finished: list[str] = []
        self.started: list[str] = []
        self._changed = threading.Condition()

    def pass_through(self, name: str) -> None:
        """Waits until the gate is open."""
        with self._changed:
            self.started.append(name)
            self._changed.notify_all()
        if not self.open.wait(PATIENCE):
            raise TimeoutError("nobody opened the gate")
        with self._changed:
            self.finished.append(name)

    def wait_for(self, count: int) -> None:
        """Returns when so many steps have come."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.started) >= count, PATIENCE)


class HoldManifest(WorkflowBlockManifest):
    """Gives the image on when the gate is open."""

    type: Any = "test/hold@v1"
    image: Selector(kind=[IMAGE_KIND])
    tag: str | Selector(kind=[STRING_KIND]) = ""

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("image", [IMAGE_KIND])]


class FailManifest(WorkflowBlockManifest):
    """Fails in a way that is asked for."""

    type: Any = "test/fail@v1"
    image: Selector(kind=[IMAGE_KIND])
    how: str | Selector(kind=[STRING_KIND]) = "error"
    secret: str | Selector(kind=[SECRET_KIND]) = ""

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("image", [IMAGE_KIND])]


def _typed(manifest: type[WorkflowBlockManifest], type_id: str) -> type[WorkflowBlockManifest]:
    from typing import Literal

    from pydantic import create_model

    return create_model(manifest.__name__, __base__=manifest, type=(Literal[type_id], ...))


_HOLD = _typed(HoldManifest, "test/hold@v1")
_FAIL = _typed(FailManifest, "test/fail@v1")


class HoldBlock(WorkflowBlock):
    """Waits at the gate."""

    returns_futures = False

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        return ["gate"]

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return _HOLD

    def run(self, image: WorkflowImageData, tag: str) -> BlockResult:
        self._gate.pass_through(tag)
        return {"image": image}


class FailBlock(WorkflowBlock):
    """Raises."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return _FAIL

    def run(self, image: WorkflowImageData, how: str, secret: str) -> BlockResult:
        if how == "exit":
            raise SystemExit("the thread goes down")
        raise ValueError(f"this block always fails {secret}".rstrip())


def _image(width: int = 32, height: int = 24) -> np.ndarray:
    return np.random.default_rng(5).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.fixture
def jpeg() -> str:
    """A small JPEG as base64 text."""
    return base64.b64encode(cv2.imencode(".jpg", _image())[1]).decode()


@pytest.fixture
def gate() -> Iterator[Gate]:
    """The gate of all `test/hold@v1` steps; opened at the end of a test, whatever happens."""
    made = Gate()
    yield made
    made.open.set()


@pytest.fixture
def registry(gate: Gate) -> BlockRegistry:
    """The core blocks and those of this file."""
    plugin = Plugin(source="test", blocks=(HoldBlock, FailBlock), initializers={"gate": gate})
    return BlockRegistry([core_plugin(), plugin])


MakeApp = Callable[..., Any]


@pytest.fixture
def make_app(registry: BlockRegistry) -> Iterator[MakeApp]:
    """Makes applications with settings given by name; their sessions end with the test."""
    sessions: list[Session] = []

    def make(**given: Any) -> Any:
        given.setdefault("shutdown_timeout", 10.0)
        settings = ServerSettings(**given)
        session = Session(settings.session_settings(), registry=registry)
        sessions.append(session)
        return create_app(session, settings)

    yield make
    for session in sessions:
        session.close()


@pytest.fixture
def client(make_app: MakeApp) -> Iterator[TestClient]:
    """A client of an application with two workers."""
    with TestClient(make_app(max_concurrency=2)) as made:
        yield made


class LiveServer:
    """A server on a free port, in a thread."""

    def __init__(self, app: Any) -> None:
        self.host: ServerHost = app.state.host
        self.server: DrainingServer = make_server(app)
        self._thread = threading.Thread(target=self.server.run, name="live-server")

    @property
    def url(self) -> str:
        """Where it listens."""
        port = self.server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, port = self.server.servers[0].sockets[0].getsockname()[:2]
        return str(host), int(port)

    def start(self) -> None:
        """Returns when it listens."""
        self._thread.start()
        wait_until(lambda: self.server.started)

    def begin_stop(self) -> None:
        """Asks it to end, as SIGTERM does."""
        self.server.should_exit = True

    def stop(self) -> None:
        """Ends it and returns when it has ended."""
        self.begin_stop()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def wait_until(condition: Callable[[], bool]) -> None:
    """Returns when a condition holds; fails when it does not within a long time."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], None]:
    """`wait_until` for tests."""
    return wait_until


@pytest.fixture
def live(make_app: MakeApp, gate: Gate) -> Callable[..., Any]:
    """Context manager: a live server with settings given by name."""

    @contextmanager
    def run(**given: Any) -> Iterator[LiveServer]:
        given.setdefault("max_concurrency", 2)
        server = LiveServer(make_app(port=0, **given))
        server.start()
        try:
            yield server
        finally:
            gate.open.set()
            server.stop()

    return run


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    """A client for live servers that waits long and uses no proxy."""
    with httpx.Client(timeout=PATIENCE, trust_env=False) as made:
        yield made


def workflow(*steps: dict[str, Any], outputs: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A definition with an image input and steps in a chain; a step names its own `image`."""
    last = steps[-1]["name"]
    return {
        "version": "1.0",
        "inputs": [
            {"type": "WorkflowImage", "name": "image"},
            {"type": "WorkflowParameter", "name": "tag", "default_value": ""},
        ],
        "steps": list(steps),
        "outputs": outputs
        or [{"type": "JsonField", "name": "image", "selector": f"$steps.{last}.image"}],
    }


@pytest.fixture
def holding() -> dict[str, Any]:
    """Four steps: two grayscale ones round one that waits at the gate, and a last one."""
    return workflow(
        {"type": "roboflow_core/convert_grayscale@v1", "name": "a", "image": "$inputs.image"},
        {"type": "test/hold@v1", "name": "b", "image": "$steps.a.image", "tag": "$inputs.tag"},
        {"type": "test/hold@v1", "name": "c", "image": "$steps.b.image", "tag": "after"},
        {"type": "roboflow_core/convert_grayscale@v1", "name": "d", "image": "$steps.c.image"},
        outputs=[{"type": "JsonField", "name": "tag", "selector": "$inputs.tag"}],
    )


@pytest.fixture
def failing() -> dict[str, Any]:
    """One step that fails as the input `tag` says."""
    return workflow(
        {
            "type": "test/fail@v1",
            "name": "bad",
            "image": "$inputs.image",
            "how": "$inputs.tag",
        },
    )


@pytest.fixture
def coins() -> dict[str, Any]:
    """Counts bright discs; the number is `n`, the drawn picture `im`."""
    return {
        "version": "1.0",
        "inputs": [{"type": "WorkflowImage", "name": "image"}],
        "steps": [
            {"type": "roboflow_core/convert_grayscale@v1", "name": "g", "image": "$inputs.image"},
            {
                "type": "roboflow_core/threshold@v1",
                "name": "t",
                "image": "$steps.g.image",
                "threshold_type": "binary",
                "thresh_value": 120,
                "max_value": 255,
            },
            {
                "type": "roboflow_core/contours_detection@v1",
                "name": "c",
                "image": "$steps.t.image",
                "line_thickness": 1,
            },
        ],
        "outputs": [
            {"type": "JsonField", "name": "n", "selector": "$steps.c.number_contours"},
            {"type": "JsonField", "name": "im", "selector": "$steps.c.image"},
        ],
    }


@pytest.fixture
def discs() -> Callable[[int], str]:
    """A picture with so many bright discs, as base64 JPEG."""

    def draw(count: int) -> str:
        pixels = np.full((120, 400, 3), 40, np.uint8)
        for place in range(count):
            cv2.circle(pixels, (30 + 50 * place, 60), 18, (200, 200, 200), -1)
        return base64.b64encode(cv2.imencode(".jpg", pixels)[1]).decode()

    return draw


@pytest.fixture
def run_body() -> Callable[..., dict[str, Any]]:
    """The body of a run of a definition on a base64 image."""

    def body(definition: dict[str, Any], image: str, **more: Any) -> dict[str, Any]:
        inputs = {"image": {"type": "base64", "value": image}, **more.pop("inputs", {})}
        return {"specification": definition, "inputs": inputs, **more}

    return body
