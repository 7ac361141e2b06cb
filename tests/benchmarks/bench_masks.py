"""Masks from raw model outputs: times, ratio to the full-canvas way, growth of memory.

    python tests/benchmarks/bench_masks.py [--scene 4k] [--repeats 7]

Every figure is the median of the repeats. The full-canvas way is timed in the same run on a few
objects and scaled to all of them: enlarge the whole grid to the image, threshold it, then encode
with pycocotools or find contours.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from pycocotools import mask as coco

from inference_models.masks import (
    InstanceMasks,
    MaskGeometry,
    decode_rle,
    encode_masks,
    largest_polygons,
    mask_iou,
    masks_from_logits,
    masks_from_prototypes,
    plan_mask_geometry,
)
from inference_models.predictions import InstanceDetections

sys.path.insert(0, str(Path(__file__).parent))
from mask_inputs import SCENES, Scene, logit_scene, prototype_scene

NAIVE_OBJECTS = 6


@dataclass(frozen=True)
class Row:
    """One line of the report; times in ms, memory in MB."""

    name: str
    times: list[float]
    target: float | None = None
    naive: float | None = None
    memory: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    def __str__(self) -> str:
        target = "" if self.target is None else f"{self.target:g}"
        verdict = "" if self.target is None else ("ok" if self.median <= self.target else "OVER")
        naive = "" if self.naive is None else f"{self.naive:.0f}"
        ratio = "" if self.naive is None else f"{self.naive / self.median:.0f}x"
        memory = "" if self.memory is None else f"{self.memory:.0f}"
        return (
            f"{self.name:<46}{self.median:>9.2f}{min(self.times):>9.2f}{target:>8}{verdict:>6}"
            f"{naive:>9}{ratio:>8}{memory:>8}"
        )


def times_ms(work: Callable[[], object], repeats: int) -> list[float]:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def memory_growth(work: Callable[[], object]) -> float | None:
    """Peak of resident memory over that before the call, MB; None where the system does not
    tell."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    try:
        reset.write_text("5")
    except OSError:
        return None

    def resident(field: str) -> float:
        line = next(line for line in status.read_text().splitlines() if line.startswith(field))
        return int(line.split()[1]) / 1024

    before = resident("VmRSS")
    result = work()
    growth = resident("VmHWM") - before
    del result
    return growth


def geometry(
    scene: Scene, factor: float, image_size: tuple[int, int] | None = None
) -> MaskGeometry:
    return plan_mask_geometry(
        scene.grids.shape[1:],
        inference_size=scene.inference_size,
        image_size=image_size or scene.image_size,
        pads=scene.pads,
        scale_wh=None if image_size else scene.scale_wh,
        factor=factor,
    )


def make(scene: Scene, plan: MaskGeometry, count: int | None = None) -> InstanceMasks:
    count = len(scene.boxes) if count is None else count
    if scene.coefficients is None:
        return masks_from_logits(scene.grids, plan, instances=np.arange(count))
    return masks_from_prototypes(
        scene.coefficients[:count], scene.grids, plan, boxes=scene.boxes[:count]
    )


def naive_canvases(scene: Scene, plan: MaskGeometry, count: int) -> list[np.ndarray]:
    """Full-size masks of the first objects, the way most code makes them."""
    left, top, right, bottom = plan.trim
    rows = slice(top, scene.grids.shape[1] - bottom)
    columns = slice(left, scene.grids.shape[2] - right)
    if scene.coefficients is None:
        grids = scene.grids[:count]
    else:
        flat = scene.grids.reshape(len(scene.grids), -1)
        grids = (scene.coefficients[:count] @ flat).reshape(-1, *scene.grids.shape[1:])
        y, x = np.mgrid[: grids.shape[1], : grids.shape[2]]
        for grid, (x0, y0, x1, y1) in zip(grids, plan.crop_windows(scene.boxes), strict=False):
            grid[~((x >= x0) & (x < x1) & (y >= y0) & (y < y1))] = 0
    size = plan.target_size[::-1]
    return [
        cv2.resize(grid[rows, columns], size, interpolation=cv2.INTER_LINEAR) > 0 for grid in grids
    ]


def naive_codes(scene: Scene, plan: MaskGeometry, count: int) -> object:
    return [
        coco.encode(np.asfortranarray(mask, np.uint8))
        for mask in naive_canvases(scene, plan, count)
    ]


def naive_outlines(scene: Scene, plan: MaskGeometry, count: int) -> object:
    return [
        cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        for mask in naive_canvases(scene, plan, count)
    ]


