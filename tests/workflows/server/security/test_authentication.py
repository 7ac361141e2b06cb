"""Requests with and without keys, through the whole application."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from tests.workflows.server.security.attack_bodies import (
    parameter,
    png,
    run,
    workflow,
)
from workflows.server.app import create_app
from workflows.server.security.key_file import add_key, revoke_key
from workflows.server.security.keys import new_key
from workflows.server.settings import ServerSettings
from workflows.session import Session

ECHO = workflow([parameter("x")], [], {"o": "$inputs.x"})
RUN = "/workflows/run"


class House:
    """A server with keys, and what a client of it needs."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "keys.json"
        self.texts = {
            "all": self.add("all", ["*"], True),
            "shop": self.add("shop", ["shop/*"], False),
            "old": self.add("old", ["*"], True, datetime.now(UTC) - timedelta(days=1)),
        }
        (folder / "stored" / "shop").mkdir(parents=True)
        (folder / "stored" / "shop" / "echo.json").write_text(json.dumps(ECHO))
        (folder / "stored" / "bank").mkdir()
        (folder / "stored" / "bank" / "echo.json").write_text(json.dumps(ECHO))
        self.settings = ServerSettings(
            api_keys=self.file, workflows=folder / "stored", max_concurrency=2
        )
        self.session = Session(self.settings.session_settings())
        app = create_app(self.session, self.settings)
        self.client = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)

    def add(self, name: str, workflows: list[str], specs: bool, end: Any = None) -> str:
        text, key = new_key(name, workflows, specs, end)
        add_key(self.file, key)
        return text

    def bearer(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.texts[name]}"}


@pytest.fixture
def house(tmp_path: Path) -> Any:
    made = House(tmp_path)
    with made.client:
        yield made
    made.session.close()


class TestWays:
    @pytest.mark.parametrize(
        "send",
        [
            lambda house, key: house.client.post(
                RUN, json=run(ECHO, x=1), headers={"authorization": f"Bearer {key}"}
            ),
            lambda house, key: house.client.post(
                RUN, json=run(ECHO, x=1), headers={"authorization": f"bearer   {key} "}
            ),
            lambda house, key: house.client.post(f"{RUN}?api_key={key}", json=run(ECHO, x=1)),
            lambda house, key: house.client.post(f"{RUN}?a=1&api%5Fkey={key}", json=run(ECHO, x=1)),
            lambda house, key: house.client.post(RUN, json={**run(ECHO, x=1), "api_key": key}),
        ],
        ids=["header", "header in other words", "query", "query written differently", "body"],
    )
    def test_each_way(self, send: Callable[[House, str], Any], house: House) -> None:
        """The key is found in the header, in the query and in the body; a wrong one is refused."""
        assert send(house, house.texts["all"]).json() == {"outputs": [{"o": 1}]}
        wrong = send(house, house.texts["all"][:-2] + "AA")
        assert wrong.status_code == 401
        assert wrong.headers["www-authenticate"].startswith("Bearer")

    def test_no_key(self, house: House) -> None:
        """Without a key every route but the probes is closed, those that do not exist as well."""
        for method, path in (
            ("POST", RUN), ("GET", "/model/registry"), ("GET", "/openapi.json"), ("GET", "/docs"),
            ("GET", "/metrics"), ("GET", "/nothing/here"), ("POST", "/shop/workflows/echo"),
            ("POST", "/model/clear"), ("POST", "/parts-seg/1"), ("POST", "/workflows/validate"),
        ):  # fmt: skip
            assert house.client.request(method, path, json={}).status_code == 401, path
        for path in ("/healthz", "/info"):
            assert house.client.get(path).status_code == 200

    def test_different_keys(self, house: House) -> None:
        """Two keys in one request are a mistake or a trick."""
        answer = house.client.post(
            f"{RUN}?api_key={house.texts['shop']}", json=run(ECHO), headers=house.bearer("all")
        )
        assert answer.status_code == 400
        assert "different API keys" in answer.text

    @pytest.mark.parametrize("value", [None, 5, [], {"a": 1}, "", True])
    def test_keys_of_another_type(self, value: Any, house: House) -> None:
        """A key that is no text is no key."""
        answer = house.client.post(RUN, json={**run(ECHO), "api_key": value})
        assert answer.status_code in (400, 401)


