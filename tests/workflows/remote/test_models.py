"""Models of a server in the place of a model manager: every model block gives what it gives with
the model in its own process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from execution_engine.errors import StepExecutionError, WorkflowEnvironmentConfigurationError
from inference_models.errors import (
    InvalidParameterError,
    ModelInputError,
    ModelNotFoundError,
)
from inference_models.families.parameters import InferenceParameters
from inference_models.manager.call_context import call_context
from inference_models.packages.tasks import Task
from inference_models.predictions.detections import Detections
from tests.blocks.models.colour_models import (
    DETECTOR,
    SEGMENTER,
    model_workflow,
    nothing,
    three_rectangles,
    write_colour_models,
)
from tests.blocks.models.test_versions import VERSIONS
from tests.workflows.remote.conftest import FakeMaker, Reply, Request
from tests.workflows.remote.live import LiveServer, live_server
from tests.workflows.remote.masking import masked
from workflows import RemoteServer, Session, WeftlensSettings, run_locally
from workflows.remote.errors import (
    ServerAnswerError,
    ServerConnectionError,
    ServerRefusedError,
    ServerTimeoutError,
)
from workflows.remote.models import RemoteModels, route_fields

SEGMENTATION = "instance_segmentation_model@v5"
_ANY_SERVER = re.compile(r"http://127\.0\.0\.1:\d+")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packages of every task."""
    pytest.importorskip("onnx")
    return write_colour_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def live(folder: Path) -> Iterator[LiveServer]:
    """A server over that folder."""
    with live_server(models=(folder,)) as running:
        yield running


@pytest.fixture(scope="module")
def here(folder: Path) -> Iterator[Session]:
    """A session with the models of that folder."""
    with Session(WeftlensSettings(model_directories=(folder,))) as session:
        yield session


@pytest.fixture(scope="module")
def there(live: LiveServer) -> Iterator[Session]:
    """A session that has no models, and a server that has."""
    settings = WeftlensSettings(step_execution_mode="remote", remote_server=live.url)
    with Session(settings) as session:
        yield session


@pytest.fixture(scope="module")
def models(live: LiveServer) -> Iterator[RemoteModels]:
    """The models of the server."""
    with RemoteServer(live.url) as server:
        yield server.models


