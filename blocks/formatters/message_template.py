"""Text with `{{ $parameters.name }}` places, as messages and drawn text use it.

Values are computed elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from execution_engine.errors import InvalidFieldValueError

MOST_CHARACTERS = 1_000_000
PLACE = re.compile(r"\{\{\s*\$parameters\.(\w+)\s*\}\}")


def fill_message(text: str, parameters: Mapping[str, Any]) -> str:
    """The text with every place filled with the text of its parameter.

    A place whose parameter is not given stays as it is, so that a reader sees what is missing.

    Raises:
        InvalidFieldValueError: the text would have more than `MOST_CHARACTERS` characters.
    """
    left = MOST_CHARACTERS

    def filled(place: re.Match[str]) -> str:
        nonlocal left
        result = str(parameters[place[1]]) if place[1] in parameters else place[0]
        left -= len(result)
        if left < 0:
            raise InvalidFieldValueError(
                f"The message would have more than {MOST_CHARACTERS} characters with its "
                "parameters filled in."
            )
        return result

    return PLACE.sub(filled, text)
