"""Writes text entries to files, one each or many to a log. Decides no permissions."""

from __future__ import annotations

import csv
import io
import json
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock

MAX_OPEN_LOGS = 256


class EntryRefused(Exception):
    """An entry is not of the format of the file; the text is for the user."""


@dataclass(slots=True)
class _Log:
    path: Path
    header: list[str] | None
    entries: int = 0


class LogFiles:
    """The logs that one sink is writing, by folder, prefix and format.

    Safe to use from several threads. Files are opened for each entry, so nothing is held open and
    another process may move a log away.
    """

    def __init__(self) -> None:
        self._logs: OrderedDict[tuple[Path, str, str], _Log] = OrderedDict()
        self._lock = Lock()

    def write_separate(self, directory: Path, prefix: str, file_type: str, content: str) -> Path:
        """Writes an entry to a new file and returns its path.

        Raises:
            OSError: the file cannot be written.
        """
        return _write_new(directory, prefix, file_type, with_newline(content))

    def append(
        self, directory: Path, prefix: str, file_type: str, content: str, max_entries: int
    ) -> Path:
        """Adds an entry to the current log and returns its path.

        A new log begins when there is none, when it is full, when its file was taken away, or, for
        CSV, when the header of the entry is another one. In a CSV log the header stands once; JSON
        becomes one line an entry.

        Raises:
            EntryRefused: the entry is not of the format `file_type` names.
            OSError: the file cannot be written.
        """
        header, body = None, content
        if file_type == "csv":
            header, body = split_csv_header(content)
        elif file_type == "json":
            content = body = one_line_json(content)
        extension = "jsonl" if file_type == "json" else file_type
        key = (directory, prefix, extension)
        with self._lock:
            log = self._logs.get(key)
            if (
                log is None
                or log.entries >= max_entries
                or log.header != header
                or not log.path.exists()
            ):
                path = _write_new(directory, prefix, extension, with_newline(content))
                log = self._logs[key] = _Log(path, header)
            elif body:
                with log.path.open("ab") as file:
                    file.write(with_newline(body).encode())
            log.entries += 1
            self._logs.move_to_end(key)
            if len(self._logs) > MAX_OPEN_LOGS:
                self._logs.popitem(last=False)
            return log.path


def split_csv_header(content: str) -> tuple[list[str], str]:
    """The first record of CSV text and the text after it; a header may span lines.

    Raises:
        EntryRefused: the text is no CSV.
    """
    text = io.StringIO(content, newline="")
    try:
        header = next(csv.reader(text), [])
    except csv.Error as error:
        raise EntryRefused(f"Invalid CSV content: {error}") from error
    return header, text.read()


def one_line_json(content: str) -> str:
    """JSON text on one line.

    Raises:
        EntryRefused: the text is no JSON.
    """
    try:
        return json.dumps(json.loads(content), ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        raise EntryRefused("Invalid JSON content") from error


def with_newline(content: str) -> str:
    """The text with an end of line."""
    return content if content.endswith("\n") else content + "\n"


def _write_new(directory: Path, prefix: str, extension: str, content: str) -> Path:
    """Writes UTF-8 to a file that did not exist, named by prefix and time."""
    data = content.encode()  # before the file exists: a failure leaves nothing behind
    stem = f"{prefix}_{datetime.now():%Y_%m_%d_%H_%M_%S_%f}"
    attempt = 0
    while True:
        suffix = f"_{attempt}" if attempt else ""
        path = directory / f"{stem}{suffix}.{extension}"
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("xb") as file:
                file.write(data)
            return path
        except FileExistsError:
            attempt += 1
