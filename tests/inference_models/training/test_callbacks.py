"""Checkpoints of the best score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("pytorch_lightning")

from inference_models.families.native.config import DetectorConfig  # noqa: E402
from inference_models.training.callbacks import KeepBest, Progress  # noqa: E402
from inference_models.training.detector_training import (  # noqa: E402
    CHECKPOINT_KEY,
    DetectorTraining,
)
from inference_models.training.scene_data import SceneData  # noqa: E402
from inference_models.training.scenes import SHAPE_CLASSES, ShapeScenes  # noqa: E402


def fit(scores: list[float], folder: Path, epochs: int, resume: Path | None = None) -> Any:
    """Trains an epoch a score, scoring each."""
    given = iter(scores)
    module = DetectorTraining(DetectorConfig("detect", "p", 4), SHAPE_CLASSES)
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[
            Progress(1, folder / "last.ckpt", 0.0),
            KeepBest(lambda _: next(given), folder / "best.ckpt", 1),
        ],
    )
    data = SceneData(ShapeScenes(0, (64, 64)), None, 2, 2, workers=0)
    trainer.fit(module, data, ckpt_path=resume)
    return module


def content(path: Path) -> dict[str, Any]:
    return torch.load(path, weights_only=True)


class TestKeepBest:
    def test_keeps_the_best_and_survives_a_restart(self, tmp_path: Path) -> None:
        """After a resume a score below the best of the earlier session replaces nothing."""
        fit([0.2, 0.6, 0.5], tmp_path, epochs=3)
        best = content(tmp_path / "best.ckpt")
        assert best["global_step"] == 2
        assert best[CHECKPOINT_KEY]["best_score"] == 0.6
        assert content(tmp_path / "last.ckpt")["global_step"] == 3
        module = fit([0.4], tmp_path, epochs=4, resume=tmp_path / "last.ckpt")
        assert module.best_score == 0.6
        assert content(tmp_path / "best.ckpt")["global_step"] == 2
        fit([0.7], tmp_path, epochs=5, resume=tmp_path / "last.ckpt")
        assert content(tmp_path / "best.ckpt")["global_step"] == 5

    def test_scores_the_averaged_weights(self, tmp_path: Path) -> None:
        """The network holds the averages and is in evaluation mode while it is scored."""
        seen = []

        def score(module: DetectorTraining) -> float:
            live = module.network.state_dict()
            equal = all(torch.equal(live[k], v) for k, v in module.average.shadow.items())
            seen.append((equal, module.network.training))
            return 0.0

        module = DetectorTraining(DetectorConfig("detect", "p", 4), SHAPE_CLASSES)
        trainer = lightning.Trainer(
            max_epochs=1,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[KeepBest(score, tmp_path / "best.ckpt", 1)],
        )
        trainer.fit(module, SceneData(ShapeScenes(0, (64, 64)), None, 4, 2, workers=0))
        assert seen == [(True, False)]
        live = module.network.state_dict()
        assert any(not torch.equal(live[k], v) for k, v in module.average.shadow.items())
