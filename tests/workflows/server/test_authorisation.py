"""Which routes ask for a key: all but the probes and /info, and each for the right permission."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from workflows.server.security.key_file import add_key
from workflows.server.security.keys import new_key

# Clients ask for the name of the server without a key.
OPEN = {"/healthz", "/readyz", "/info"}


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """A key for stored workflows of the shop, and one for all that is no stored workflow."""
    found = {}
    for name, workflows, specifications in (("shop", ("shop/*",), False), ("all", (), True)):
        found[name], record = new_key(name, workflows, specifications)
        add_key(tmp_path / "keys.json", record)
    return found


@pytest.fixture
def guarded(make_app: Any, keys: dict[str, str], tmp_path: Path, coins: Any) -> Iterator[Any]:
    """A client of a server that needs keys."""
    folder = tmp_path / "workflows" / "shop"
    folder.mkdir(parents=True)
    (folder / "count.json").write_text(json.dumps(coins), encoding="utf-8")
    app = make_app(api_keys=tmp_path / "keys.json", workflows=tmp_path / "workflows")
    with TestClient(app) as client:
        yield client


def _requests(client: TestClient) -> list[tuple[str, str]]:
    """(method, path) of every route, names filled in."""
    found = []
    for path, operations in client.app.openapi()["paths"].items():  # type: ignore[attr-defined]
        filled = path
        for part in path.split("/"):
            if part.startswith("{"):
                filled = filled.replace(part, "x")
        found += [(method.upper(), filled) for method in operations if path not in OPEN]
    return found


class TestKeys:
    def test_are_needed_everywhere(self, guarded: TestClient) -> None:
        """Without a key every route answers 401, whatever its body."""
        requests = _requests(guarded)
        assert len(requests) > 20
        for method, path in requests:
            answer = guarded.request(method, path, json={} if method == "POST" else None)
            assert answer.status_code == 401, (method, path, answer.text)
        for path in OPEN:
            assert guarded.get(path).status_code == 200

    def test_permit_what_they_say(
        self, guarded: TestClient, keys: dict[str, str], coins: Any, discs: Any, run_body: Any
    ) -> None:
        """A key for a workspace runs its workflows only; one for specifications those only."""
        body = run_body(coins, discs(1))
        stored = {"inputs": body["inputs"]}
        expected = {
            ("shop", "/shop/workflows/count"): 200,
            ("shop", "/other/workflows/count"): 403,
            ("shop", "/workflows/run"): 403,
            ("all", "/workflows/run"): 200,
            ("all", "/shop/workflows/count"): 403,
        }
        for (name, path), status in expected.items():
            content = body if path == "/workflows/run" else stored
            header = {"Authorization": f"Bearer {keys[name]}"}
            assert guarded.post(path, json=content, headers=header).status_code == status
            in_body = content | {"api_key": keys[name]}
            assert guarded.post(path, json=in_body).status_code == status

    def test_hold_for_the_own_id_of_a_file(
        self, guarded: TestClient, keys: dict[str, str], tmp_path: Path, coins: Any, discs: Any
    ) -> None:
        """A file at the top serves every workspace, but only keys that permit its own id; to others
        it is not there, however they ask for it.
        """
        stored = tmp_path / "workflows"
        for name in ("other", "count", "shop_other"):
            (stored / f"{name}.json").write_text(json.dumps(coins), encoding="utf-8")
        for name, pattern in (("top", "other"), ("every", "*")):
            keys[name], record = new_key(name, (pattern,), False)
            add_key(tmp_path / "keys.json", record)
        image = {"inputs": {"image": {"type": "base64", "value": discs(1)}}}
        pipeline = {"video_configuration": {"video_reference": "a.mp4"}}
        expected = {
            ("shop", "shop", "count"): 200,
            ("shop", "shop", "other"): 404,
            ("shop", "shop", "missing"): 404,
            ("shop", "other", "other"): 403,
            ("top", "shop", "other"): 200,
            ("top", "any", "other"): 200,
            ("top", "any", "count"): 403,
            ("every", "shop", "other"): 200,
            ("every", "any", "count"): 200,
        }
        for (key, workspace, name), status in expected.items():
            header = {"Authorization": f"Bearer {keys[key]}"}
            route = f"/{workspace}/workflows/{name}"
            answer = guarded.post(route, json=image, headers=header)
            assert answer.status_code == status, (key, route, answer.text)
            for what in ("describe_interface", "describe_workload"):
                answer = guarded.post(f"{route}/{what}", json={}, headers=header)
                assert answer.status_code == status, (key, route, what, answer.text)
            if status != 200:
                names = {"workspace_name": workspace, "workflow_id": name}
                body = {**pipeline, "processing_configuration": names}
                answer = guarded.post("/inference_pipelines/initialise", json=body, headers=header)
                assert answer.status_code == status, (key, names, answer.text)
        (stored / "shop" / "other.json").write_text(json.dumps(coins), encoding="utf-8")
        for key, status in (("shop", 200), ("top", 404)):
            header = {"Authorization": f"Bearer {keys[key]}"}
            answer = guarded.post("/shop/workflows/other", json=image, headers=header)
            assert answer.status_code == status

    def test_say_nothing_of_what_is_stored(
        self, guarded: TestClient, keys: dict[str, str], tmp_path: Path
    ) -> None:
        """A key that permits no workflow of a workspace does not tell which are there."""
        header = {"Authorization": f"Bearer {keys['shop']}"}
        there = guarded.post("/all/workflows/count", json={"inputs": {}}, headers=header)
        missing = guarded.post("/all/workflows/none", json={"inputs": {}}, headers=header)
        assert there.status_code == missing.status_code == 403
        top = tmp_path / "workflows" / "other.json"
        texts = []
        for _ in range(2):
            answer = guarded.post("/shop/workflows/other", json={"inputs": {}}, headers=header)
            texts.append((answer.status_code, answer.json()["message"]))
            top.write_text("{}", encoding="utf-8")
        assert texts[0] == texts[1]

    def test_are_whom_requests_are_queued_for(
        self, guarded: TestClient, keys: dict[str, str], coins: Any, discs: Any, run_body: Any
    ) -> None:
        """Requests with one key share a line, wherever they come from."""
        seen: list[str] = []
        admission = guarded.app.state.host.admission  # type: ignore[attr-defined]
        run = admission.run

        async def noting(work: Any, **more: Any) -> Any:
            seen.append(more["client"])
            return await run(work, **more)

        admission.run = noting
        body = run_body(coins, discs(1), api_key=keys["all"])
        guarded.post("/workflows/run", json=body)
        assert seen == [f"key {keys['all'].split('_')[1]}"]
