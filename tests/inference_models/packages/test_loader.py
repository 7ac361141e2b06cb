"""Reading model packages: folders, lone files, and everything that can be wrong with them."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

from inference_models.errors import (
    CorruptedModelPackageError,
    ForbiddenLocalCodePackageAccessError,
    MissingModelInitParameterError,
    ModelImplementationNotFoundError,
    ModelNotFoundError,
)
from inference_models.packages import ModelConfig, Task, load_package, write_package


def _weights(path: Path) -> None:
    path.write_bytes(b"weights")


class TestDirectory:
    """`load_package` on a folder."""

    def test_a_complete_folder_is_read(self, networks: Any, tmp_path: Path) -> None:
        """Everything the configuration says stands in the package."""
        config = networks.config(recommended_parameters={"confidence": 0.3, "unknown": 1})
        package = load_package(networks.directory(tmp_path, config, _weights))
        assert package.task is Task.OBJECT_DETECTION
        assert package.class_names == networks.colours
        assert package.weights == tmp_path / "weights.onnx"
        assert package.recommended.confidence == 0.3
        assert package.inference.network_input.scaling_factor == 255

    def test_parts_may_stand_in_files_of_their_own(self, networks: Any, tmp_path: Path) -> None:
        """class_names.txt and inference_config.json take the place of the keys."""
        config = networks.config()
        inference = config.pop("inference_config")
        config.pop("class_names")
        (tmp_path / "inference_config.json").write_text(json.dumps(inference))
        (tmp_path / "class_names.txt").write_text("red\ngreen\n\n blue \n")
        package = load_package(networks.directory(tmp_path, config, _weights))
        assert package.class_names == networks.colours
        assert package.inference.network_input.padding_value == 0

    def test_a_part_given_twice_is_refused(self, networks: Any, tmp_path: Path) -> None:
        """Two answers to one question are an error that names both files."""
        networks.directory(tmp_path, networks.config(), _weights)
        (tmp_path / "class_names.txt").write_text("cat\n")
        with pytest.raises(CorruptedModelPackageError, match=r"given twice.*class_names\.txt"):
            load_package(tmp_path)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"class_names": None}, "names no classes"),
            ({"class_names": []}, "class_names is empty"),
            ({"task_type": None}, "does not say its task"),
            ({"task_type": "painting"}, r"task_type: .*painting"),
            ({"inference_config": None}, "does not describe the network's input"),
            ({"weights": "../weights.onnx"}, "must be the name of a file in the package"),
            ({"weights": "other.onnx"}, r"no weights file .*other\.onnx"),
            (
                {"inference_config__network_input__resize_mode": "squash"},
                r"resize_mode: .*squash",
            ),
            ({"inference_config__network_input__scale": 2}, r"network_input\.scale: "),
            (
                {"inference_config__network_input__training_input_size": None},
                "training_input_size may be missing only",
            ),
            (
                {"inference_config__network_input__normalization": [[0.5], [0.5]]},
                "1 means and 1 deviations for 3 input channels",
            ),
            (
                {"inference_config__network_input__dtype": "uint8"},
                "no scaling, no normalization",
            ),
            (
                {
                    "inference_config__class_names_operations": [
                        {"type": "class_name_removal", "class_name": "gren"}
                    ]
                },
                'removes gren.*did you mean "green"',
            ),
        ],
    )
    def test_a_wrong_configuration_is_named(
        self, networks: Any, tmp_path: Path, changes: dict[str, Any], message: str
    ) -> None:
        """The error says which key of which file is wrong."""
        networks.directory(tmp_path, networks.config(**changes), lambda path: None)
        (tmp_path / "weights.onnx").write_bytes(b"weights")
        with pytest.raises(CorruptedModelPackageError, match=message) as caught:
            load_package(tmp_path)
        assert str(tmp_path) in str(caught.value)

    def test_text_that_is_no_json_is_named(self, tmp_path: Path) -> None:
        """A broken file is named."""
        (tmp_path / "model_config.json").write_text("{")
        with pytest.raises(CorruptedModelPackageError, match=r"model_config\.json is no JSON"):
            load_package(tmp_path)

    def test_a_folder_without_a_configuration_is_no_package(self, tmp_path: Path) -> None:
        """The error names the missing file."""
        with pytest.raises(CorruptedModelPackageError, match=r"has no model_config\.json"):
            load_package(tmp_path)

    def test_nothing_at_the_path(self, tmp_path: Path) -> None:
        """The error names the path."""
        missing = tmp_path / "absent"
        with pytest.raises(ModelNotFoundError, match=str(missing)):
            load_package(missing)

    def test_code_in_a_package_is_refused(self, networks: Any, tmp_path: Path) -> None:
        """A package that names Python code is not loaded, and the code does not run."""
        (tmp_path / "evil.py").write_text("raise SystemExit('it ran')")
        config = networks.config(model_module="evil.py", model_class="Model")
        with pytest.raises(ForbiddenLocalCodePackageAccessError, match="model_module"):
            load_package(networks.directory(tmp_path, config, _weights))

    def test_keys_nobody_reads_are_reported(
        self, networks: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A typing error in a key of the configuration shows in the log with the nearest key."""
        config = networks.config(recomended_parameters={"confidence": 0.1})
        load_package(networks.directory(tmp_path, config, _weights))
        assert 'did you mean "recommended_parameters"?' in caplog.text

    def test_the_static_batch_of_the_model_reaches_the_forward_pass(
        self, networks: Any, tmp_path: Path
    ) -> None:
        """Both places where a package may say it mean the same."""
        config = networks.config(static_batch_size=2)
        package = load_package(networks.directory(tmp_path, config, _weights))
        assert package.inference.forward_pass.static_batch_size == 2


