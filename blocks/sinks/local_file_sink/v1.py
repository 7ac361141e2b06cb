"""Writes text to files of the host, inside the folder that the host permits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from blocks.sinks.local_file_sink.log_files import EntryRefused, LogFiles
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import ForbiddenByHostError, InvalidFieldValueError
from execution_engine.kinds.catalogue import BOOLEAN_KIND, STRING_KIND
from execution_engine.value_text import short_text

# NUL, and lone surrogates, which UTF-8 does not have.
_NOT_IN_PATHS = re.compile("[\\x00\\ud800-\\udfff]")
SAVED = "Data saved successfully"


class LocalFileSinkManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Local File Sink",
            "version": "v1",
            "short_description": "Write text to files of the machine that runs the workflow.",
            "long_description": (
                "Writes text to a folder: every entry to a file of its own (`separate_files`), or "
                "entries one after another to a log that is continued in a new file after "
                "`max_entries_per_file` entries (`append_log`). In a CSV log the header stands "
                "once, and an entry with another header begins a new file; a JSON log holds one "
                "document a line. Files are named by prefix and time. The host must allow "
                "workflows to use its file system, and may name the one folder in which they may "
                "write."
            ),
            "license": "Apache-2.0",
            "block_type": "sink",
            "search_keywords": ["save", "csv", "json", "log", "disk"],
        }
    )
    type: Literal["roboflow_core/local_file_sink@v1"]
    content: Selector(kind=[STRING_KIND]) = Field(
        title="Content",
        description="Text to write.",
        examples=["$steps.csv_formatter.csv_content"],
    )
    file_type: Literal["csv", "json", "txt"] = Field(
        default="csv",
        title="File Type",
        description="Format of the text.",
        examples=["csv"],
    )
    output_mode: Literal["append_log", "separate_files"] = Field(
        title="Output Mode",
        description="Whether entries are collected in a log or written to files of their own.",
        examples=["append_log"],
    )
    target_directory: Selector(kind=[STRING_KIND]) | str = Field(
        title="Target Directory",
        description="Folder to write to; it is made when it does not exist.",
        examples=["results", "$inputs.directory"],
    )
    file_name_prefix: Selector(kind=[STRING_KIND]) | str = Field(
        default="workflow_output",
        title="File Name Prefix",
        description="What file names begin with.",
        examples=["camera_1"],
    )
    max_entries_per_file: int | Selector(kind=[STRING_KIND]) = Field(
        default=1024,
        title="Max Entries Per File",
        description="Entries after which a log is continued in a new file.",
        examples=[1024],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("error_status", [BOOLEAN_KIND]),
            OutputDefinition("message", [STRING_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class LocalFileSinkBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(
        self,
        allow_access_to_file_system: bool,
        allowed_write_directory: str | None,
        disable_sinks: bool,
    ) -> None:
        self._allowed = allow_access_to_file_system
        self._permitted = allowed_write_directory
        self._disabled = disable_sinks
        self._files = LogFiles()

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        return ["allow_access_to_file_system", "allowed_write_directory", "disable_sinks"]

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return LocalFileSinkManifest

    def run(
        self,
        content: str,
        file_type: str,
        output_mode: str,
        target_directory: str,
        file_name_prefix: str,
        max_entries_per_file: int | str,
    ) -> BlockResult:
        """`error_status` and `message`: whether the entry was written, and if not, why.

        Raises:
            ForbiddenByHostError: the host permits no access to files, or not to this place.
            ValueError: `max_entries_per_file` is no positive whole number.
        """
        if self._disabled:
            return {
                "error_status": False,
                "message": "Sinks are disabled on this host; nothing was written",
            }
        directory = self._permitted_directory(target_directory, file_name_prefix)
        max_entries = _positive_integer(max_entries_per_file)
        if not isinstance(content, str):
            return {
                "error_status": True,
                "message": f"Content must be text, got {type(content).__name__}",
            }
        try:
            if output_mode == "separate_files":
                self._files.write_separate(directory, file_name_prefix, file_type, content)
            else:
                self._files.append(directory, file_name_prefix, file_type, content, max_entries)
        except EntryRefused as error:
            return {"error_status": True, "message": str(error)}
        except (OSError, UnicodeEncodeError) as error:
            return {"error_status": True, "message": f"Data could not be saved: {error}"}
        return {"error_status": False, "message": SAVED}

    def _permitted_directory(self, target_directory: str, file_name_prefix: str) -> Path:
        if not self._allowed:
            raise ForbiddenByHostError(
                "local_file_sink may not use the file system of this host; the host allows it with "
                "the init parameter allow_access_to_file_system"
            )
        if _NOT_IN_PATHS.search(target_directory) or _NOT_IN_PATHS.search(file_name_prefix):
            raise ForbiddenByHostError(
                "target_directory and file_name_prefix must not hold the character NUL or half a "
                f"character, got {target_directory!r} and {file_name_prefix!r}"
            )
        directory = Path(target_directory).resolve()
        if self._permitted is not None:
            permitted = Path(self._permitted).resolve()
            if not directory.is_relative_to(permitted):
                raise ForbiddenByHostError(
                    f"target_directory {target_directory!r} lies outside the folder this host lets "
                    "workflows write to"
                )
        # The prefix may name a sub-folder but not lead out of the target by `..`, `/` or a link.
        place = (directory / f"{file_name_prefix}_").resolve()
        if not place.parent.is_relative_to(directory):
            raise ForbiddenByHostError(
                f"file_name_prefix {file_name_prefix!r} leads out of target_directory"
            )
        return directory


def _positive_integer(value: int | str) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidFieldValueError(
            f"max_entries_per_file must be a whole number, got {short_text(value)}"
        ) from error
    if number < 1:
        raise InvalidFieldValueError(
            f"max_entries_per_file must be at least 1, got {short_text(number)}"
        )
    return number
