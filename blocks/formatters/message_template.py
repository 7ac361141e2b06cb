"""Text with `{{ $parameters.name }}` places, as messages and drawn text use it.

Values are computed elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PLACE = re.compile(r"\{\{\s*\$parameters\.(\w+)\s*\}\}")


def fill_message(text: str, parameters: Mapping[str, Any]) -> str:
    """The text with every place filled with the text of its parameter.

    A place whose parameter is not given stays as it is, so that a reader sees what is missing.
    """
    return PLACE.sub(
        lambda place: str(parameters[place[1]]) if place[1] in parameters else place[0], text
    )
