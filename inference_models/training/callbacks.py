"""What watches a training: log lines and checkpoints."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from pytorch_lightning import Callback, LightningModule, Trainer

from inference_models.training.detector_training import DetectorTraining

_LOGGER = logging.getLogger("weftlens.training")


class Progress(Callback):
    """Logs a line every few steps and saves every few minutes."""

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
