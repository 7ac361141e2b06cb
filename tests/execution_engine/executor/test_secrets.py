"""Secrets do not show in what leaves a run: serialised results, errors, their causes."""

from __future__ import annotations

import json
import traceback
from typing import Any

import pytest

from execution_engine.block_api import Selector
from execution_engine.errors import RuntimeInputError, StepExecutionError, WorkflowError
from execution_engine.executor.report import RunReport
from execution_engine.executor.secrets import Secrets
from execution_engine.kinds.catalogue import INTEGER_KIND, SECRET_KIND
from tests.execution_engine.toy_blocks import (
    batch_input,
    block,
    parameter,
    run,
    step,
    workflow,
)

SECRET = "sk-ABCdef0123456789"
STARS = "sk********89"
KEY = parameter("key", kind=["secret"])


def same(x: Any) -> dict[str, Any]:
    return {"out": x}


def bearer(x: Any) -> dict[str, Any]:
    return {"out": f"Bearer {x}"}


def fails(x: Any) -> dict[str, Any]:
    try:
        raise KeyError(x)
    except KeyError as error:
        raise ValueError(f"no access with {x!r}") from error


BLOCKS = [
    block("t/same@v1", same),
    block("t/bearer@v1", bearer),
    block("t/fails@v1", fails),
    block("t/store@v1", lambda: {"key": SECRET}, outputs={"key": [SECRET_KIND]}),
]


def result(*steps: dict[str, Any], **outputs: str) -> dict[str, Any]:
    definition = workflow([KEY], steps, outputs)
    (row,) = run(definition, {"key": SECRET}, *BLOCKS, serialize_results=True)
    return row


class TestResults:
    def test_declared(self) -> None:
        """An output of the kind itself is starred."""
        assert result(o="$inputs.key") == {"o": STARS}

    def test_another_kind(self) -> None:
        """A step that hands a secret on as anything does not reveal it."""
        steps = [
            step("t/same@v1", "a", x="$inputs.key"),
            step("t/bearer@v1", "b", x="$steps.a.out"),
        ]
        assert result(*steps, o="$steps.a.out", p="$steps.b.*") == {
            "o": STARS,
            "p": {"out": f"Bearer {STARS}"},
        }

    def test_made_by_a_step(self) -> None:
        """A secret that a step fetched is starred wherever it goes."""
        steps = [step("t/store@v1", "s"), step("t/bearer@v1", "b", x="$steps.s.key")]
        assert result(*steps, o="$steps.b.out") == {"o": f"Bearer {STARS}"}

    def test_several_kinds(self) -> None:
        """A value that may be a secret counts as one, whatever kind comes first."""
        definition = workflow([parameter("k", kind=["*", "secret"])], [], {"o": "$inputs.k"})
        assert run(definition, {"k": SECRET}, serialize_results=True) == [{"o": STARS}]

    def test_default_and_nested(self) -> None:
        """Defaults count, and secrets inside lists and objects."""
        definition = workflow(
            [parameter("k", {"a": [SECRET]}, kind=["secret"]), parameter("p")],
            [],
            {"o": "$inputs.p"},
        )
        rows = run(definition, {"p": {"x": ["-", SECRET]}}, serialize_results=True)
        assert rows == [{"o": {"x": ["-", STARS]}}]

    def test_batch(self) -> None:
        """Each element of a batch of secrets is one."""
        definition = workflow(
            [batch_input("k", kind=["secret"])],
            [step("t/bearer@v1", "b", x="$inputs.k")],
            {"o": "$steps.b.out"},
        )
        rows = run(definition, {"k": [SECRET, "other-secret"]}, *BLOCKS, serialize_results=True)
        assert rows == [{"o": f"Bearer {STARS}"}, {"o": "Bearer ot********et"}]

    def test_python_objects_stay(self) -> None:
        """Without serialising the host gets the values, and in the report what to star."""
        report = RunReport()
        definition = workflow([KEY], [], {"o": "$inputs.key"})
        assert run(definition, {"key": SECRET}, report=report) == [{"o": SECRET}]
        assert report.secrets is not None
        assert report.secrets.in_text(f"<{SECRET}>") == f"<{STARS}>"
        assert SECRET not in repr(report)

    def test_no_secrets(self) -> None:
        """A workflow without secrets has nothing to star."""
        report = RunReport()
        run(workflow([parameter("p")], [], {"o": "$inputs.p"}), {"p": SECRET}, report=report)
        assert report.secrets is None