class TestScopes:
    def test_a_key_for_some_workflows(self, house: House) -> None:
        """It runs those, and nothing else."""
        headers = house.bearer("shop")
        allowed = house.client.post(
            "/shop/workflows/echo", json={"inputs": {"x": 2}}, headers=headers
        )
        assert allowed.json() == {"outputs": [{"o": 2}]}
        for method, path, body in (
            ("POST", "/bank/workflows/echo", {"inputs": {}}),
            ("POST", "/bank/workflows/nothing", {"inputs": {}}),
            ("POST", RUN, run(ECHO, x=1)),
            ("POST", "/workflows/describe_interface", {"specification": ECHO}),
            ("POST", "/workflows/validate", ECHO),
            ("GET", "/model/registry", None),
            ("POST", "/model/add", {"model_id": "parts-seg/1"}),
            ("POST", "/model/clear", {}),
            ("POST", "/infer/object_detection", {"model_id": "a/1", "image": png()}),
            ("POST", "/a/1", None),
        ):
            answer = house.client.request(method, path, json=body, headers=headers)
            assert answer.status_code == 403, (path, answer.text)

    def test_an_expired_key(self, house: House) -> None:
        """It is as good as none."""
        answer = house.client.post(RUN, json=run(ECHO), headers=house.bearer("old"))
        assert answer.status_code == 401

    def test_a_revoked_key(self, house: House) -> None:
        """It ends at once."""
        headers = house.bearer("all")
        assert house.client.post(RUN, json=run(ECHO, x=1), headers=headers).status_code == 200
        revoke_key(house.file, house.texts["all"].split("_")[1])
        assert house.client.post(RUN, json=run(ECHO, x=1), headers=headers).status_code == 401

    def test_without_the_file(self, house: House) -> None:
        """A file that is gone closes the house."""
        house.file.unlink()
        answer = house.client.post(RUN, json=run(ECHO), headers=house.bearer("all"))
        assert answer.status_code == 503
        assert str(house.file) not in answer.text


class TestGuessing:
    def test_an_address_is_barred(self, house: House) -> None:
        """After some wrong keys the address waits, right keys from it as well."""
        statuses = [
            house.client.post(
                RUN, json=run(ECHO), headers={"authorization": f"Bearer weft_{i:012x}_x"}
            ).status_code
            for i in range(30)
        ]
        assert statuses[:10] == [401] * 10
        assert set(statuses[11:]) == {429}
        answer = house.client.post(RUN, json=run(ECHO), headers=house.bearer("all"))
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) >= 1

    def test_keys_in_bodies_count(self, house: House) -> None:
        """So do those in the body."""
        statuses = {
            house.client.post(RUN, json={**run(ECHO), "api_key": f"guess{i}"}).status_code
            for i in range(20)
        }
        assert statuses == {401, 429}


class TestLogs:
    def test_no_key_shows(self, house: House, caplog: pytest.LogCaptureFixture) -> None:
        """Neither the log nor an answer holds a key, a right or a wrong one, wherever it was."""
        caplog.set_level(logging.DEBUG)
        wrong = "weft_000000000000_" + "Z" * 43
        for key in (house.texts["all"], wrong):
            answers = [
                house.client.post(f"{RUN}?api_key={key}", json=run({"steps": key})),
                house.client.post(f"{RUN}?api_key={key}&api_key=b", json=run(ECHO)),
                house.client.post(RUN, json={**run({}), "api_key": key}),
                house.client.get(f"/x?api_key={key}", headers={"authorization": f"Bearer {key}"}),
            ]
            shown = "\n".join(
                [answer.text for answer in answers]
                + [str(vars(record)) for record in caplog.records
                   if not record.name.startswith("httpx")]
            )  # fmt: skip
            assert key.split("_", 2)[2] not in shown

    @pytest.mark.parametrize("name", ["x-request-id", "x-forwarded-for", "user-agent"])
    def test_no_line_can_be_forged(
        self, name: str, house: House, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Control characters of headers and paths make no second line."""
        caplog.set_level(logging.DEBUG)
        forged = "x\x85INFO forged\u2028line"
        answer = house.client.get(
            "/model/%0d%0aINFO%20forged", headers={name: forged.encode("utf-8")}
        )
        assert answer.status_code in (400, 401)
        from workflows.server.observability.json_log import JsonFormatter

        for record in caplog.records:
            if record.name.startswith("weftlens"):
                assert "\n" not in JsonFormatter().format(record).rstrip("\n")
