"""Secrets of a run show in nothing that a server sends or logs, whatever steps make of them."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from tests.workflows.server.security.attack_bodies import (
    image_input,
    parameter,
    png,
    run,
    step,
    workflow,
)
from workflows.server.app import create_app
from workflows.server.settings import ServerSettings
from workflows.session import Session

SECRET = 'sk-Live/abc"DEF+0123456789 xyz'
SHORT = "hunter2!"
NUMBER = 4929123456789012
KEY = parameter("key", kind=["secret"])


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    settings = ServerSettings(max_concurrency=1)
    session = Session(settings.session_settings())
    app = create_app(session, settings, close_session=True)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as made:
        yield made


def operations(*chain: dict[str, Any]) -> dict[str, Any]:
    return step("property_definition@v1", data="$inputs.key", operations=list(chain))


def template(text: str) -> dict[str, Any]:
    return step("string_template@v1", template=text, data={"key": "$inputs.key"})


OUT = {"out": "$steps.s.output"}
RUNS = {
    "an input as output": workflow([KEY], [], {"out": "$inputs.key"}),
    "all outputs of a step": workflow([KEY], [template("{key}")], {"out": "$steps.s.*"}),
    "inside a text": workflow([KEY], [template("Bearer {key}!")], OUT),
    "twice in a text": workflow([KEY], [template("{key}{key}")], OUT),
    "as Python shows it": workflow([KEY], [template("{key!r}")], OUT),
    "in ASCII": workflow([KEY], [template("{key!a}")], OUT),
    "padded": workflow([KEY], [template("{key:*^80}")], OUT),
    "cut": workflow([KEY], [template("{key:.20}")], OUT),
    "in lower case": workflow([KEY], [operations({"type": "StringToLowerCase"})], OUT),
    "in upper case": workflow([KEY], [operations({"type": "StringToUpperCase"})], OUT),
    "in a table": workflow(
        [KEY], [step("csv_formatter@v1", columns_data={"key": "$inputs.key"})],
        {"out": "$steps.s.csv_content"},
    ),
    "after other steps": workflow(
        [KEY],
        [
            step("string_template@v1", "a", template="a{key}", data={"key": "$inputs.key"}),
            step("string_template@v1", template="b{x}", data={"x": "$steps.a.output"}),
        ],
        {"out": "$steps.s.output", "all": "$steps.a.*"},
    ),
    "as the first that is not empty": workflow(
        [KEY],
        [step("first_non_empty_or_default@v1", data=["$inputs.key"], default="")],
        OUT,
    ),
}  # fmt: skip
FAILURES = {
    "an error of a template": workflow([KEY], [template("{key:d}")], OUT),
    "an error of an operation": workflow(
        [KEY], [operations({"type": "ToNumber", "cast_to": "float"})], OUT
    ),
    "an error of a lookup": workflow(
        [KEY], [operations({"type": "LookupTable", "lookup_table": {"a": 1}})], OUT
    ),
    "an error of a parameter": workflow(
        [KEY, image_input()],
        [step("image_blur@v1", image="$inputs.image", kernel_size="$inputs.key")],
        {"out": "$steps.s.image"},
    ),
}


def is_shown(secret: str, text: str) -> bool:
    """Whether a secret, a good part of its beginning, or one of its written forms is in a text."""
    forms = [secret[:16], quote(secret, safe=""), base64.b64encode(secret.encode()).decode()[:16]]
    lower = text.replace("\\", "").lower()
    return any(form.lower() in lower for form in forms)


class TestAnswers:
    @pytest.mark.parametrize("name", [*RUNS, *FAILURES])
    @pytest.mark.parametrize("secret", [SECRET, SHORT])
    def test_nothing_shows(
        self, name: str, secret: str, client: TestClient, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Neither the answer, its trace, nor the log holds the secret."""
        caplog.set_level(logging.DEBUG, "weftlens")
        definition = (RUNS | FAILURES)[name]
        body = run(definition, key=secret, image={"type": "base64", "value": png()})
        answer = client.post("/workflows/run", json={**body, "enable_profiling": True})
        if name in RUNS:
            assert answer.status_code == 200, answer.text
        else:
            assert 400 <= answer.status_code < 500, answer.text
        assert not is_shown(secret, answer.text), answer.text
        assert not is_shown(secret, " ".join(str(vars(record)) for record in caplog.records))

    def test_the_beginning_of_a_secret(self, client: TestClient) -> None:
        """A good part of a secret is as good as the secret."""
        half = operations({"type": "StringSubSequence", "start": 0, "end": 18})
        answer = client.post("/workflows/run", json=run(workflow([KEY], [half], OUT), key=SECRET))
        assert answer.status_code == 200
        assert not is_shown(SECRET, answer.text)

    def test_a_secret_number(self, client: TestClient) -> None:
        """A secret that is a number shows neither as number nor as text."""
        definition = workflow([KEY], [template("n{key}")], {**OUT, "same": "$inputs.key"})
        answer = client.post("/workflows/run", json=run(definition, key=NUMBER))
        assert answer.status_code == 200
        assert str(NUMBER) not in answer.text

    def test_other_texts_stay(self, client: TestClient) -> None:
        """What is no secret is not starred."""
        definition = workflow(
            [KEY, parameter("x")],
            [step("string_template@v1", template="{x}", data={"x": "$inputs.x"})],
            OUT,
        )
        answer = client.post("/workflows/run", json=run(definition, key=SECRET, x="sk-Live, x"))
        assert answer.json() == {"outputs": [{"out": "sk-Live, x"}]}