def error_text(caught: pytest.ExceptionInfo[WorkflowError]) -> str:
    """All that a host could print or send of an error."""
    fields = {name: str(value) for name, value in vars(caught.value).items()}
    return json.dumps(fields) + "".join(traceback.format_exception(caught.value))


class TestErrors:
    def test_of_a_step(self) -> None:
        """Neither message nor causes nor the kept traceback show the secret."""
        definition = workflow([KEY], [step("t/fails@v1", "f", x="$inputs.key")], {})
        with pytest.raises(StepExecutionError) as caught:
            run(definition, {"key": SECRET}, *BLOCKS)
        assert str(caught.value) == f"no access with '{STARS}'"
        assert SECRET not in error_text(caught)

    def test_of_a_parameter(self) -> None:
        """A secret that a field does not take is refused without showing it, its cause neither."""
        taker = block(
            "t/int@v1", same, fields={"x": int | Selector(kind=[INTEGER_KIND, SECRET_KIND])}
        )
        definition = workflow([KEY], [step("t/int@v1", "s", x="$inputs.key")], {})
        with pytest.raises(RuntimeInputError, match="takes a whole number") as caught:
            run(definition, {"key": SECRET}, taker)
        assert SECRET not in error_text(caught)

    def test_of_decoding(self) -> None:
        """A batch of secrets that does not decode is refused without showing them."""
        definition = workflow([batch_input("k", kind=["secret", "integer"])], [], {})
        with pytest.raises(RuntimeInputError, match="does not decode") as caught:
            run(definition, {"k": [SECRET]})
        assert SECRET not in error_text(caught)


class TestSecrets:
    @pytest.mark.parametrize(
        ("secret", "text", "expected"),
        [
            ("abcdefgh", "1 abcdefgh 2 abcdefgh", "1 ab********gh 2 ab********gh"),
            ("abcdef", "x-abcdef", "x-********"),
            # Too short to be looked for inside texts.
            ("a", "a", "********"),
            ("a", "banana", "banana"),
            ("", "banana", "banana"),
        ],
    )
    def test_places(self, secret: str, text: str, expected: str) -> None:
        """Stars stand in place of every occurrence, a short secret counts only as a whole text."""
        assert Secrets([secret]).in_text(text) == expected

    def test_cut_by_a_message(self) -> None:
        """The beginning of a long secret counts, since messages cut long values."""
        secret = "0123456789abcdefghijklmnopqrstuvwxyz"
        assert Secrets([secret]).in_text(f"got '{secret[:30]}...'") == "got '01********yz...'"

    def test_line_feeds_and_quotes(self) -> None:
        """A secret is found in the form that messages and JSON give it."""
        secret = "-----BEGIN PRIVATE KEY-----\nMIIE'\"x\n-----END PRIVATE KEY-----"
        for text in (secret, repr(secret), json.dumps(secret)):
            assert "MIIE" not in Secrets([secret]).in_text(f"<{text}>")

    def test_one_secret_begins_like_another(self) -> None:
        """The longer of two secrets that begin alike is starred as a whole."""
        common = "0123456789abcdef"
        secrets = Secrets([common + "AAAA", common + "AAAABBBBCCCC"])
        assert secrets.in_text(f"{common}AAAABBBBCCCC") == "01********CC"
        assert secrets.in_text(f"{common}AAAA") == "01********AA"
