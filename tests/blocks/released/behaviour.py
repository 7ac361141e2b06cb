"""Writes `blocks/behaviour.json`: for each block version the digest of its record, which lock files
hold. Run as `python -m tests.blocks.released.behaviour`; `--check` only says whether it is current.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from blocks.index import BEHAVIOUR_FILE
from blocks.indexing import ROOT
from tests.blocks.released.records import Record, read_records

HOW = "run: python -m tests.blocks.released.behaviour"


def behaviour_digest(record: Record) -> str:
    """`sha256:<hex>` of form, case and outputs of a record."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def behaviour_text(records: Mapping[str, Record]) -> str:
    """The text of `behaviour.json`: sorted, a version a line."""
    digests = {type_id: behaviour_digest(record) for type_id, record in records.items()}
    return json.dumps(digests, indent=1, sort_keys=True) + "\n"


def main(arguments: list[str], path: Path = ROOT / BEHAVIOUR_FILE) -> int:
    """Writes the file, or with `--check` fails when it is not current."""
    text = behaviour_text(read_records())
    current = path.is_file() and path.read_text(encoding="utf-8") == text
    if "--check" in arguments:
        if not current:
            sys.stderr.write(f"stale: {path}\n{HOW}\n")
        return 0 if current else 1
    if not current:
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
