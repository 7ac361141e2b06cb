"""Answers in strange shapes: each is told as such, none ends in an error of Python."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from tests.blocks.models.colour_models import three_rectangles
from tests.workflows.remote.conftest import FakeMaker, Reply, Request
from tests.workflows.remote.test_client import UNKNOWN_BLOCK
from tests.workflows.remote.test_repetition import sink_definition
from workflows import ChromeTraceProfiler, RemoteServer, run_remotely
from workflows.remote import MissingOnServerError
from workflows.remote.connection import Connection
from workflows.remote.errors import (
    RemoteServerError,
    ServerAnswerError,
    ServerRefusedError,
)
from workflows.remote.knowledge import CHECK
from workflows.remote.retry import RetryPolicy


class TestAnswers:
    @pytest.mark.parametrize(
        ("reply", "error", "words"),
        [
            (Reply(b""), ServerAnswerError, "no JSON object: ''"),
            (Reply(b"", 204), ServerRefusedError, "status 204"),
            (Reply(b"{"), ServerAnswerError, "no JSON object: '{'"),
            (Reply(b"\xff\xfe\x00"), ServerAnswerError, "no JSON object"),
            (Reply(b"<html>", headers={"Content-Type": "text/html"}), ServerAnswerError, "<html>"),
            (Reply(None), ServerAnswerError, "no JSON object: None"),
            (Reply("outputs"), ServerAnswerError, "no JSON object: 'outputs'"),
            (Reply({"outputs": {"a": 1}}), ServerAnswerError, "without `outputs`"),
            (Reply({"outputs": None}), ServerAnswerError, "without `outputs`"),
            (Reply({"outputs": [None]}), ServerAnswerError, "without `outputs`"),
            (Reply({"outputs": [{"blurred": "text"}]}), ServerAnswerError, "does not read as"),
            (Reply({"outputs": [{"blurred": [1]}]}), ServerAnswerError, "does not read as"),
            (Reply(b"[" * 5000 + b"]" * 5000), ServerAnswerError, "no JSON object"),
            (Reply(list(range(100_000))), ServerAnswerError, r"no JSON object: \[0, 1, 2"),
            (Reply({"message": ["a"], "error_type": 5}, 400), ServerRefusedError, r"\['a'\]"),
            (Reply({"message": "m", "error_type": [[]]}, 500), ServerRefusedError, "m"),
            (Reply([[[]]], 500), ServerRefusedError, "status 500"),
            (Reply(b"{}", 101), ServerAnswerError, "does not answer as an HTTP server"),
        ],
    )
    def test_of_a_run(
        self,
        fake_server: FakeMaker,
        blur_definition: dict[str, Any],
        picture: np.ndarray,
        reply: Reply,
        error: type[RemoteServerError],
        words: str,
    ) -> None:
        """Each names the server and is none of Python's own errors."""
        server = fake_server(lambda request: reply)
        with pytest.raises(error, match=words) as caught:
            run_remotely(blur_definition, {"image": picture}, server=server.url, check=False)
        assert server.url in str(caught.value)
        assert len(str(caught.value)) < 1000

    @pytest.mark.parametrize("shape", [5, "x", {"a": 1}, [1], [{"kind": []}, "x"], True])
    def test_of_the_question_what_is_missing(
        self, fake_server: FakeMaker, blur_definition: dict[str, Any], shape: Any
    ) -> None:
        """What is no list of objects is no answer to it."""
        server = fake_server(lambda request: Reply({"missing": shape}))
        with pytest.raises(ServerAnswerError, match="does not say what it lacks: `missing` must"):
            run_remotely(blur_definition, {}, server=server.url)

    @pytest.mark.parametrize("strange", [5, [], {}, None, [[]]])
    def test_members_of_what_is_missing(
        self, fake_server: FakeMaker, blur_definition: dict[str, Any], strange: Any
    ) -> None:
        """Are taken for text, so that the error is told all the same."""
        names = ("step", "block_type", "kind", "wanted", "available", "where")
        server = fake_server(lambda request: Reply({"missing": [dict.fromkeys(names, strange)]}))
        with pytest.raises(MissingOnServerError) as caught:
            run_remotely(blur_definition, {}, server=server.url)
        assert caught.value.missing[0].kind == "block"

    @pytest.mark.parametrize(
        "described",
        [{}, {"inputs": [], "outputs": {}}, {"inputs": {}, "outputs": None}, [], "x"],
    )
    def test_of_the_question_what_a_workflow_takes(
        self, fake_server: FakeMaker, described: Any
    ) -> None:
        """What is no interface is told as such."""
        server = fake_server(lambda request: Reply(described))
        with (
            RemoteServer(server.url) as remote,
            pytest.raises(ServerAnswerError, match=r"describes the workflow|no JSON object"),
        ):
            remote.describe("shop/count")

    @pytest.mark.parametrize("trace", [5, "events", {"a": 1}, [1], [None]])
    def test_a_trace_of_another_shape(
        self, fake_server: FakeMaker, blur_definition: dict[str, Any], trace: Any
    ) -> None:
        """Does not end in an error of Python."""
        content = {"outputs": [{"blurred": None}], "profiler_trace": trace}
        server = fake_server(lambda request: Reply(content))
        with pytest.raises(ServerAnswerError, match="`profiler_trace` that is no list of objects"):
            run_remotely(
                blur_definition,
                {"image": np.zeros((1, 1, 3), np.uint8)},
                server=server.url,
                check=False,
                profiler=ChromeTraceProfiler(),
            )

    @pytest.mark.parametrize(
        "header",
        [
            "soon",
            "-5",
            "1e9",
            "Mon, 99 Foo 2024 00:00:00 GMT",
            "Mon, 1 Jan 2024 00:00:00 +99999999",
        ],
    )
    def test_a_strange_retry_after(self, fake_server: FakeMaker, header: str) -> None:
        """Counts as none."""
        replies = [Reply({}, 429, {"Retry-After": header}), Reply({"ok": 1})]
        server = fake_server(lambda request: replies[len(server.requests) - 1])
        made = Connection(server.url, policy=RetryPolicy(2, first_pause=0.01))
        assert made.post("/x", {}, timeout=30, repeatable=True).content == {"ok": 1}
        made.close()

    @pytest.mark.parametrize(
        "content",
        [
            b'{"outputs": [{"found": [NaN, Infinity, -Infinity]}]}',
            b'\xef\xbb\xbf{"outputs": [{"found": [NaN, 1e999, -1e999]}]}',
        ],
    )
    def test_numbers_that_json_has_not(self, fake_server: FakeMaker, content: bytes) -> None:
        """Servers in Python write them; they are what a local run gives."""

        def answer(request: Request) -> Reply:
            if request.path.endswith("describe_interface"):
                return Reply({"inputs": {}, "outputs": {"found": ["*"]}})
            return Reply(content)

        server = fake_server(answer)
        [row] = run_remotely("shop/count", {}, server=server.url)
        assert math.isnan(row["found"][0])
        assert row["found"][1:] == [math.inf, -math.inf]

    def test_names_and_texts_of_every_script(self, fake_server: FakeMaker) -> None:
        """Travel both ways as they are, with any content type."""
        texts = {"größe": "日本語 😀 \u0000 \u2028", "ключ": 'a"b\\c', "": "e\u0301"}

        def answer(request: Request) -> Reply:
            if request.path.endswith("describe_interface"):
                return Reply({"inputs": {}, "outputs": {name: ["*"] for name in texts}})
            content = json.dumps({"outputs": [request.body["inputs"]]}, ensure_ascii=False)
            return Reply(content.encode(), headers={"Content-Type": "text/plain; charset=latin-1"})

        server = fake_server(answer)
        assert run_remotely("lädchen/zählen", texts, server=server.url) == [texts]
        assert server.paths[-1] == "/l%C3%A4dchen/workflows/z%C3%A4hlen"

    def test_an_object_that_only_looks_like_an_image_is_kept(self, fake_server: FakeMaker) -> None:
        """It is not lost where no image was declared."""
        value = {"type": "base64", "value": "not an image", "more": 1}

        def answer(request: Request) -> Reply:
            if request.path.endswith("describe_interface"):
                return Reply({"inputs": {}, "outputs": {"found": ["*"]}})
            return Reply({"outputs": [{"found": [value]}]})

        server = fake_server(answer)
        assert run_remotely("shop/count", {}, server=server.url) == [{"found": [value]}]

    def test_values_nested_deeper_than_python_goes(self, fake_server: FakeMaker) -> None:
        """The error names the output; `serialize` gives them."""
        depth = 900

        def answer(request: Request) -> Reply:
            if request.path.endswith("describe_interface"):
                return Reply({"inputs": {}, "outputs": {"found": ["*"]}})
            return Reply(b'{"outputs": [{"found": ' + b"[" * depth + b"]" * depth + b"}]}")

        server = fake_server(answer)
        with pytest.raises(ServerAnswerError, match=r"'found' .* nested too deep"):
            run_remotely("shop/count", {}, server=server.url)
        assert run_remotely("shop/count", {}, server=server.url, serialize=True)

    @pytest.mark.parametrize(
        ("slices", "words"),
        [
            ({"type": "base64", "value": ""}, "must be a list, got an object"),
            ("text", "must be a list, got text 'text'"),
        ],
    )
    def test_a_single_value_where_the_workflow_gives_lists(
        self, fake_server: FakeMaker, picture: np.ndarray, slices: Any, words: str
    ) -> None:
        """Is not taken for one."""
        workflow: dict[str, Any] = {
            "version": "1.0",
            "inputs": [{"type": "WorkflowImage", "name": "image"}],
            "steps": [
                {"type": "roboflow_core/image_slicer@v2", "name": "cut", "image": "$inputs.image"}
            ],
            "outputs": [{"type": "JsonField", "name": "all", "selector": "$steps.cut.slices"}],
        }
        server = fake_server(lambda request: Reply({"outputs": [{"all": slices}]}))
        with pytest.raises(ServerAnswerError, match=words):
            run_remotely(workflow, {"image": picture}, server=server.url, check=False)
        workflow["outputs"][0]["selector"] = "$steps.cut.*"
        server.answer = lambda request: Reply({"outputs": [{"all": [5]}]})
        with pytest.raises(ServerAnswerError, match="must be an object of all outputs of its step"):
            run_remotely(workflow, {"image": picture}, server=server.url, check=False)

    def test_a_sink_is_told_of_a_bad_answer_once(self, fake_server: FakeMaker) -> None:
        """Whatever the answer, the run is not repeated."""
        server = fake_server(lambda request: Reply(b"<html>", 502))
        with pytest.raises(ServerRefusedError):
            run_remotely(sink_definition(), {"text": "x"}, server=server.url, check=False)
        assert len(server.requests) == 1

    def test_an_unknown_workflow_with_a_bad_check(self, fake_server: FakeMaker) -> None:
        """Answers without the member are those of a server that lacks nothing."""
        server = fake_server(
            lambda request: Reply({} if request.path == CHECK else {"outputs": [], "inputs": {}})
        )
        with pytest.raises(ServerAnswerError, match="describes the workflow"):
            run_remotely(UNKNOWN_BLOCK, {}, server=server.url)


