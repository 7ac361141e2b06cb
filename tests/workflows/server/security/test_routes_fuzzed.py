"""Every route of the published interface with requests made from it: none fails inside."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
schemathesis = pytest.importorskip("schemathesis")

from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402

from workflows.server.app import create_app  # noqa: E402
from workflows.server.settings import ServerSettings  # noqa: E402
from workflows.session import Session  # noqa: E402

EXAMPLES_A_ROUTE = 2
MOST_SECONDS = 30.0
# What the interface has and this build has not says so with a status of its own.
NOT_BUILT = 501
NOT_READY = 503


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Any]:
    """An application of its own for each test: the end of its lifespan stops it for good."""
    chosen = ServerSettings(max_concurrency=1, workflows=tmp_path)
    session = Session(chosen.session_settings())
    yield create_app(session, chosen, close_session=True)
    session.close()


def check_routes(app: Any, examples: int) -> int:
    """Sends requests to all routes; gives how many were sent."""
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    sent = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy())
        @settings(
            max_examples=examples,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def send(case: Any) -> None:
            nonlocal sent
            sent += 1
            started = time.monotonic()
            answer = case.call(base_url="http://localhost")
            asked = f"{case.method} {case.path} {case.query} {case.body!r:.200}"
            probes = case.path == "/readyz" and answer.status_code == NOT_READY
            fine = answer.status_code < 500 or answer.status_code == NOT_BUILT or probes
            assert fine, f"{asked}: {answer.status_code} {answer.text[:500]}"
            assert time.monotonic() - started < MOST_SECONDS, asked

        send()
    return sent


class TestRoutes:
    def test_a_few_requests_each(self, app: Any) -> None:
        """No route answers with 5xx, whatever fits its description."""
        assert check_routes(app, EXAMPLES_A_ROUTE) > 20

    @pytest.mark.slow
    def test_many_requests_each(self, app: Any) -> None:
        """The same with many more."""
        assert check_routes(app, 150) > 1000


def test_the_interface_is_whole(app: Any) -> None:
    """The routes that are fuzzed are those of the interface, so that none is left out."""
    paths = app.openapi()["paths"]
    known = ("/workflows/run", "/{workspace}/workflows/{workflow_id}", "/{dataset}/{version}")
    assert {*known, "/infer/object_detection", "/workflows/validate", "/model/add"} <= set(paths)