class TestLoneOnnxFile:
    """`load_package` on an `.onnx` file."""

    def test_exporter_metadata_say_what_it_is(self, networks: Any, tmp_path: Path) -> None:
        """task, names and imgsz are enough."""
        path = networks.anchor_free(
            tmp_path / "boxes.onnx", metadata=networks.metadata(imgsz="[64, 96]")
        )
        package = load_package(path)
        size = package.inference.network_input.training_input_size
        assert (package.task, package.architecture) == (Task.OBJECT_DETECTION, "yolov8")
        assert package.class_names == networks.colours
        assert size is not None
        assert (size.height, size.width) == (64, 96)
        assert package.inference.network_input.color_mode == "rgb"

    @pytest.mark.parametrize(
        ("task", "expected"),
        [
            ("segment", Task.INSTANCE_SEGMENTATION),
            ("classify", Task.CLASSIFICATION),
            ("pose", Task.KEYPOINT_DETECTION),
        ],
    )
    def test_every_task_is_known(
        self, networks: Any, tmp_path: Path, task: str, expected: Task
    ) -> None:
        """The task of the metadata decides the task of the model."""
        metadata = networks.metadata(task, kpt_shape="[17, 3]")
        path = networks.anchor_free(tmp_path / "boxes.onnx", metadata=metadata)
        assert load_package(path).task is expected

    def test_suppression_in_the_graph_is_noticed(self, networks: Any, tmp_path: Path) -> None:
        """An export with suppression says so in its arguments, or by being end to end."""
        for changes in ({"args": "{'nms': True}"}, {"end2end": "True"}):
            path = networks.fused(tmp_path / "rows.onnx", networks.metadata(**changes))
            post = load_package(path).inference.post_processing
            assert post is not None
            assert post.fused

    def test_a_whole_configuration_in_the_metadata(self, networks: Any, tmp_path: Path) -> None:
        """The key model_config holds all a package folder would."""
        metadata = {"model_config": json.dumps(networks.config(model_id="boxes/1"))}
        path = networks.anchor_free(tmp_path / "boxes.onnx", metadata=metadata)
        package = load_package(path)
        assert (package.model_id, package.weights) == ("boxes/1", path)

    def test_a_file_that_says_nothing_is_refused(self, networks: Any, tmp_path: Path) -> None:
        """The error says what is missing and where it could be said."""
        path = networks.anchor_free(tmp_path / "boxes.onnx")
        with pytest.raises(
            MissingModelInitParameterError, match=r"no task, names, imgsz.*model_config\.json"
        ):
            load_package(path)

    @pytest.mark.parametrize(
        ("changes", "error", "message"),
        [
            ({"task": "obb"}, ModelImplementationNotFoundError, '"obb" is not one of detect'),
            ({"names": "{0: 'a', 2: 'b'}"}, CorruptedModelPackageError, r"numbered 0\.\.1"),
            ({"names": "__import__('os')"}, CorruptedModelPackageError, "names must map"),
            ({"imgsz": "[64]"}, CorruptedModelPackageError, "imgsz must be"),
            ({"channels": "7"}, CorruptedModelPackageError, "input_channels"),
        ],
    )
    def test_metadata_that_cannot_be_are_named(
        self,
        networks: Any,
        tmp_path: Path,
        changes: dict[str, str],
        error: type[Exception],
        message: str,
    ) -> None:
        """Metadata are data: text that looks like code is an error, not code."""
        path = networks.anchor_free(tmp_path / "boxes.onnx", metadata=networks.metadata(**changes))
        with pytest.raises(error, match=message):
            load_package(path)

    @pytest.mark.parametrize("content", [b"", b"\x00\xff\xff", b"not a model at all", b"\x72\x7f"])
    def test_a_file_of_something_else_is_refused(self, tmp_path: Path, content: bytes) -> None:
        """A file that is no protocol buffer, or an empty one, ends in one of our errors."""
        path = tmp_path / "broken.onnx"
        path.write_bytes(content)
        with pytest.raises((CorruptedModelPackageError, MissingModelInitParameterError)):
            load_package(path)