class TestModelBlocks:
    @pytest.mark.parametrize(
        ("block", "model_id", "outputs"), VERSIONS, ids=[row[0] for row in VERSIONS]
    )
    def test_json_is_the_same(
        self, block: str, model_id: str, outputs: list[str], here: Session, there: Session
    ) -> None:
        """For images of several sizes, a grey one, one of a pixel and one without objects."""
        images = [
            three_rectangles(),
            nothing(),
            three_rectangles((301, 77)),
            three_rectangles((61, 83)).max(axis=2),
            np.full((1, 1, 3), 255, np.uint8),
        ]
        workflow = model_workflow(block, model_id, outputs)
        local = run_locally(workflow, {"image": images}, session=here, serialize=True)
        remote = run_locally(workflow, {"image": images}, session=there, serialize=True)
        assert masked(remote) == masked(local)

    @pytest.mark.parametrize(
        ("block", "model_id"),
        [(row[0], row[1]) for row in VERSIONS if "classification" not in row[0]],
    )
    def test_columns_are_the_same(
        self, block: str, model_id: str, here: Session, there: Session
    ) -> None:
        """Objects have the same columns of the same types, also where nothing was found."""
        workflow = model_workflow(block, model_id, ["predictions"])
        for image in (three_rectangles(), nothing()):
            [local] = run_locally(workflow, {"image": image}, session=here)
            [remote] = run_locally(workflow, {"image": image}, session=there)
            mine, other = local["predictions"], remote["predictions"]
            np.testing.assert_array_equal(other.xyxy, mine.xyxy)
            np.testing.assert_array_equal(other.confidence, mine.confidence)
            assert other.confidence.dtype == mine.confidence.dtype
            assert other.class_id.tolist() == mine.class_id.tolist()
            assert other.data.keys() == mine.data.keys()
            for name, column in mine.data.items():
                # Points that are not visible do not travel, so there may be fewer slots for them.
                if not name.startswith("keypoints_"):
                    assert np.asarray(other.data[name]).shape == np.asarray(column).shape, name
            assert (other.mask is None) == (mine.mask is None)
            if mine.mask is not None and len(mine):
                np.testing.assert_array_equal(np.asarray(other.mask), np.asarray(mine.mask))

    @pytest.mark.parametrize(
        "fields",
        [
            {"mask_decode_mode": "fast"},
            {"mask_decode_mode": "tradeoff", "tradeoff_factor": 0.0},
            {"mask_decode_mode": "tradeoff", "tradeoff_factor": 0.37},
            {"mask_decode_mode": "tradeoff", "tradeoff_factor": 1.0},
            {"mask_decode_mode": "accurate"},
            {"class_filter": ["red", "blue"]},
            {"confidence_mode": "custom", "custom_confidence": 0.99},
            {"max_detections": 1, "class_agnostic_nms": True, "iou_threshold": 0.5},
        ],
    )
    def test_parameters_arrive(self, fields: dict[str, Any], here: Session, there: Session) -> None:
        """Masks on every grid, to the bit; boxes on the image whatever the grid."""
        workflow = model_workflow(SEGMENTATION, SEGMENTER, ["predictions"], **fields)
        images = [three_rectangles(), three_rectangles((301, 77))]
        local = run_locally(workflow, {"image": images}, session=here, serialize=True)
        remote = run_locally(workflow, {"image": images}, session=there, serialize=True)
        assert masked(remote) == masked(local)

    @pytest.mark.parametrize("model_id", ["colours-detect/9", "colours-label/1"])
    def test_errors_are_the_same(self, model_id: str, here: Session, there: Session) -> None:
        """A model that is not there, and one of another task."""
        workflow = model_workflow("object_detection_model@v2", model_id, ["predictions"])
        caught = []
        for session in (here, there):
            with pytest.raises(StepExecutionError) as error:
                run_locally(workflow, {"image": three_rectangles()}, session=session)
            caught.append(error.value)
        # A server does not tell the names of its folders.
        mine, other = (re.sub(r"looked in .* \(did", "looked in (did", str(e)) for e in caught)
        assert mine == other
        assert type(caught[0].inner_error) is type(caught[1].inner_error)

    def test_a_manager_of_a_server_needs_no_mode(self, models: RemoteModels) -> None:
        """The mode follows from what is given, as argument of the session or of the run."""
        workflow = model_workflow("object_detection_model@v2", DETECTOR, ["predictions"])
        inputs = {"image": three_rectangles()}
        with Session(WeftlensSettings(), model_manager=models) as session:
            [first] = run_locally(workflow, inputs, session=session)
        with Session(WeftlensSettings()) as session:
            [second] = run_locally(
                workflow, inputs, session=session, init_parameters={"model_manager": models}
            )
        assert len(first["predictions"]) == len(second["predictions"]) == 3

    def test_the_mode_of_one_run(self, live: LiveServer, here: Session) -> None:
        """A session with a server in its settings runs models where a run says."""
        settings = here.settings.model_copy(update={"remote_server": live.url})
        workflow = model_workflow("object_detection_model@v2", DETECTOR, ["predictions"])
        with Session(settings) as session:
            run_locally(
                workflow,
                {"image": three_rectangles()},
                session=session,
                init_parameters={"step_execution_mode": "remote"},
            )
            assert session.model_manager.list_models() == []
            run_locally(workflow, {"image": three_rectangles()}, session=session)
            assert len(session.model_manager.list_models()) == 1

    def test_a_lock_does_not_hold_models_of_a_server(self, here: Session, there: Session) -> None:
        """It would be held against files of this side, which are not the ones that run."""
        from workflows.locking.errors import LockDriftError
        from workflows.locking.making import make_lock

        workflow = model_workflow("object_detection_model@v2", DETECTOR, ["predictions"])
        lock = make_lock(here, workflow)
        inputs = {"image": three_rectangles()}
        assert run_locally(workflow, inputs, session=here, lock=lock)
        with pytest.raises(LockDriftError, match="is a model of a server"):
            run_locally(workflow, inputs, session=there, lock=lock)

    def test_contradictions_are_refused(self, here: Session, models: RemoteModels) -> None:
        """No server, and a mode that the manager does not have."""
        workflow = model_workflow("object_detection_model@v2", DETECTOR, ["predictions"])
        inputs = {"image": three_rectangles()}
        with pytest.raises(WorkflowEnvironmentConfigurationError, match="WEFTLENS_REMOTE_SERVER"):
            run_locally(
                workflow, inputs, session=here, init_parameters={"step_execution_mode": "remote"}
            )
        with pytest.raises(WorkflowEnvironmentConfigurationError, match="are remote"):
            run_locally(
                workflow,
                inputs,
                session=here,
                init_parameters={"step_execution_mode": "local", "model_manager": models},
            )
        with pytest.raises(WorkflowEnvironmentConfigurationError, match="'local' or 'remote'"):
            run_locally(
                workflow, inputs, session=here, init_parameters={"step_execution_mode": "elsewhere"}
            )


