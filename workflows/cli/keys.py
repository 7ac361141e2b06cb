"""`weftlens keys`: makes, lists and withdraws the API keys of a server. What is in the file is the
business of `workflows.server.security`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from workflows.cli.exit_codes import OK, USAGE
from workflows.cli.terminal import write, write_error, write_json
from workflows.server.security.key_file import add_key, read_keys, revoke_key
from workflows.server.security.keys import ApiKey, new_key


def create_key(
    file: Path,
    name: str,
    workflows: Sequence[str],
    specifications: bool,
    days: float | None,
    as_json: bool,
) -> int:
    """Makes a key, adds its hash to the file and prints the key, which is shown only here; gives
    the exit code.
    """
    if not name.strip() or not name.isprintable():
        write_error("--name takes printable text")
        return USAGE
    unprintable = [pattern for pattern in workflows if not pattern or not pattern.isprintable()]
    if unprintable:
        write_error("--workflow takes ids such as shop/count, with * and ? for any text")
        return USAGE
    if not workflows and not specifications:
        write_error("the key would permit nothing; give --workflow ID or --specifications")
        return USAGE
    now = datetime.now(UTC)
    try:
        expires = None if days is None else now + timedelta(days=days)
    except OverflowError:
        write_error("--days is beyond the calendar; leave it out for a key without an end")
        return USAGE
    text, key = new_key(name, workflows, specifications, expires, now)
    add_key(file, key)
    if as_json:
        write_json({"key": text, **_entry(key, now)})
        return OK
    write(text)
    write_error(f"Key {key.id} added to '{file}'. It is shown only now: the file holds its hash.")
    return OK


def list_keys(file: Path, as_json: bool) -> int:
    """Prints the keys of the file, without the keys themselves; gives the exit code."""
    now = datetime.now(UTC)
    keys = read_keys(file)
    if as_json:
        write_json([_entry(key, now) for key in keys])
        return OK
    for key in keys:
        entry = _entry(key, now)
        end = "no end" if key.expires is None else f"until {key.expires:%Y-%m-%d %H:%M} UTC"
        permits = [*key.workflows, *(["specifications"] if key.specifications else [])]
        write(f"{key.id}  {entry['state']:<8}  {end:<24}  {key.name}  [{', '.join(permits)}]")
    if not keys:
        write_error(f"'{file}' holds no keys")
    return OK


def withdraw_key(file: Path, key_id: str) -> int:
    """Withdraws a key; gives the exit code."""
    key = revoke_key(file, key_id)
    write(f"Key {key.id} ({key.name}) is revoked; running servers refuse it from now on.")
    return OK


def _entry(key: ApiKey, now: datetime) -> dict[str, object]:
    state = "valid" if key.is_valid(now) else "revoked" if key.revoked else "expired"
    return {
        "id": key.id,
        "name": key.name,
        "state": state,
        "created": key.created.isoformat(),
        "expires": None if key.expires is None else key.expires.isoformat(),
        "workflows": list(key.workflows),
        "specifications": key.specifications,
    }
