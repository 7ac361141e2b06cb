"""When a request is sent again, as a table, and how long a client waits."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from workflows.remote.retry import Failure, RetryPolicy, failure_of_status, retry_after

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


class TestAllows:
    @pytest.mark.parametrize(
        ("failure", "repeatable", "again"),
        [
            ("refused", True, True),
            ("refused", False, True),
            ("busy", True, True),
            ("busy", False, True),
            ("unavailable", True, True),
            ("unavailable", False, False),
            ("broken", True, True),
            ("broken", False, False),
        ],
    )
    def test_what_may_have_run_is_repeated_only_where_that_is_harmless(
        self, failure: Failure, repeatable: bool, again: bool
    ) -> None:
        """A refused or busy request never ran; all others may have."""
        assert RetryPolicy(3).allows(failure, 1, repeatable) is again

    def test_stops_after_the_last_repetition(self) -> None:
        """Two repetitions are three attempts."""
        policy = RetryPolicy(2)
        assert [policy.allows("busy", attempts, True) for attempts in (1, 2, 3)] == [
            True,
            True,
            False,
        ]

    @pytest.mark.parametrize("retries", [-1, 1.5, True])
    def test_refuses_what_is_no_number_of_repetitions(self, retries: object) -> None:
        """The text names the value."""
        with pytest.raises(ValueError, match=f"whole number from 0, got {retries!r}"):
            RetryPolicy(retries)  # type: ignore[arg-type]


class TestFailureOfStatus:
    @pytest.mark.parametrize(
        ("status", "content", "failure"),
        [
            (200, {}, None),
            (400, {}, None),
            (401, {}, None),
            (429, {"message": "queue"}, "busy"),
            (429, {"blocks_errors": [{"block_id": "notify"}]}, "unavailable"),
            (500, {}, None),
            (502, None, "unavailable"),
            (503, "text", "unavailable"),
            (504, {}, "unavailable"),
        ],
    )
    def test_table(self, status: int, content: object, failure: Failure | None) -> None:
        """A 429 with the error of a step comes from a run that had begun."""
        assert failure_of_status(status, content) == failure


class TestPause:
    def test_doubles_within_its_jitter(self) -> None:
        """The n-th pause lies in [0.5, 1) of first * 2^(n-1), and never over the longest."""
        low = RetryPolicy(9, 0.2, 1.0, draw=lambda: 0.0)
        high = RetryPolicy(9, 0.2, 1.0, draw=lambda: 0.999999)
        assert [round(low.pause(n), 6) for n in (1, 2, 3, 4, 99)] == [0.1, 0.2, 0.4, 0.5, 0.5]
        assert [round(high.pause(n), 3) for n in (1, 2, 3, 4, 99)] == [0.2, 0.4, 0.8, 1.0, 1.0]

    def test_is_never_shorter_than_the_server_asked(self) -> None:
        """`Retry-After` also lifts a pause over the longest."""
        policy = RetryPolicy(3, 0.2, 1.0)
        assert policy.pause(1, 7.0) == 7.0
        assert policy.pause(3, 0.0) > 0.3


class TestRetryAfter:
    @pytest.mark.parametrize(
        ("text", "seconds"),
        [
            (None, None),
            ("", None),
            ("3", 3.0),
            (" 12 ", 12.0),
            ("Mon, 30 Nov 2026 12:00:05 GMT", 5.0),
            ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
            ("soon", None),
            ("-4", None),
        ],
    )
    def test_table(self, text: str | None, seconds: float | None) -> None:
        """A number of seconds, or a date; what is neither is not there."""
        assert retry_after(text, NOW) == seconds