def from_model(
    scene: Scene,
    label: str,
    factor: float,
    targets: tuple[float | None, float | None],
    repeats: int,
) -> list[Row]:
    plan = geometry(scene, factor)
    total, few = len(scene.boxes), min(NAIVE_OBJECTS, len(scene.boxes))
    rows = []
    for name, finish, naive, target in (
        ("codes", encode_masks, naive_codes, targets[0]),
        ("polygons", largest_polygons, naive_outlines, targets[1]),
    ):
        work = partial(_make_and, finish, scene, plan)
        memory = memory_growth(work)
        times = times_ms(work, repeats)
        slow = statistics.median(times_ms(partial(naive, scene, plan, few), 3)) * total / few
        title = f"{label}, factor {factor:g}, {plan.mask_size[1]}x{plan.mask_size[0]}: {name}"
        rows.append(Row(title, times, target, slow, memory))
    return rows


def _make_and(
    finish: Callable[[InstanceMasks], object],
    scene: Scene,
    plan: MaskGeometry,
    count: int | None = None,
) -> object:
    return finish(make(scene, plan, count))


def from_masks(masks: InstanceMasks, repeats: int) -> list[Row]:
    height, width = masks.image_size
    count = len(masks)
    few = masks[: min(50, count)]
    root = (height + 500, width + 500)
    made = InstanceDetections(
        xyxy=masks.boxes, confidence=np.ones(count), class_id=np.zeros(count), masks=masks,
        image_size=masks.image_size, class_names=("object",),
    )  # fmt: skip
    made.to_supervision()
    codes = encode_masks(masks)

    def json_rows() -> str:
        return json.dumps([{"rle_mask": code, "confidence": 1.0} for code in encode_masks(masks)])

    rows = [
        (f"{len(few)} masks to root coordinates", lambda: few.moved((300, 200), root), 5.0),
        (f"{len(few)} of them to JSON rows at root",
         lambda: json.dumps(encode_masks(few.moved((300, 200), root))), 20.0),
        (f"{count} to sv.Detections", made.to_supervision, 5.0),
        (f"{count} to code rows", lambda: encode_masks(masks), 3.0),
        (f"{count} to JSON text of code rows", json_rows, None),
        (f"{count} to polygons", lambda: largest_polygons(masks), 60.0),
        (f"{count} from codes", lambda: decode_rle(codes), None),
        (f"{count} x {count} IoU", lambda: mask_iou(masks, masks), None),
        (f"{count} to half the grid, nearest",
         lambda: masks.resized((max(1, height // 2), max(1, width // 2))), None),
    ]  # fmt: skip
    return [Row(name, times_ms(work, repeats), target) for name, work, target in rows]


def growth_of_cost(scene: Scene, repeats: int) -> list[Row]:
    """How codes cost with the number of objects, and with the size of the image at one number."""
    plan = geometry(scene, 1.0)
    total = len(scene.boxes)
    rows = []
    for count in (max(1, total // 4), max(1, total // 2), total):
        work = partial(_make_and, encode_masks, scene, plan, count)
        rows.append(Row(f"{count} objects: codes", times_ms(work, repeats)))
    height, width = scene.image_size
    for share in (0.25, 0.5, 1, 2):
        size = (round(height * share), round(width * share))
        work = partial(_make_and, encode_masks, scene, geometry(scene, 1.0, size))
        rows.append(Row(f"image {size[1]}x{size[0]}: codes", times_ms(work, repeats)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scene", choices=sorted(SCENES), action="append")
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    repeats = max(5, arguments.repeats)
    heads = f"{'median':>9}{'best':>9}{'target':>8}{'':>6}{'naive':>9}{'ratio':>8}{'+MB':>8}"
    print(f"{f'ms of {repeats} runs':<46}{heads}")
    for name in arguments.scene or ["4k", "1080p"]:
        width, height, count, _ = SCENES[name]
        print(f"-- {name}: {width}x{height}, {count} objects")
        full = {"4k": (100.0, 100.0), "1080p": (8.0, 8.0)}.get(name, (None, None))
        quarter = {"4k": (50.0, 50.0)}.get(name, (None, None))
        scenes = (("prototypes", prototype_scene(name)), ("logits", logit_scene(name)))
        for label, scene in scenes:
            for factor, targets in ((1.0, full), (0.25, quarter), (0.0, (None, None))):
                for row in from_model(scene, label, factor, targets, repeats):
                    print(row, flush=True)
        scene = scenes[0][1]
        for row in from_masks(make(scene, geometry(scene, 1.0)), repeats):
            print(row, flush=True)
        for row in growth_of_cost(scene, repeats):
            print(row, flush=True)


if __name__ == "__main__":
    main()
