"""The training loop: what changes when, and that a stopped training goes on as if it had not
been stopped."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("pytorch_lightning")

from inference_models.errors import CorruptedModelPackageError  # noqa: E402
from inference_models.families.native.config import DetectorConfig  # noqa: E402
from inference_models.training.callbacks import save_checkpoint  # noqa: E402
from inference_models.training.detector_training import (  # noqa: E402
    CHECKPOINT_KEY,
    DetectorTraining,
    Recipe,
    TrainingDivergedError,
)
from inference_models.training.scene_data import SceneData  # noqa: E402
from inference_models.training.scenes import SHAPE_CLASSES, ShapeScenes  # noqa: E402

CONFIG = DetectorConfig("segment", "p", len(SHAPE_CLASSES))


class Recorder(lightning.Callback):
    """Notes loss, learning rate, share and mosaics of every step, and stops after some epochs."""

    def __init__(self, stop_after: int | None = None, checkpoint: Path | None = None) -> None:
        self.rows: list[tuple[float, float, float, float]] = []
        self.stop_after = stop_after
        self.checkpoint = checkpoint

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, *_: Any) -> None:
        rate = trainer.optimizers[0].param_groups[0]["lr"]
        mosaic = trainer.datamodule.sampler.mosaic
        self.rows.append((float(outputs["loss"]), rate, module.share, mosaic))

    def on_train_epoch_end(self, trainer: Any, module: Any) -> None:
        if self.stop_after is not None and trainer.current_epoch + 1 == self.stop_after:
            trainer.should_stop = True

    def on_train_end(self, trainer: Any, module: Any) -> None:
        if self.checkpoint is not None:
            save_checkpoint(trainer, self.checkpoint)


def train(
    epochs: int = 4,
    stop_after: int | None = None,
    checkpoint: Path | None = None,
    resume: Path | None = None,
) -> tuple[DetectorTraining, Recorder]:
    """Trains on two steps an epoch of 64 px scenes."""
    lightning.seed_everything(0, verbose=False)
    recipe = Recipe(warmup_epochs=1, close_mosaic=1, average_decay=0.9, average_warmup=2)
    module = DetectorTraining(CONFIG, SHAPE_CLASSES, recipe)
    data = SceneData(
        ShapeScenes(0, (64, 64)), ShapeScenes(1, (32, 32)), 4, 2, seed=0, mosaic=0.5, workers=0
    )
    recorder = Recorder(stop_after, checkpoint)
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        gradient_clip_val=10.0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[recorder],
    )
    trainer.fit(module, data, ckpt_path=resume)
    return module, recorder


@pytest.fixture(scope="module")
def whole() -> tuple[DetectorTraining, Recorder]:
    """A training of four epochs without a break."""
    return train()


def equal_weights(first: torch.nn.Module, second: torch.nn.Module) -> bool:
    """Whether all parameters and buffers are equal bit for bit."""
    one, other = first.state_dict(), second.state_dict()
    return all(torch.equal(one[name], other[name]) for name in one)


class TestSchedule:
    def test_learning_rate(self, whole: tuple[DetectorTraining, Recorder]) -> None:
        """A rise over the first epoch's two steps, then a straight fall."""
        rates = [row[1] for row in whole[1].rows]
        assert rates[:3] == pytest.approx([0.005, 0.01, 0.01])
        assert rates[-1] == pytest.approx(0.01 * (1 - 0.99 * 5 / 6))

    def test_share_falls_by_epochs(self, whole: tuple[DetectorTraining, Recorder]) -> None:
        """From 0.8 to 0.1, constant within an epoch."""
        shares = [row[2] for row in whole[1].rows]
        expected = [0.8, 0.8, 0.8 - 0.7 / 3, 0.8 - 0.7 / 3, 0.8 - 1.4 / 3, 0.8 - 1.4 / 3, 0.1, 0.1]
        assert shares == pytest.approx(expected)

    def test_mosaics_close_for_the_last_epoch(
        self, whole: tuple[DetectorTraining, Recorder]
    ) -> None:
        """The configured number of epochs at the end has none."""
        assert [row[3] for row in whole[1].rows] == [0.5] * 6 + [0.0] * 2

    def test_average_follows_every_step(self, whole: tuple[DetectorTraining, Recorder]) -> None:
        """As many updates as steps, and the average is not the model itself."""
        module = whole[0]
        assert module.average.updates == 8
        live = module.network.state_dict()
        assert any(
            not torch.equal(live[name], value) for name, value in module.average.shadow.items()
        )


