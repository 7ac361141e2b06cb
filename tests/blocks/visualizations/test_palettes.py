"""Palettes and which row gets which colour."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
import supervision as sv

from blocks.visualizations.palettes import NO_COLOUR, PaletteName, RowColours, row_colours
from tests.blocks.visualizations.scenes import objects

MATPLOTLIB = [name for name in get_args(PaletteName) if name.startswith("Matplotlib ")]


def bgr(palette: sv.ColorPalette) -> list[tuple[int, int, int]]:
    return [colour.as_bgr() for colour in palette.colors]


class TestRowColours:
    @pytest.mark.parametrize("name", MATPLOTLIB)
    @pytest.mark.parametrize("size", [1, 3, 10, 40])
    def test_matplotlib(self, name: str, size: int) -> None:
        """A Matplotlib palette of a size has the colours that supervision takes from it."""
        known = {text.lower(): text for text in _matplotlib_names()}
        spelled = known[name.removeprefix("Matplotlib ").lower()]
        expected = bgr(sv.ColorPalette.from_matplotlib(spelled, size))
        assert list(row_colours(name, size, [], "CLASS").colours) == expected

    @pytest.mark.parametrize("name", ["DEFAULT", "ROBOFLOW"])
    def test_own_palettes(self, name: str) -> None:
        """The palettes of supervision come whole, whatever size is asked for."""
        expected = bgr(getattr(sv.ColorPalette, name))
        assert list(row_colours(name, 3, [], "CLASS").colours) == expected

    def test_custom(self) -> None:
        """Custom colours are used in order, in every spelling."""
        colours = row_colours("CUSTOM", 10, ["#ff0000", "rgb(0, 255, 0)", "BLUE"], "CLASS")
        assert colours.colours == ((0, 0, 255), (0, 255, 0), (255, 0, 0))

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("RAINBOW", 10, [], "CLASS"), "`color_palette` must be one of .*'RAINBOW'"),
            (("DEFAULT", 10, [], "ROW"), "`color_axis` must be one of .*'ROW'"),
            (("CUSTOM", 10, [], "CLASS"), "`custom_colors` is empty"),
            (("CUSTOM", 10, "RED", "CLASS"), "`custom_colors` must be a list of colours"),
            (("CUSTOM", 10, ["RED", "reddish"], "CLASS"), r"`custom_colors\[1\]`: 'reddish' is no"),
            (("CUSTOM", 10, [3], "CLASS"), r"`custom_colors\[0\]` must be a colour as text, got 3"),
            (("Matplotlib Viridis", 0, [], "CLASS"), "`palette_size` must be a whole number from"),
            (("Matplotlib Viridis", 1e9, [], "CLASS"), "`palette_size` must be a whole number"),
        ],
    )
    def test_refused(self, arguments: tuple[Any, ...], message: str) -> None:
        """Names that are not known and values out of range are named."""
        with pytest.raises(ValueError, match=message):
            row_colours(*arguments)


class TestIndices:
    colours = RowColours(((1, 0, 0), (2, 0, 0), (3, 0, 0)), "CLASS")

    @pytest.mark.parametrize(
        ("axis", "expected"), [("CLASS", [0, 1, 2]), ("INDEX", [0, 1, 2]), ("TRACK", [1, 0, 2])]
    )
    def test_axis(self, axis: str, expected: list[int]) -> None:
        """Class id, place or track picks the colour; beyond the last it starts again."""
        colours = RowColours(self.colours.colours, axis)
        assert colours.indices(objects()).tolist() == expected

    @pytest.mark.parametrize(("axis", "column"), [("CLASS", "class_id"), ("TRACK", "tracker_id")])
    def test_negative_ids_are_grey(self, axis: str, column: str) -> None:
        """A negative class or track has the colour behind the palette, which is grey."""
        detections = objects()
        setattr(detections, column, np.array([-1, 0, -7]))
        colours = RowColours(self.colours.colours, axis)
        indices = colours.indices(detections)
        assert indices.tolist() == [3, 0, 3]
        assert tuple(colours.with_grey[3]) == NO_COLOUR == (128, 128, 128)
        assert colours.palette().by_idx(3).as_bgr() == NO_COLOUR
        assert colours.colour_of_id(-1) == NO_COLOUR
        assert colours.colour_of_id(4) == (2, 0, 0)

    @pytest.mark.parametrize(
        ("axis", "column", "source"),
        [("CLASS", "class_id", "a model"), ("TRACK", "tracker_id", "a tracker")],
    )
    def test_ids_are_missing(self, axis: str, column: str, source: str) -> None:
        """Without the ids that the axis goes by, the error says which and what to do."""
        detections = objects()
        setattr(detections, column, None)
        with pytest.raises(ValueError, match=f"{axis} colours by {column}, which {source}.*INDEX"):
            RowColours(self.colours.colours, axis).indices(detections)


def _matplotlib_names() -> list[str]:
    import matplotlib

    return list(matplotlib.colormaps)
