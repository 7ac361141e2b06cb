"""The TensorRT backend without TensorRT: a stand-in for the library, the real contract."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference_models.backends import BackendOptions, built_in_backends
from inference_models.backends.tensorrt import TensorRtBackend
from inference_models.errors import (
    CorruptedModelPackageError,
    EnvironmentConfigurationError,
    MissingDependencyError,
    ModelImplementationNotFoundError,
    ModelPackageRestrictedError,
    ModelRuntimeError,
)
from inference_models.manager import ModelManager
from inference_models.packages import ModelPackage, load_package
from inference_models.packages.requirements import PackageRequirements, TrtPackageDetails
from tests.inference_models.backends.fake_tensorrt import (
    HostMemory,
    fake_library,
    tensor,
    write_engine,
)

CUDA = BackendOptions(device="cuda")


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library called tensorrt is installed."""
    monkeypatch.setitem(sys.modules, "tensorrt", fake_library())


def config(networks: Any, **changes: Any) -> dict[str, Any]:
    """A classifier of 4 x 6 images as an engine."""
    return networks.config(  # type: ignore[no-any-return]
        **{
            "model_architecture": "classifier",
            "backend_type": "trt",
            "task_type": "classification",
            "class_names": ["a", "b", "c", "d", "e"],
            "inference_config__post_processing": {"type": "softmax"},
            "inference_config__network_input__training_input_size": {"height": 4, "width": 6},
        }
        | changes
    )


def make_package(
    folder: Path, networks: Any, batches: dict[str, int] | None = None, **engine: Any
) -> ModelPackage:
    """A package folder with `engine.plan` and, when given, `trt_config.json`."""
    networks.directory(
        folder, config(networks, weights="engine.plan"), lambda path: write_engine(path, **engine)
    )
    if batches is not None:
        (folder / "trt_config.json").write_text(json.dumps(batches))
    return load_package(folder)


def opened(package: ModelPackage, options: BackendOptions = CUDA) -> TensorRtBackend:
    return TensorRtBackend(package, options, HostMemory())