class TestModels:
    @pytest.mark.parametrize(
        "prediction",
        [
            5,
            None,
            "x",
            [],
            {},
            {"image": {"width": 4, "height": 4}},
            {"image": {"width": 4, "height": 4}, "predictions": 5},
            {"image": {"width": 4, "height": 4}, "predictions": [5]},
            {"image": {"width": 4, "height": 4}, "predictions": [{"x": "a"}]},
            {"image": {"width": "a", "height": None}, "predictions": []},
        ],
    )
    @pytest.mark.parametrize(
        "task",
        [
            "object-detection",
            "instance-segmentation",
            "keypoint-detection",
            "semantic-segmentation",
            "classification",
            "multi-label-classification",
        ],
    )
    def test_predictions_of_another_shape(
        self, fake_server: FakeMaker, prediction: Any, task: str
    ) -> None:
        """Are told as such; none ends in an error of Python."""
        model = {"model_id": "a/1", "task": task, "task_type": task}
        replies = {"/model/add": Reply({"models": [5, model]})}
        server = fake_server(lambda request: replies.get(request.path, Reply([prediction])))
        with (
            RemoteServer(server.url) as remote,
            pytest.raises(ServerAnswerError, match=f"of the server {server.url} cannot be read"),
        ):
            remote.models.infer("a/1", three_rectangles())