class TestLoneTorchScriptFile:
    """`load_package` on a `.torchscript` file; needs no torch."""

    @staticmethod
    def _archive(path: Path, texts: dict[str, str], code: bool = True) -> Path:
        with zipfile.ZipFile(path, "w") as archive:
            if code:
                archive.writestr("net/code/__torch__.py", "")
            for name, text in texts.items():
                archive.writestr(f"net/extra/{name}", text)
        return path

    def test_exporter_metadata_say_what_it_is(self, networks: Any, tmp_path: Path) -> None:
        """The JSON that exporters store beside the code is read."""
        metadata = {
            "task": "detect",
            "names": {"0": "red", "1": "green", "2": "blue"},
            "imgsz": [64, 64],
        }
        path = self._archive(tmp_path / "net.torchscript", {"config.txt": json.dumps(metadata)})
        package = load_package(path)
        assert (package.backend, package.class_names) == ("torch-script", networks.colours)

    def test_a_checkpoint_of_weights_is_no_network(self, tmp_path: Path) -> None:
        """A pickle by the name of a network is refused before anything unpickles it."""
        path = tmp_path / "net.torchscript"
        path.write_bytes(pickle.dumps({"a": 1}))
        with pytest.raises(CorruptedModelPackageError, match="is not a TorchScript file"):
            load_package(path)
        with pytest.raises(CorruptedModelPackageError, match="holds no TorchScript code"):
            load_package(self._archive(path, {}, code=False))

    def test_other_files_are_told_what_is_expected(self, tmp_path: Path) -> None:
        """A checkpoint is no model file by its name."""
        path = tmp_path / "best.pt"
        path.write_bytes(b"x")
        with pytest.raises(MissingModelInitParameterError, match=r"\.onnx, \.torchscript"):
            load_package(path)


class TestWritePackage:
    """`write_package`."""

    def test_what_is_written_is_read_again(self, networks: Any, tmp_path: Path) -> None:
        """Writing and reading give the same package."""
        weights = tmp_path / "net.onnx"
        weights.write_bytes(b"weights")
        config = ModelConfig.model_validate(
            networks.config(
                inference_config__image_pre_processing={
                    "static-crop": {"enabled": True, "x_min": 10, "x_max": 90}
                }
            )
        )
        written = write_package(tmp_path / "package", config, weights)
        read = load_package(tmp_path / "package")
        assert read == written

    def test_an_incomplete_configuration_writes_nothing(
        self, networks: Any, tmp_path: Path
    ) -> None:
        """A package that could not be read is not written."""
        weights = tmp_path / "net.onnx"
        weights.write_bytes(b"weights")
        config = ModelConfig.model_validate(networks.config(class_names=None))
        with pytest.raises(CorruptedModelPackageError):
            write_package(tmp_path / "package", config, weights)
        assert not (tmp_path / "package").exists()
