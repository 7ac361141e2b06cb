"""Font files for letters of any script. Draws nothing."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Literal, get_args

from blocks.parameters import choice

FontFamily = Literal[
    "Anonymous Pro", "Courier Prime", "Fira Code", "Geist", "Geist Mono", "IBM Plex Mono",
    "Inconsolata", "Inter", "JetBrains Mono", "Lato", "Montserrat", "Noto Sans", "Nunito Sans",
    "Open Sans", "PT Mono", "Roboto", "Roboto Mono", "Source Code Pro", "Space Mono", "Work Sans",
]  # fmt: skip

_PROPORTIONAL = {
    "Geist", "Inter", "Lato", "Montserrat", "Noto Sans", "Nunito Sans", "Open Sans", "Roboto",
    "Work Sans",
}  # fmt: skip
# These come with Matplotlib.
_SUBSTITUTES = {True: "DejaVuSans.ttf", False: "DejaVuSansMono.ttf"}
_FAMILIES = {name: name for name in get_args(FontFamily)}

_LOG = logging.getLogger("weftlens.fonts")


def font_file(field: str, family: str) -> Path:
    """The file of a font family: the installed one, else one of DejaVu that is alike.

    Which families are installed differs between machines; none comes with this package. The
    substitute is DejaVu Sans, or DejaVu Sans Mono for families whose letters are equally wide.

    Raises:
        ValueError: the family is none of `FontFamily`; the text names the field.
    """
    name = choice(field, family, _FAMILIES)
    return _installed(name) or _substitute(name)


def _installed(name: str) -> Path | None:
    from matplotlib.font_manager import FontProperties, findfont

    try:
        found = Path(findfont(FontProperties(family=[name]), fallback_to_default=False))
    except ValueError:  # there is none
        return None
    return found if found.is_file() else None


def _substitute(name: str) -> Path:
    from matplotlib import get_data_path

    path = Path(get_data_path()) / "fonts" / "ttf" / _SUBSTITUTES[name in _PROPORTIONAL]
    _LOG.info("The font %s is not installed; text is written in %s.", name, path.stem)
    return path
