"""Trains `parts-seg/1`, the model of coins and industrial parts, from nothing but generated scenes.

    python -m inference_models.training.parts_seg --out DIR [--minutes 60]

The same command goes on with a training that was stopped. The seed is fixed; without a time limit
two runs with the same number of threads give the same weights.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import cv2
import torch
from pytorch_lightning import Trainer, seed_everything

from inference_models.families.native.config import DetectorConfig
from inference_models.families.native.export import ExportDescription
from inference_models.training.callbacks import KeepBest, Progress
from inference_models.training.detector_training import DetectorTraining, Recipe
from inference_models.training.evaluation import evaluate_scenes
from inference_models.training.packaging import (
    in_half_precision,
    read_checkpoint,
    write_trained_package,
)
from inference_models.training.scene_data import HELD_OUT_START, SceneData, scene_image
from inference_models.training.scenes import PART_CLASSES, PartScenes
from inference_models.training.scenes.backgrounds import read_photographs

MODEL_ID = "parts-seg/1"
SEED = 20261130
LAST = "last.ckpt"
BEST = "best.ckpt"


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="parts_seg", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of checkpoints and package")
    parser.add_argument("--minutes", type=float, help="time limit of the training, all runs")
    parser.add_argument("--epochs", type=int, default=42)
    parser.add_argument("--scenes", type=int, default=1600, help="scenes of an epoch")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--size", type=int, default=256, help="px, a multiple of 32")
    parser.add_argument("--scale", default="t", help="scale of the network")
    parser.add_argument("--backgrounds", type=Path, help="folder of photographs")
    parser.add_argument("--exclude", nargs="*", default=["coins.png"], help="photographs to skip")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--evaluate", type=int, default=200, help="held-out scenes of the score")
    parser.add_argument("--watch", type=int, default=40, help="scenes that tell the best weights")
    parser.add_argument("--export-size", type=int, default=384, help="px of the package's input")
    parser.add_argument("--confidence", type=float, default=0.4, help="recommended threshold")
    parser.add_argument(
        "--export-only", action="store_true", help="write the package of the last checkpoint"
    )
    parser.add_argument("--precision", default="bf16-mixed", choices=["bf16-mixed", "32-true"])
    return parser.parse_args(arguments)


def scene_sources(
    size: int, backgrounds: Path | None, exclude: Sequence[str]
) -> tuple[PartScenes, PartScenes]:
    """Generators of whole scenes and of the quarters of mosaics."""
    photographs = read_photographs(backgrounds, exclude, 2 * size) if backgrounds else []
    whole = PartScenes(SEED, (size, size), photographs)
    return whole, PartScenes(SEED + 1, (size // 2, size // 2), photographs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains, scores and exports; returns the exit status."""
    options = parse_arguments(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout)
    logging.getLogger("onnx_ir").setLevel(logging.WARNING)
    torch.set_num_threads(options.threads)
    cv2.setNumThreads(1)
    checkpoint = options.out / LAST
    if options.export_only:
        export_package(checkpoint, options)
        return 0
    seed_everything(SEED, verbose=False)
    source, mosaic_source = scene_sources(options.size, options.backgrounds, options.exclude)
    config = DetectorConfig("segment", options.scale, len(PART_CLASSES))
    recipe = Recipe(
        lr=0.007,
        warmup_epochs=1.0,
        close_mosaic=max(1, options.epochs // 4),
        average_decay=0.998,
        average_warmup=400.0,
        max_mask_positives=200,
    )
    limit = options.minutes * 60 if options.minutes else None
    module = DetectorTraining(config, PART_CLASSES, recipe, limit)
    data = SceneData(
        source, mosaic_source, options.scenes, options.batch, SEED, 0.15, options.workers
    )
    watched = range(HELD_OUT_START // 2, HELD_OUT_START // 2 + options.watch)

    def score(training: DetectorTraining) -> float:
        return evaluate_scenes(training.network.deploy(), source, watched)["segm_map"]

    trainer = Trainer(
        max_epochs=options.epochs,
        accelerator="cpu",
        devices=1,
        precision=options.precision,
        gradient_clip_val=10.0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        callbacks=[KeepBest(score, options.out / BEST, 5), Progress(20, checkpoint, 180.0)],
    )
    resumed = checkpoint if checkpoint.is_file() else None
    trainer.fit(module, data, ckpt_path=resumed)
    best = options.out / BEST
    export_package(best if best.is_file() else checkpoint, options)
    return 0


def export_package(checkpoint: Path, options: argparse.Namespace) -> None:
    """Scores a checkpoint on held-out scenes and writes the package beside it."""
    trained = in_half_precision(read_checkpoint(checkpoint))
    side = options.export_size
    source, _ = scene_sources(side, options.backgrounds, options.exclude)
    held_out = range(HELD_OUT_START, HELD_OUT_START + options.evaluate)
    scores = evaluate_scenes(trained.network.deploy(), source, held_out)
    logging.getLogger("weftlens.training").info("scores %s", scores)
    description = ExportDescription(
        trained.class_names, (side, side), model_id=MODEL_ID, confidence=options.confidence
    )
    grounds = "procedural grounds"
    if options.backgrounds:
        left_out = f" without {', '.join(options.exclude)}" if options.exclude else ""
        grounds += f" and on cuts of the photographs in {options.backgrounds.name}{left_out}"
    about = (
        "Finds coins and industrial parts and outlines them. Trained from random weights on "
        f"generated scenes only: shapes with relief, light, shadow and noise on {grounds}.",
        f"Scores: COCO protocol on {options.evaluate} held-out scenes of the same generator at "
        f"{side} px, one-to-one branch, averaged weights. They say how well the scenes were "
        "learned, not how well other photographs are read.",
    )
    samples = torch.stack([scene_image(source.scene(HELD_OUT_START + i)) for i in range(4)])
    write_trained_package(
        trained, options.out / MODEL_ID, description, scores, about, (samples / 255).numpy()
    )


if __name__ == "__main__":
    sys.exit(main())
