"""`current_time@v1`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from blocks.formatters.current_time.v1 import (
    CurrentTimeBlockV1,
    CurrentTimeManifest,
    ListedTimezone,
    find_timezone,
)


class TestRun:
    def test_outputs_are_one_moment(self) -> None:
        """All outputs tell the same present moment, in the zone that was asked for."""
        before = datetime.now(UTC)
        result: Any = CurrentTimeBlockV1().run("Asia/Kolkata")
        after = datetime.now(UTC)
        now = result["timestamp"]
        assert before <= now <= after
        assert now.utcoffset() == timedelta(hours=5, minutes=30)
        assert datetime.fromisoformat(result["iso_string"]) == now
        assert f"{result['date']}T{result['time']}" == now.isoformat()[:19]

    def test_unlisted_zone_from_a_reference(self) -> None:
        """A reference may deliver any zone of the data base."""
        result: Any = CurrentTimeBlockV1().run("Europe/Paris")
        assert str(result["timestamp"].tzinfo) == "Europe/Paris"


class TestFindTimezone:
    @pytest.mark.parametrize("name", get_args(ListedTimezone))
    def test_every_listed_zone_is_known(self, name: str) -> None:
        """The zones that the field offers exist."""
        assert find_timezone(name).utcoffset(datetime(2026, 1, 1)) is not None

    @pytest.mark.parametrize(
        "name", ["Nope", "", "America", "../etc/passwd", "/etc/passwd", "a\0b", None, 5]
    )
    def test_unknown_zone_is_named(self, name: Any) -> None:
        """What is no zone, a folder or path among them, gives one clear error with the name."""
        with pytest.raises(ValueError, match="is not known on this machine") as caught:
            find_timezone(name)
        assert repr(name) in str(caught.value)


class TestManifest:
    def test_literal_outside_the_list_is_refused(self) -> None:
        """A literal zone must be one of the list."""
        with pytest.raises(ValidationError):
            CurrentTimeManifest(type="roboflow_core/current_time@v1", name="t", timezone="Nope")
