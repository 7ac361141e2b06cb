"""What watches a training: log lines and checkpoints."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

from pytorch_lightning import Callback, LightningModule, Trainer

from inference_models.training.detector_training import DetectorTraining

_LOGGER = logging.getLogger("weftlens.training")


class Progress(Callback):
    """Logs a line every few steps and saves every few minutes.

    Args:
        every: steps between lines.
        checkpoint: the file that is replaced each time and at the end.
        save_every_s: seconds between checkpoints.
    """

    def __init__(self, every: int, checkpoint: Path, save_every_s: float) -> None:
        self.every = every
        self.checkpoint = checkpoint
        self.save_every_s = save_every_s
        self._saved = time.monotonic()

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: object, batch: object, index: int
    ) -> None:
        assert isinstance(module, DetectorTraining)
        step = trainer.global_step
        if step % self.every == 0:
            values = {
                name.removeprefix("train/"): round(float(value), 4)
                for name, value in trainer.callback_metrics.items()
            }
            rate = trainer.optimizers[0].param_groups[0]["lr"]
            _LOGGER.info(
                "step %d epoch %d %.0f s lr %.5f share %.2f %s",
                step,
                trainer.current_epoch,
                module.elapsed_s,
                rate,
                module.share,
                values,
            )
        if time.monotonic() - self._saved > self.save_every_s:
            self._saved = time.monotonic()
            save_checkpoint(trainer, self.checkpoint)

    def on_train_end(self, trainer: Trainer, module: LightningModule) -> None:
        save_checkpoint(trainer, self.checkpoint)


def save_checkpoint(trainer: Trainer, path: Path) -> None:
    """Writes a checkpoint; a reader never sees half of it."""
    part = path.with_suffix(".part")
    trainer.save_checkpoint(part)
    part.replace(path)


class KeepBest(Callback):
    """Scores the averaged weights now and then and keeps the best checkpoint.

    The best score is part of every checkpoint, so a resumed training does not replace a better file
    by a worse one.

    Args:
        score: gives the score of a training, higher is better; called with the averaged weights in
            the network and the network in evaluation mode.
        checkpoint: the file of the best one.
        every: epochs between scores; the end of the training is always scored.
    """

    def __init__(
        self, score: Callable[[DetectorTraining], float], checkpoint: Path, every: int
    ) -> None:
        self.score = score
        self.checkpoint = checkpoint
        self.every = every
        self._scored_step = -1

    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        if (trainer.current_epoch + 1) % self.every == 0:
            self._score(trainer, module)

    def on_train_end(self, trainer: Trainer, module: LightningModule) -> None:
        if trainer.global_step != self._scored_step:
            self._score(trainer, module)

    def _score(self, trainer: Trainer, module: LightningModule) -> None:
        assert isinstance(module, DetectorTraining)
        self._scored_step = trainer.global_step
        with module.average.applied_to(module.network):
            module.network.eval()
            found = self.score(module)
            module.network.train()
        better = module.best_score is None or found > module.best_score
        _LOGGER.info("step %d score %.4f best %s", trainer.global_step, found, module.best_score)
        if better:
            module.best_score = found
            save_checkpoint(trainer, self.checkpoint)