@pytest.mark.usefixtures("library")
class TestForward:
    """`TensorRtBackend.forward`."""

    def test_the_contract(self, networks: Any, tmp_path: Path) -> None:
        """Input and outputs are those of the engine by name, shape and type, in its order."""
        backend = opened(make_package(tmp_path, networks))
        assert str(backend.input) == "images [?, 3, 4, 6] float32"
        assert [str(one) for one in backend.outputs] == [
            "scores [?, 5] float32",
            "counts [?, 2, 2] int32",
        ]
        assert backend.nbytes == (tmp_path / "engine.plan").stat().st_size
        assert backend.threads == 1
        batch = np.arange(2 * 72, dtype=np.float32).reshape(2, 3, 4, 6)
        answer = backend.forward(batch)
        sums = batch.reshape(2, -1).sum(axis=1)
        assert list(answer) == ["scores", "counts"]
        np.testing.assert_array_equal(answer["scores"], np.repeat(sums[:, None], 5, 1))
        assert answer["counts"].dtype == np.int32
        np.testing.assert_array_equal(answer["counts"][:, 1, 1], 2 * sums)

    @pytest.mark.parametrize("count", [1, 4, 5, 11])
    def test_batches_beyond_the_profile(self, networks: Any, tmp_path: Path, count: int) -> None:
        """A batch larger than the profile's is cut; the answers are in the order of the images."""
        backend = opened(make_package(tmp_path, networks))
        batch = np.random.default_rng(0).random((count, 3, 4, 6), np.float32)
        scores = backend.forward(batch)["scores"]
        np.testing.assert_allclose(scores[:, 0], batch.reshape(count, -1).sum(axis=1), rtol=1e-6)
        assert backend._context.batches == [4] * (count // 4) + [count % 4] * (count % 4 > 0)

    @pytest.mark.parametrize(
        ("engine", "batches"),
        [
            ({"profile": [3, 3, 4]}, [4, 3]),
            (
                {
                    "tensors": [
                        tensor("images", "INPUT", [3, 3, 4, 6]),
                        tensor("scores", "OUTPUT", [3, 5]),
                    ]
                },
                [3, 3],
            ),
        ],
        ids=["dynamic", "static"],
    )
    def test_a_short_last_part_is_filled_up(
        self, networks: Any, tmp_path: Path, engine: dict[str, Any], batches: list[int]
    ) -> None:
        """Below the smallest batch zeros are added, and what they answer is dropped."""
        backend = opened(make_package(tmp_path, networks, **engine))
        batch = np.random.default_rng(0).random((5, 3, 4, 6), np.float32)
        scores = backend.forward(batch)["scores"]
        np.testing.assert_allclose(scores[:, 0], batch.reshape(5, -1).sum(axis=1), rtol=1e-6)
        assert backend._context.batches == batches

    def test_half_precision(self, networks: Any, tmp_path: Path) -> None:
        """Half precision is taken and given as such."""
        tensors = [
            tensor("images", "INPUT", [-1, 3, 4, 6], "HALF"),
            tensor("scores", "OUTPUT", [-1, 5], "HALF"),
        ]
        backend = opened(make_package(tmp_path, networks, tensors=tensors))
        assert backend.input.dtype == np.float16
        answer = backend.forward(np.ones((1, 3, 4, 6), np.float16))["scores"]
        assert answer.dtype == np.float16
        assert (answer == 72).all()

    def test_strided_input(self, networks: Any, tmp_path: Path) -> None:
        """A view of an array is laid out anew before its address is used."""
        batch = np.random.default_rng(0).random((6, 4, 3, 2), np.float32).T
        scores = opened(make_package(tmp_path, networks)).forward(batch)["scores"]
        np.testing.assert_allclose(scores[:, 0], batch.sum(axis=(1, 2, 3)), rtol=1e-6)

    def test_from_several_threads(self, networks: Any, tmp_path: Path) -> None:
        """Calls at the same time do not mix their buffers."""
        backend = opened(make_package(tmp_path, networks))
        wrong: list[float] = []

        def run(value: float) -> None:
            batch = np.full((2, 3, 4, 6), value, np.float32)
            for _ in range(50):
                scores = backend.forward(batch)["scores"]
                wrong.extend(scores[scores != 72 * value].tolist())

        threads = [threading.Thread(target=run, args=(value,)) for value in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []

    def test_failures(self, networks: Any, tmp_path: Path) -> None:
        """A refused shape and a failed run name file, input and reason."""
        backend = opened(make_package(tmp_path / "a", networks))
        with pytest.raises(
            ModelRuntimeError, match=r"engine.plan failed on an input \[1, 3, 5, 6\] .* profile"
        ):
            backend.forward(np.zeros((1, 3, 5, 6), np.float32))
        with pytest.raises(ModelRuntimeError, match="TensorRT logged the reason"):
            opened(make_package(tmp_path / "b", networks, fails=True)).forward(
                np.zeros((1, 3, 4, 6), np.float32)
            )

    def test_outputs_of_unknown_size(self, networks: Any, tmp_path: Path) -> None:
        """An output whose size depends on the image's content is refused by name."""
        tensors = [
            tensor("images", "INPUT", [-1, 3, 4, 6]),
            tensor("found", "OUTPUT", [-1, -1]),
        ]
        backend = opened(make_package(tmp_path, networks, tensors=tensors))
        with pytest.raises(ModelImplementationNotFoundError, match=r'output "found" depends'):
            backend.forward(np.zeros((1, 3, 4, 6), np.float32))


@pytest.mark.usefixtures("library")
class TestOpen:
    """What opening a package refuses, and how batches are declared."""

    @pytest.mark.parametrize(
        "batches",
        [
            {"static_batch_size": 2},
            {"dynamic_batch_size_min": 1, "dynamic_batch_size_opt": 2, "dynamic_batch_size_max": 4},
            {"min": 1, "opt": 1, "max": 3},
        ],
    )
    def test_declared_batches(self, networks: Any, tmp_path: Path, batches: Any) -> None:
        """`trt_config.json` says how many images a run takes."""
        package = make_package(tmp_path, networks, batches)
        forward = package.inference.forward_pass
        assert forward.static_batch_size == batches.get("static_batch_size")
        assert forward.max_dynamic_batch_size == batches.get(
            "dynamic_batch_size_max", batches.get("max")
        )
        opened(package)

    @pytest.mark.parametrize(
        ("batches", "text"),
        [
            ({}, "needs static_batch_size, or dynamic_batch_size_min"),
            ({"static_batch_size": 0}, "static_batch_size"),
            ({"min": 2, "opt": 1, "max": 3}, "needs static_batch_size, or"),
            ({"static_batch_size": 1, "max": 3}, "exclude each other"),
        ],
    )
    def test_wrong_declarations(
        self, networks: Any, tmp_path: Path, batches: Any, text: str
    ) -> None:
        """A declaration that is none is a fault of its file."""
        with pytest.raises(CorruptedModelPackageError, match=f"trt_config.json.*{text}"):
            make_package(tmp_path, networks, batches)

    def test_a_batch_the_engine_does_not_take(self, networks: Any, tmp_path: Path) -> None:
        """The package says 8, the engine's profile ends at 4."""
        package = make_package(tmp_path, networks, {"static_batch_size": 8})
        with pytest.raises(
            CorruptedModelPackageError,
            match="static_batch_size is 8, the engine takes batches of 1 to 4",
        ):
            opened(package)

    def test_host_code(self, networks: Any, tmp_path: Path) -> None:
        """An engine with host code opens only where the host allows it; the error says how."""
        package = make_package(tmp_path, networks, host_code=True)
        allowed = BackendOptions(device="cuda", engine_host_code_allowed=True)
        with pytest.raises(
            CorruptedModelPackageError, match=r"cannot open .*engine_host_code_allowed=True"
        ):
            opened(package)
        opened(package, allowed)
        details = TrtPackageDetails(trt_forward_compatible=True)
        declared = replace(package, requirements=PackageRequirements(trt_package_details=details))
        with pytest.raises(ModelPackageRestrictedError, match="brings code that runs on the host"):
            opened(declared)
        opened(declared, allowed)

    def test_no_engine(self, networks: Any, tmp_path: Path) -> None:
        """A file that is no engine of this TensorRT."""
        package = make_package(tmp_path, networks)
        package.weights.write_bytes(b"no engine")
        with pytest.raises(CorruptedModelPackageError, match=r"TensorRT 10\.3\.0 cannot open"):
            opened(package)

    def test_too_large(self, networks: Any, tmp_path: Path) -> None:
        """A context that does not fit into the device's memory."""
        with pytest.raises(EnvironmentConfigurationError, match="memory of cuda may not suffice"):
            opened(make_package(tmp_path, networks, too_large=True))

    @pytest.mark.parametrize(
        ("inputs", "text"),
        [
            ([], "one image input, got none"),
            ([tensor("a", "INPUT", [1, 3]), tensor("b", "INPUT", [1, 3])], "got a .*, b "),
            ([tensor("a", "INPUT", [1, 3], "INT32")], r"got a \[1, 3\] int32"),
            ([tensor("a", "INPUT", [1, 3], "FP8")], 'tensor "a" has the type FP8'),
        ],
    )
    def test_inputs(self, networks: Any, tmp_path: Path, inputs: Any, text: str) -> None:
        """One image input of a type images have."""
        tensors = [*inputs, tensor("scores", "OUTPUT", [-1, 5])]
        with pytest.raises(ModelImplementationNotFoundError, match=text):
            opened(make_package(tmp_path, networks, tensors=tensors))


class TestWithoutTheLibrary:
    """Machines on which engines cannot run."""

    def test_tensorrt_is_missing(
        self, networks: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The error names the library and the ways out."""
        monkeypatch.setitem(sys.modules, "tensorrt", None)
        package = make_package(tmp_path, networks)
        with pytest.raises(
            MissingDependencyError, match=r"tensorrt is needed.*use an ONNX package"
        ):
            built_in_backends()["trt"](package, CUDA)

    @pytest.mark.usefixtures("library")
    def test_cpu(self, networks: Any, tmp_path: Path) -> None:
        """On a host that runs models on the CPU an engine is refused; the hint is the setting."""
        make_package(tmp_path / "m" / "1", networks)
        with (
            ModelManager(model_directories=[tmp_path]) as manager,
            pytest.raises(EnvironmentConfigurationError, match=r'device is "cpu".*device="cuda"'),
        ):
            manager.infer("m/1", np.zeros((4, 6, 3), np.uint8))

    def test_nothing_is_imported_before_an_engine_is_opened(self) -> None:
        """The names of backends, and the module of this one, need no library."""
        assert "trt" in built_in_backends()
        assert "tensorrt" not in sys.modules


@pytest.mark.usefixtures("library")
class TestThroughTheManager:
    """A package of an engine as any other model."""

    def test_infer(self, networks: Any, tmp_path: Path) -> None:
        """Images go in, predictions come out, more of them than one run takes."""
        make_package(tmp_path / "m" / "1", networks, {"min": 1, "opt": 2, "max": 4})
        backends = {"trt": lambda package, options: TensorRtBackend(package, options, HostMemory())}
        images = [np.full((4, 6, 3), value, np.uint8) for value in range(6)]
        with ModelManager(
            model_directories=[tmp_path], backends=backends, device="cuda"
        ) as manager:
            found = manager.infer("m/1", images)
        assert len(found) == 6
        np.testing.assert_allclose(found[0].confidence, [0.2] * 5, rtol=1e-6)
