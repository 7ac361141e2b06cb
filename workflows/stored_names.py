"""Where a stored workflow is: the files that an id in a workspace may stand for. Reads none."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

SUFFIX = ".json"
# File systems take names of 255 bytes, the suffix among them.
LONGEST_NAME = 250


def is_plain_name(name: object) -> bool:
    """Whether a name can be that of a file in one folder, and of no other place."""
    return (
        isinstance(name, str)
        and bool(name.strip())
        and len(name.encode("utf-8", "replace")) <= LONGEST_NAME
        and name.isprintable()
        and not name.startswith(".")
        and not any(character in "/\\:" for character in name)
        and os.path.basename(name) == name
    )


def candidates(folder: Path, workspace: str, workflow_id: str) -> list[tuple[str, Path]]:
    """What plain names may stand for, best first: `<folder>/<workspace>/<id>.json`, whose own id is
    `<workspace>/<id>`, then `<folder>/<id>.json`, whose own id is `<id>`.
    """
    # File systems differ in how they write an accented letter; people do not see it.
    forms = dict.fromkeys(
        (unicodedata.normalize(form, workspace), unicodedata.normalize(form, workflow_id))
        for form in ("NFC", "NFD")
    )
    return [
        *(
            (f"{workspace}/{workflow_id}", folder / space / f"{name}{SUFFIX}")
            for space, name in forms
        ),
        *((workflow_id, folder / f"{name}{SUFFIX}") for _, name in forms),
    ]


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path is a file that lies in the folder after all links."""
    return path.resolve().is_relative_to(folder.resolve()) and path.is_file()
