"""`weftlens schema`: the JSON Schema of workflow definitions or of lock files."""

from __future__ import annotations

from pathlib import Path

from workflows.cli.exit_codes import OK, PROBLEM
from workflows.cli.terminal import json_text, output_json, write, write_error
from workflows.definition_schema import definition_schema
from workflows.locking.lock_file import lock_schema
from workflows.session import Session


def schema_command(out: Path | None, of_locks: bool = False) -> int:
    """Writes the schema to a file or to stdout; gives the exit code."""
    if of_locks:
        schema = lock_schema()
    else:
        with Session() as session:
            schema = definition_schema(session)
    if out is None:
        write(output_json(schema, indent=1))
        return OK
    text = json_text(schema, indent=1)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        write_error(f"'{out}' cannot be written: {error.strerror or error}")
        return PROBLEM
    write(f"Schema: {out}")
    return OK