class TestDeterminism:
    def test_two_runs_give_equal_weights(self, whole: tuple[DetectorTraining, Recorder]) -> None:
        """The seed decides every weight."""
        again, recorder = train()
        assert recorder.rows == whole[1].rows
        assert equal_weights(again.network, whole[0].network)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same training stopped after two of four epochs."""
    path = tmp_path_factory.mktemp("training") / "last.ckpt"
    module, _ = train(stop_after=2, checkpoint=path)
    assert module.global_step == 4
    return path


class TestResume:
    def test_goes_on_as_if_not_stopped(
        self, checkpoint: Path, whole: tuple[DetectorTraining, Recorder]
    ) -> None:
        """Losses, rates, weights and averages of the second half are those of an unbroken run."""
        module, recorder = train(resume=checkpoint)
        for found, expected in zip(recorder.rows, whole[1].rows[4:], strict=True):
            assert found == pytest.approx(expected, rel=1e-4)
        assert equal_weights(module.network, whole[0].network)
        for name, value in module.average.shadow.items():
            assert torch.equal(value, whole[0].average.shadow[name])

    def test_holds_everything(self, checkpoint: Path) -> None:
        """Model, optimiser, averages, best score, random states, class names, time."""
        content = torch.load(checkpoint, weights_only=True)
        state = content[CHECKPOINT_KEY]
        assert state["class_names"] == list(SHAPE_CLASSES)
        assert state["average"]["updates"] == 4
        assert state["seconds"] > 0
        assert set(state["random"]) == {"torch", "python", "numpy"}
        assert "best_score" in state
        buffers = content["optimizer_states"][0]["state"].values()
        assert sum("momentum_buffer" in one for one in buffers) == len(buffers) > 100

    def test_best_score_survives(self, checkpoint: Path) -> None:
        """A resumed training knows the best score so far."""
        content = torch.load(checkpoint, weights_only=True)
        content[CHECKPOINT_KEY]["best_score"] = 0.625
        module = DetectorTraining(CONFIG, SHAPE_CLASSES)
        module.on_load_checkpoint(content)
        assert module.best_score == 0.625

    def test_time_goes_on(self, checkpoint: Path) -> None:
        """The time limit counts the seconds of earlier sessions."""
        content = torch.load(checkpoint, weights_only=True)
        content[CHECKPOINT_KEY]["seconds"] = 1000.0
        module = DetectorTraining(CONFIG, SHAPE_CLASSES)
        module.on_load_checkpoint(content)
        assert module.elapsed_s >= 1000

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda content: content.pop(CHECKPOINT_KEY), "holds no training"),
            (
                lambda content: content[CHECKPOINT_KEY].update(class_names=["a", "b", "c", "d"]),
                "has the classes",
            ),
            (
                lambda content: content[CHECKPOINT_KEY].update(
                    config=DetectorConfig("detect", "p", 4).to_json()
                ),
                "is of the network",
            ),
        ],
    )
    def test_refuses_other_trainings(self, checkpoint: Path, change: Any, message: str) -> None:
        """Another network, other classes or another kind of file are named in the error."""
        content = copy.deepcopy(torch.load(checkpoint, weights_only=True))
        change(content)
        with pytest.raises(CorruptedModelPackageError, match=message):
            DetectorTraining(CONFIG, SHAPE_CLASSES).on_load_checkpoint(content)


class TestDetectorTraining:
    @pytest.mark.parametrize(("task", "keypoints"), [("oriented", 0), ("pose", 3)])
    def test_tasks_without_a_loss(self, task: Any, keypoints: int) -> None:
        """Angles and keypoints have no part of the loss, so such networks are refused."""
        config = DetectorConfig(task, "p", 2, keypoint_count=keypoints)
        with pytest.raises(ValueError, match=f'detect or segment can be trained, got "{task}"'):
            DetectorTraining(config, ["a", "b"])

    def test_class_names_must_fit(self) -> None:
        """As many names as classes."""
        with pytest.raises(ValueError, match="4 classes need names"):
            DetectorTraining(CONFIG, ["one"])

    def test_loss_that_is_no_number_stops_the_training(self) -> None:
        """The error names the parts of the loss."""
        module = DetectorTraining(CONFIG, SHAPE_CLASSES)
        with torch.no_grad():
            module.network.head.one_to_one.boxes[0][-1].bias.fill_(float("nan"))
        data = SceneData(ShapeScenes(0, (64, 64)), None, 2, 2, workers=0)
        batch = next(iter(data.train_dataloader()))
        with pytest.raises(TrainingDivergedError, match=r"step 0: .*one_to_one_box nan"):
            module.training_step(batch, 0)

    def test_batch_without_objects(self) -> None:
        """Pictures of nothing give a finite loss that trains the class scores."""
        module = DetectorTraining(CONFIG, SHAPE_CLASSES)
        source = ShapeScenes(0, (64, 64), sides=(900.0, 901.0))
        data = SceneData(source, None, 2, 2, workers=0)
        images, targets = next(iter(data.train_dataloader()))
        assert targets.boxes.shape == (2, 0, 4)
        total, _ = module.objective(module.network(module.prepare_images(images)), targets)
        total.backward()
        assert torch.isfinite(total)
        gradient = module.network.head.one_to_one.classes[0][-1].bias.grad
        assert gradient.abs().sum() > 0
