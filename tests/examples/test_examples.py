"""Every example workflow runs as the README shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np
import pytest

from execution_engine import BlockRegistry
from execution_engine.registry.discovery import discover_plugins
from workflows import Session, run_locally

EXAMPLES = Path(__file__).parents[2] / "examples"
COIN_REGIONS = Path(__file__).parents[1] / "inference_models" / "golden_coins" / "coins_labels.png"
RUNS = {
    "checked_count": ["coins"],
    "clean_page": ["page"],
    "coffee_colors": ["coffee"],
    "coins_masks": ["coins"],
    "count_coins": ["coins"],
    "find_parts": ["coins"],
    "find_patch": ["astronaut"],
    "panorama": ["motorcycle"],
    "sharpness_gate": ["cat", "motorcycle"],
    "sharpness_trend": ["cat"],
    "tile_overview": ["motorcycle", "cat"],
}


def load(name: str) -> Any:
    return json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))


def photographs(names: list[str]) -> list[np.ndarray]:
    pictures = [cv2.imread(str(EXAMPLES / "images" / f"{name}.png")) for name in names]
    assert all(picture is not None for picture in pictures)
    return pictures


def draw_discs(count: int, seed: int) -> np.ndarray:
    """A 480 x 640 BGR scene of separate bright discs, radius 12 to 34 px, in sloping light."""
    random = np.random.default_rng(seed)
    slope = np.linspace(20, 70, 640)[None, :] + random.normal(0, 4, (480, 640))
    scene = np.repeat(np.clip(slope, 0, 255)[:, :, None], 3, axis=2).astype(np.uint8)
    columns = 8
    cells = random.permutation(columns * 6)[:count]
    for cell in cells:
        row, column = divmod(int(cell), columns)
        center = (column * 80 + 40, row * 80 + 40)
        radius = int(random.integers(12, 35))
        grey = int(random.integers(140, 230))
        cv2.circle(scene, center, radius, (grey, grey, grey), -1, cv2.LINE_AA)
    return scene


class TestExamples:
    def test_every_example_file_is_in_the_table(self) -> None:
        """Every example but people.json, which needs models and has its own test, is run here."""
        names = {path.stem for path in EXAMPLES.glob("*.json")} - {"people"}
        assert names == set(RUNS)

    @pytest.mark.parametrize("name", sorted(RUNS))
    def test_runs_and_gives_json(self, name: str) -> None:
        """Each example answers with one JSON object an image."""
        results = run_locally(load(name), {"image": photographs(RUNS[name])}, serialize=True)
        assert len(results) == len(RUNS[name])
        json.dumps(results)

    def test_readme_names_every_example(self) -> None:
        """The table of the examples lists each workflow."""
        text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
        assert all(f"{name}.json" in text for name in RUNS)


class TestCountCoins:
    def test_counts_the_coins_of_the_photograph(self) -> None:
        """The photograph shows 24 coins."""
        [result] = run_locally(load("count_coins"), {"image": photographs(["coins"])})
        assert result["count"] == 24
        assert len(result["areas"]) == 24
        assert min(result["areas"]) > 500
        assert result["annotated"].numpy_image.shape == (303, 384, 3)

    @pytest.mark.parametrize("count", [5, 12, 40])
    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_counts_drawn_discs(self, count: int, seed: int) -> None:
        """The same workflow with the same settings counts generated scenes."""
        [result] = run_locally(load("count_coins"), {"image": draw_discs(count, seed)})
        assert result["count"] == count

    def test_an_empty_scene_has_none(self) -> None:
        """A scene without light or objects gives zero, not an error."""
        [result] = run_locally(load("count_coins"), {"image": np.zeros((120, 160, 3), np.uint8)})
        assert result["count"] == 0
        assert result["areas"] == []


class TestCheckedCount:
    def test_both_inner_workflows_count_the_coins(self) -> None:
        """The model and the outlines find 24 coins each, and the verdict says that they agree."""
        [result] = run_locally(load("checked_count"), {"image": photographs(["coins"])})
        assert (result["by_model"], result["by_outlines"]) == (24, 24)
        assert result["verdict"] == "both ways agree"

    def test_they_need_not_agree(self) -> None:
        """A parameter reaches the inner workflow: a model that believes nothing finds nothing."""
        inputs = {"image": photographs(["coins"]), "confidence": 0.999}
        [result] = run_locally(load("checked_count"), inputs)
        assert (result["by_model"], result["by_outlines"]) == (0, 24)
        assert result["verdict"] == "count by hand"


class TestFindParts:
    def test_outlines_the_coins_of_the_photograph(self) -> None:
        """The shipped model, trained on generated scenes only, finds the 24 coins and no other.

        Every mask overlaps its coin by an IoU of 0.80 or more, 0.88 in the mean. The reference
        regions come from edges and a watershed.
        """
        labels = cv2.imread(str(COIN_REGIONS), cv2.IMREAD_GRAYSCALE)
        [result] = run_locally(load("find_parts"), {"image": photographs(["coins"])})
        assert result["count"] == 24
        masks = np.asarray(result["predictions"].mask)
        overlaps = {}
        for mask in masks:
            region = int(np.bincount(labels[mask & (labels > 0)]).argmax())
            truth = labels == region
            overlaps[region] = (mask & truth).sum() / (mask | truth).sum()
        assert len(overlaps) == 24
        assert min(overlaps.values()) >= 0.80
        assert np.mean(list(overlaps.values())) >= 0.88


class TestCoinsMasks:
    FACTORS: ClassVar = (0, 0.25, 0.5, 1)

    def results(self) -> list[dict[str, Any]]:
        """The workflow at each factor."""
        inputs = {"image": photographs(["coins"])[0]}
        with Session() as session:
            return [
                run_locally(load("coins_masks"), {**inputs, "factor": factor}, session=session)[0]
                for factor in self.FACTORS
            ]

    def test_boxes_stay_and_masks_get_finer(self) -> None:
        """All 24 coins have the same boxes at each factor; masks are on finer grids, their codes
        get longer and their overlap with the full masks grows."""
        results = self.results()
        full = results[-1]["predictions"]
        sizes, lengths, overlaps = [], [], []
        for result in results:
            found = result["predictions"]
            assert result["count"] == 24
            np.testing.assert_allclose(found.xyxy, full.xyxy)
            codes = found.data["rle_mask"]
            sizes.append(tuple(codes[0]["size"]))
            lengths.append(sum(len(code["counts"]) for code in codes))
            one, other = np.asarray(found.mask), np.asarray(full.mask)
            both = (one & other).sum(axis=(1, 2)) / (one | other).sum(axis=(1, 2))
            overlaps.append(both.mean())
        assert sizes == [(76, 96), (133, 168), (190, 240), (303, 384)]
        assert lengths == sorted(lengths)
        assert overlaps == sorted(overlaps)
        assert overlaps[0] > 0.85
        assert overlaps[-1] == 1

    def test_pictures_differ_at_the_edges_only(self) -> None:
        """The drawn pictures of factor 0 and 1 differ in few pixels outside the caption."""
        pictures = [result["annotated"].numpy_image[:270].astype(int) for result in self.results()]
        changed = (np.abs(pictures[0] - pictures[-1]).max(axis=2) > 8).mean()
        assert 0.005 < changed < 0.06


class TestControlFlow:
    def test_sharp_and_soft_pictures_part_ways(self) -> None:
        """In one batch each picture takes the branch its sharpness calls for."""
        pictures = photographs(["cat", "motorcycle"])
        soft, sharp = run_locally(load("sharpness_gate"), {"image": pictures})
        assert soft["focus"] < 300 <= sharp["focus"]
        assert soft["accepted"] is None
        assert sharp["accepted"] is not None
        assert soft["shown"] is not None
        assert sharp["shown"] is not None


class TestTileOverview:
    def test_batch_of_two_sizes_is_ragged(self) -> None:
        """Each image has its own tiles, collapsed to one mosaic an image."""
        first, second = run_locally(
            load("tile_overview"), {"image": photographs(["motorcycle", "cat"])}
        )
        assert len(first["tile_sharpness"]) > len(second["tile_sharpness"]) > 1
        assert first["sharpest"] == max(first["tile_sharpness"])


class TestFindPatch:
    def test_finds_the_patch_where_it_was_cut(self) -> None:
        """The template is cut at (110, 345) and found there with nearly full score."""
        [result] = run_locally(
            load("find_patch"), {"image": photographs(["astronaut"])}, serialize=True
        )
        assert result["centers"] == [[110, 345]]
        assert result["predictions"]["predictions"][0]["confidence"] > 0.99


class TestPanorama:
    def test_gives_back_the_width_of_the_whole(self) -> None:
        """Two overlapping crops stitch to (nearly) the picture they were cut from."""
        [original] = photographs(["motorcycle"])
        [result] = run_locally(load("panorama"), {"image": original})
        width = result["panorama"].numpy_image.shape[1]
        assert abs(width - original.shape[1]) <= 4


class TestSharpnessTrend:
    def test_an_engine_keeps_its_buffer(self) -> None:
        """Within one engine the last three frames count; a new engine starts afresh."""
        frames = photographs(["cat", "coffee", "coins", "motorcycle"])
        with Session() as session:
            for _ in range(2):
                with session.engine(load("sharpness_trend")) as engine:
                    lengths = [
                        len(engine.run({"image": frame})[0]["last_three"]) for frame in frames
                    ]
                assert lengths == [1, 2, 3, 3]


class TestPlugin:
    def test_the_block_of_the_plug_in_runs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The example module is found by name, and its block inverts the picture."""
        monkeypatch.syspath_prepend(str(EXAMPLES / "plugin"))
        registry = BlockRegistry(
            [*discover_plugins({}), *discover_plugins({"WORKFLOWS_PLUGINS": "invert_plugin"})[-1:]]
        )
        [photograph] = photographs(["cat"])
        with Session(registry=registry) as session:
            [result] = run_locally(load("plugin/invert"), {"image": photograph}, session=session)
        np.testing.assert_array_equal(result["negative"].numpy_image, 255 - photograph)
