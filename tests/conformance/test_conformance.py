"""Runs every recorded workflow case: definition and inputs in, result as recorded out.

A case whose blocks are not in this build is skipped and runs by itself once they are.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from execution_engine import BlockRegistry, discover_registry
from tests.conformance import images
from tests.conformance.compare import Comparison, Difference, first_difference
from tests.conformance.normalise import mask_ids, plain
from tests.conformance.runner import Case, load_cases, run_case, what_is_missing

CASES = load_cases()


@pytest.fixture(scope="module")
def registry() -> BlockRegistry:
    """All installed blocks, found once."""
    return discover_registry()


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: Case, registry: BlockRegistry) -> None:
    """A recorded workflow gives its recorded result."""
    missing = what_is_missing(case, registry)
    if missing:
        pytest.skip(missing)
    difference = first_difference(case, run_case(case, registry))
    assert difference is None, f"{case['title']}: {difference}"


class TestCases:
    def test_ids_are_file_names(self) -> None:
        """A case is found by its id, and no two share one."""
        assert len({case["id"] for case in CASES}) == len(CASES) == 108

    @pytest.mark.parametrize("key", json.loads(images.MANIFEST.read_text(encoding="utf-8")))
    def test_pictures_are_the_recorded_ones(self, key: str) -> None:
        """Every picture has the pixels that the results were recorded with."""
        if key.startswith("skimage:"):
            pytest.importorskip("skimage")
            source = {"$skimage": key.removeprefix("skimage:")}
        elif key.startswith("asset:"):
            source = {"$asset": key.removeprefix("asset:")}
        else:
            name, _, arguments = key.partition("{")
            source = {"$image": name, "args": json.loads("{" + arguments)}
        name, picture = images.picture_of(source)
        recorded = json.loads(images.MANIFEST.read_text(encoding="utf-8"))
        assert (name, images.digest(picture)) == (key, recorded[key])


class TestComparison:
    """The comparison must be able to fail: each row is a pair and whether it fits."""

    @pytest.mark.parametrize(
        ("expected", "got", "settings", "fits"),
        [
            ({"a": 1}, {"a": 1.0}, {}, True),
            ({"a": 1}, {"a": 1.0005}, {}, True),
            ({"a": 1}, {"a": 1.01}, {}, False),
            ({"a": 1}, {"a": 1.01}, {"atol": 0.1}, True),
            ({"a": 1}, {"a": True}, {}, False),
            ({"a": True}, {"a": True}, {}, True),
            ({"a": True}, {"a": False}, {}, False),
            ({"a": 1}, {}, {}, False),
            ({}, {"a": 1}, {}, False),
            ({}, {"a": 1}, {"rules": [{"path": "a", "optional": True}]}, True),
            ({"a": 1}, {"a": 2}, {"rules": [{"path": "a", "ignore": True}]}, True),
            ({"a": 1}, {"a": "1"}, {"rules": [{"path": "a", "type_only": True}]}, False),
            ({"a": "xyz"}, {"a": "abc"}, {"rules": [{"path": "a", "regex": "^a"}]}, True),
            ([1, 2], [2, 1], {}, False),
            ([1, 2], [2, 1], {"rules": [{"path": "", "unordered": True}]}, False),
            ({"l": [1, 2]}, {"l": [2, 1]}, {"rules": [{"path": "l", "unordered": True}]}, True),
            ({"l": [1, 1]}, {"l": [2, 1]}, {"rules": [{"path": "l", "unordered": True}]}, False),
            ([1], [1, 1], {}, False),
            ("<uuid:1> <uuid:1>", "<uuid:7> <uuid:7>", {}, True),
            ("<uuid:1> <uuid:1>", "<uuid:7> <uuid:8>", {}, False),
            ("<uuid:1> <uuid:2>", "<uuid:7> <uuid:7>", {}, False),
            (
                {"t": [3, 5, 3]},
                {"t": [1, 2, 1]},
                {"rules": [{"path": "t.*", "relabel": True}]},
                True,
            ),
            (
                {"t": [3, 5, 3]},
                {"t": [1, 2, 2]},
                {"rules": [{"path": "t.*", "relabel": True}]},
                False,
            ),
            ({"image": {"width": None}}, {"image": {"width": 8}}, {}, True),
            ({"image": {"width": None}}, {"image": {"width": 8}}, {"strict": True}, False),
            (None, 0, {}, False),
            ({"$error": {"class": ["A", "B"]}}, {"$error": {"class": "B"}}, {}, True),
            ({"$error": {"class": "A"}}, {"$error": {"class": "B"}}, {}, False),
        ],
    )
    def test_rows(self, expected: object, got: object, settings: dict, fits: bool) -> None:
        """Rules and tolerances let through what they say and nothing else."""
        if fits:
            Comparison(settings).value(expected, got, "")
        else:
            with pytest.raises(Difference):
                Comparison(settings).value(expected, got, "")

    def test_polygons_compare_as_areas(self) -> None:
        """Another chain of points round the same area fits, a shifted area does not."""
        square = {"points": [[0, 0], [100, 0], [100, 100], [0, 100]]}
        finer = {"points": [[0, 0], [50, 0], [100, 0], [100, 100], [0, 100]]}
        moved = {"points": [[40, 0], [140, 0], [140, 100], [40, 100]]}
        Comparison({}).value(square, finer, "")
        with pytest.raises(Difference, match="polygon IoU"):
            Comparison({}).value(square, moved, "")

    def test_pictures_compare_by_pixels(self) -> None:
        """The same pixels fit; another size, tone or arrangement does not."""

        class Image:
            parent_metadata = None

            def __init__(self, pixels: np.ndarray) -> None:
                self.numpy_image = pixels

        recorded = plain(Image(images.checker()))
        Comparison({}).value(recorded, plain(Image(images.checker())), "")
        for other in (images.checker(w=161), images.solid(160, 120), images.checker(cell=21)):
            with pytest.raises(Difference):
                Comparison({}).value(recorded, plain(Image(other)), "")


class TestMaskIds:
    def test_numbers_follow_first_appearance(self) -> None:
        """The same id gets the same number; ids that were given stay."""
        first, second, given = (f"{digit * 8}-0000-0000-0000-000000000000" for digit in "abc")
        tree = {"b": [first, second, f"x.{first}"], "a": given}
        assert mask_ids(tree, {given}) == {"a": given, "b": ["<uuid:1>", "<uuid:2>", "x.<uuid:1>"]}
