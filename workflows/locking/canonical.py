"""One text for equal JSON data, and its digest. Knows no workflow."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from workflows.model_folder.package_files import PREFIX

# What a run reads of a definition; other members are notes of editors.
_READ_BY_A_RUN = ("version", "inputs", "steps", "outputs", "dynamic_blocks_definitions")


def json_digest(data: Any) -> str:
    """SHA-256 of JSON data as `sha256:<hex>`; white space and the order of keys do not count.

    Raises:
        TypeError, ValueError: it is no JSON data.
    """
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return PREFIX + hashlib.sha256(text.encode("ascii")).hexdigest()


def definition_digest(definition: Mapping[str, Any]) -> str:
    """Digest of what a run reads of a workflow definition. Top-level members that the language does
    not know, such as `$schema` or notes of an editor, do not count.

    Raises:
        TypeError, ValueError: it is no JSON data.
    """
    return json_digest({key: definition[key] for key in _READ_BY_A_RUN if key in definition})