class TestInfer:
    def test_takes_what_a_manager_takes(self, models: RemoteModels) -> None:
        """One array, a list, RGB arrays."""
        image = three_rectangles()
        [alone] = models.infer(DETECTOR, image)
        [flipped] = models.infer(DETECTOR, image[:, :, ::-1], color_order="rgb")
        assert isinstance(alone, Detections)
        np.testing.assert_array_equal(alone.xyxy, flipped.xyxy)
        assert len(models.infer(DETECTOR, [image] * 40)) == 40

    def test_takes_tensors(self, models: RemoteModels) -> None:
        """(3, h, w) RGB."""
        torch = pytest.importorskip("torch")
        image = three_rectangles()
        tensor = torch.from_numpy(image[:, :, ::-1].transpose(2, 0, 1).copy())
        np.testing.assert_array_equal(
            models.infer(DETECTOR, tensor)[0].xyxy, models.infer(DETECTOR, image)[0].xyxy
        )

    @pytest.mark.parametrize(
        ("images", "params", "error"),
        [
            ([], None, ModelInputError),
            (np.zeros((4, 4), np.float32), None, ModelInputError),
            (np.zeros((4, 4), np.uint8), {"confidnce": 1}, InvalidParameterError),
            (np.zeros((4, 4), np.uint8), {"confidence": 7}, InvalidParameterError),
            (np.zeros((4, 4), np.uint8), {"keypoint_confidence": 0.5}, InvalidParameterError),
        ],
    )
    def test_refuses_what_a_manager_refuses(
        self, models: RemoteModels, images: Any, params: Any, error: type[Exception]
    ) -> None:
        """With the same classes, whichever side finds out."""
        with pytest.raises(error):
            models.infer(DETECTOR, images, params)

    def test_an_observer_hears_of_every_call(self, live: LiveServer) -> None:
        """Also of one that failed, whether the manager was given or named in the settings."""
        heard: list[tuple[str, int | None]] = []
        settings = WeftlensSettings(step_execution_mode="remote", remote_server=live.url)
        with Session(settings) as session:
            session.observe_models(lambda model_id, _, count: heard.append((model_id, count)))
            session.remote_models.infer(DETECTOR, [three_rectangles()] * 2)
            with pytest.raises(InvalidParameterError):
                session.remote_models.infer(
                    DETECTOR, three_rectangles(), {"keypoint_confidence": 0.5}
                )
        assert heard == [(DETECTOR, 2), (DETECTOR, None)]

    def test_an_unknown_model_is_named(self, models: RemoteModels) -> None:
        """The note says who raised it."""
        with pytest.raises(ModelNotFoundError, match="colours-detect/9") as caught:
            models.infer("colours-detect/9", three_rectangles())
        assert _ANY_SERVER.search(caught.value.__notes__[0])

    def test_the_deadline_of_a_run_holds_for_its_models(self, fake_server: FakeMaker) -> None:
        """A call waits no longer than the run it belongs to."""
        import threading

        release = threading.Event()

        def answer(request: Request) -> Reply:
            release.wait(60)
            return Reply({})

        server = fake_server(answer)
        with RemoteServer(server.url, timeout=600) as remote:
            try:
                with call_context(deadline=0.3), pytest.raises(ServerTimeoutError):
                    remote.models.infer(DETECTOR, three_rectangles())
            finally:
                release.set()

    def test_asks_for_the_task_once(self, fake_server: FakeMaker) -> None:
        """And again after an error: the model may be another one."""
        boxes = {"image": {"width": 130, "height": 90}, "predictions": []}
        failing = []

        def answer(request: Request) -> Reply:
            if request.path == "/model/add":
                return Reply({"models": [{"model_id": "a/1", "task_type": "object-detection"}]})
            return Reply({"message": "no"}, 404) if failing else Reply([boxes])

        server = fake_server(answer)
        with RemoteServer(server.url) as remote:
            for _ in range(2):
                assert len(remote.models.infer("a/1", three_rectangles())[0]) == 0
            failing.append(True)
            with pytest.raises(ServerRefusedError):
                remote.models.infer("a/1", three_rectangles())
            failing.clear()
            remote.models.infer("a/1", three_rectangles())
        assert server.paths == [
            "/model/add",
            *["/infer/object_detection"] * 3,
            "/model/add",
            "/infer/object_detection",
        ]

    @pytest.mark.parametrize(
        ("answers", "words"),
        [
            ({"/model/add": {"models": []}}, 'does not list "a/1"'),
            ({"/model/add": [1]}, 'does not list "a/1"'),
            ({"/model/add": {"models": [{"model_id": "a/1", "task_type": "lmm"}]}}, "does 'lmm'"),
            ({"/infer/object_detection": []}, "1 images with 0 predictions"),
            ({"/infer/object_detection": [{"predictions": []}]}, "cannot be read"),
            ({"/infer/object_detection": b"<html>"}, "no JSON"),
        ],
    )
    def test_strange_answers_name_the_server(
        self, fake_server: FakeMaker, answers: dict[str, Any], words: str
    ) -> None:
        """None of them is taken for a prediction."""
        usual = {"/model/add": {"models": [{"model_id": "a/1", "task_type": "object-detection"}]}}
        server = fake_server(lambda request: Reply({**usual, **answers}[request.path]))
        with (
            RemoteServer(server.url) as remote,
            pytest.raises((ServerAnswerError, ModelNotFoundError), match=words),
        ):
            remote.models.infer("a/1", three_rectangles())

    def test_a_server_that_is_gone(self, fake_server: FakeMaker) -> None:
        """Named, and passed through by the engine as it is."""
        server = fake_server(lambda request: Reply({}))
        server.stop()
        workflow = model_workflow("object_detection_model@v2", "a/1", ["predictions"])
        with (
            RemoteServer(server.url, retries=0) as remote,
            Session(WeftlensSettings(), model_manager=remote.models) as session,
            pytest.raises(ServerConnectionError, match=server.url),
        ):
            run_locally(workflow, {"image": three_rectangles()}, session=session)


class TestRouteFields:
    def test_names_of_the_routes(self) -> None:
        """Steps of pre-processing have names of their own there."""
        params = InferenceParameters(
            confidence="best", class_filter=("a",), disable_static_crop=True, disable_grayscale=True
        )
        assert route_fields(params, Task.OBJECT_DETECTION) == {
            "class_filter": ["a"],
            "confidence": "best",
            "disable_preproc_grayscale": True,
            "disable_preproc_static_crop": True,
        }

    @pytest.mark.parametrize("factor", [None, 1.0, 0.0, 0.25])
    def test_masks_on_their_own_grid_where_that_was_asked_for(self, factor: float | None) -> None:
        """Codes always, another grid only below 1."""
        params = InferenceParameters(masks_resolution_factor=factor)
        expected: dict[str, Any] = {"response_mask_format": "rle"}
        if factor is not None and factor < 1:
            expected |= {
                "allow_reduced_mask_resolution": True,
                "mask_decode_mode": "tradeoff",
                "tradeoff_factor": factor,
            }
        assert route_fields(params, Task.INSTANCE_SEGMENTATION) == expected
