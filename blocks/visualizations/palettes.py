"""Colours of detections: palettes, and which row gets which colour. Draws nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from blocks.parameters import choice, whole_number
from blocks.visualizations.colour_text import NAMED_COLOURS, Bgr, colour_of
from execution_engine.errors import InvalidFieldValueError

if TYPE_CHECKING:
    import supervision as sv

PaletteName = Literal[
    "DEFAULT", "CUSTOM", "ROBOFLOW", "Matplotlib Viridis", "Matplotlib Plasma",
    "Matplotlib Inferno", "Matplotlib Magma", "Matplotlib Cividis", "Matplotlib Pastel1",
    "Matplotlib Pastel2", "Matplotlib Paired", "Matplotlib Accent", "Matplotlib Dark2",
    "Matplotlib Set1", "Matplotlib Set2", "Matplotlib Set3", "Matplotlib Tab10",
    "Matplotlib Tab20", "Matplotlib Tab20b", "Matplotlib Tab20c",
]  # fmt: skip
ColourAxis = Literal["INDEX", "CLASS", "TRACK"]

LARGEST_PALETTE = 4096
NO_COLOUR = NAMED_COLOURS["GREY"]
"""Colour of rows whose class or track is not known, which is what a negative id says."""

# Names as Matplotlib spells them.
_MATPLOTLIB = {
    "Matplotlib Viridis": "viridis",
    "Matplotlib Plasma": "plasma",
    "Matplotlib Inferno": "inferno",
    "Matplotlib Magma": "magma",
    "Matplotlib Cividis": "cividis",
    "Matplotlib Pastel1": "Pastel1",
    "Matplotlib Pastel2": "Pastel2",
    "Matplotlib Paired": "Paired",
    "Matplotlib Accent": "Accent",
    "Matplotlib Dark2": "Dark2",
    "Matplotlib Set1": "Set1",
    "Matplotlib Set2": "Set2",
    "Matplotlib Set3": "Set3",
    "Matplotlib Tab10": "tab10",
    "Matplotlib Tab20": "tab20",
    "Matplotlib Tab20b": "tab20b",
    "Matplotlib Tab20c": "tab20c",
}
_OWN_SIZE = ("DEFAULT", "ROBOFLOW", "CUSTOM")
_AXES = ("INDEX", "CLASS", "TRACK")


@dataclass(frozen=True, slots=True)
class RowColours:
    """The colours of a palette and the rule that gives each row one of them.

    Attributes:
        colours: BGR, 0 to 255 each; ids beyond the last start again at the first.
        axis: what of a row picks the colour.
    """

    colours: tuple[Bgr, ...]
    axis: str

    def indices(self, detections: sv.Detections) -> NDArray[np.int64]:
        """(n,) position of each row's colour in `with_grey`; the last one for negative ids.

        Raises:
            ValueError: the rows lack the ids that the axis goes by.
        """
        ids = _ids(detections, self.axis)
        count = len(self.colours)
        return np.where(ids < 0, count, ids % count)

    def colour_of_id(self, number: int) -> Bgr:
        """The colour of a class, track or place in a list; grey for negative ids."""
        return NO_COLOUR if number < 0 else self.colours[number % len(self.colours)]

    @property
    def with_grey(self) -> NDArray[np.uint8]:
        """(k + 1, 3) BGR: the colours, then the one of negative ids."""
        return np.array([*self.colours, NO_COLOUR], np.uint8)

    def palette(self) -> sv.ColorPalette:
        """`with_grey` for annotators, to be used with `indices` as custom look-up."""
        import supervision as sv

        return sv.ColorPalette([sv.Color.from_bgr_tuple(c) for c in (*self.colours, NO_COLOUR)])


def row_colours(
    color_palette: str, palette_size: int, custom_colors: Iterable[str], color_axis: str
) -> RowColours:
    """The colours that the four colour fields of a block describe.

    Args:
        color_palette: a name of `PaletteName`.
        palette_size: number of colours taken from a Matplotlib palette; the others have their own.
        custom_colors: colours as text, used when the palette is `CUSTOM`.
        color_axis: a name of `ColourAxis`.

    Raises:
        ValueError: a name is not known, or a colour or the size is not one; the text says which.
    """
    axis = choice("color_axis", color_axis, dict(zip(_AXES, _AXES, strict=True)))
    names = {**dict.fromkeys(_OWN_SIZE, None), **_MATPLOTLIB}
    matplotlib_name = choice("color_palette", color_palette, names)
    if matplotlib_name is not None:
        size = whole_number("palette_size", palette_size, minimum=1, maximum=LARGEST_PALETTE)
        colours = _matplotlib(matplotlib_name, size)
    elif color_palette == "CUSTOM":
        colours = _custom(custom_colors)
    else:
        colours = _supervision(color_palette)
    return RowColours(colours, axis)


def _custom(custom_colors: Any) -> tuple[Bgr, ...]:
    if isinstance(custom_colors, str) or not isinstance(custom_colors, Iterable):
        raise InvalidFieldValueError(
            f"Field `custom_colors` must be a list of colours, got {custom_colors!r}."
        )
    colours = tuple(
        colour_of(f"custom_colors[{index}]", text) for index, text in enumerate(custom_colors)
    )
    if not colours:
        raise InvalidFieldValueError(
            "Field `custom_colors` is empty; the CUSTOM palette needs at least one colour."
        )
    return colours


def _supervision(name: str) -> tuple[Bgr, ...]:
    import supervision as sv

    return tuple(colour.as_bgr() for colour in getattr(sv.ColorPalette, name).colors)


def _matplotlib(name: str, size: int) -> tuple[Bgr, ...]:
    from matplotlib import colormaps

    samples = colormaps[name].resampled(size)(np.arange(size))
    return tuple((int(b * 255), int(g * 255), int(r * 255)) for r, g, b, _ in samples)


def _ids(detections: sv.Detections, axis: str) -> NDArray[np.int64]:
    if axis == "INDEX":
        return np.arange(len(detections))
    name = "class_id" if axis == "CLASS" else "tracker_id"
    ids = getattr(detections, name)
    if ids is None:
        source = "a model" if axis == "CLASS" else "a tracker"
        raise InvalidFieldValueError(
            f"color_axis {axis} colours by {name}, which {source} gives and these detections lack; "
            "use INDEX, which needs no ids"
        )
    return np.asarray(ids).astype(np.int64)
