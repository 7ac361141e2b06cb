"""The present moment in a time zone."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import ConfigDict, Field

from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import STRING_KIND, TIMESTAMP_KIND

ListedTimezone = Literal[
    "Etc/GMT+12", "Pacific/Pago_Pago", "Pacific/Honolulu", "Pacific/Marquesas", "America/Anchorage",
    "Pacific/Gambier", "America/Los_Angeles", "America/Denver", "America/Phoenix",
    "America/Chicago", "America/Mexico_City", "America/New_York", "America/Bogota",
    "America/Halifax", "America/Puerto_Rico", "America/St_Johns", "America/Sao_Paulo",
    "Atlantic/South_Georgia", "Atlantic/Azores", "Atlantic/Cape_Verde", "UTC", "Europe/London",
    "Europe/Berlin", "Africa/Lagos", "Europe/Kyiv", "Africa/Cairo", "Africa/Johannesburg",
    "Europe/Moscow", "Europe/Istanbul", "Africa/Nairobi", "Asia/Tehran", "Asia/Dubai", "Asia/Kabul",
    "Asia/Karachi", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Dhaka", "Asia/Yangon", "Asia/Bangkok",
    "Asia/Shanghai", "Australia/Eucla", "Asia/Tokyo", "Australia/Darwin", "Australia/Adelaide",
    "Australia/Sydney", "Pacific/Port_Moresby", "Australia/Lord_Howe", "Pacific/Guadalcanal",
    "Pacific/Norfolk", "Pacific/Fiji", "Pacific/Auckland", "Pacific/Chatham", "Pacific/Tongatapu",
    "Pacific/Apia", "Pacific/Kiritimati",
]  # fmt: skip


class CurrentTimeManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Current Time",
            "version": "v1",
            "short_description": "The present date and time in a time zone.",
            "long_description": (
                "Returns the present moment in a time zone: as a timestamp that other steps can "
                "work with, as ISO 8601 text, as a date (`2026-03-01`) and as a time of day "
                "(`17:45:10`). A time zone that comes from an input may be any name of the IANA "
                "data base."
            ),
            "license": "Apache-2.0",
            "block_type": "formatter",
            "search_keywords": ["clock", "date", "now", "timestamp", "timezone"],
        }
    )
    type: Literal["roboflow_core/current_time@v1"]
    timezone: ListedTimezone | Selector(kind=[STRING_KIND]) = Field(
        default="UTC",
        title="Time Zone",
        description="Name of the time zone in the IANA data base.",
        examples=["Europe/Berlin", "$inputs.timezone"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("timestamp", [TIMESTAMP_KIND]),
            OutputDefinition("iso_string", [STRING_KIND]),
            OutputDefinition("date", [STRING_KIND]),
            OutputDefinition("time", [STRING_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class CurrentTimeBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return CurrentTimeManifest

    def run(self, timezone: str) -> BlockResult:
        """`timestamp` with its zone, and the same moment as text."""
        now = datetime.now(find_timezone(timezone))
        return {
            "timestamp": now,
            "iso_string": now.isoformat(),
            "date": now.strftime("%Y-%m-%d"),
            "time": now.strftime("%H:%M:%S"),
        }


def find_timezone(name: str) -> tzinfo:
    """The time zone of a name in the IANA data base.

    Raises:
        ValueError: no zone of that name is known on this machine.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError) as error:
        raise InvalidFieldValueError(
            f"timezone {name!r} is not known on this machine; expected a name of the IANA data "
            "base such as 'Europe/Berlin' (the package `tzdata` brings the data base where the "
            "system has none)"
        ) from error
