"""The number of rows of an answer: that of a local run, told from what is sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.workflows.remote.conftest import FakeMaker, Reply, Request
from tests.workflows.remote.test_client import UNKNOWN_BLOCK
from workflows import RemoteServer, Session, run_locally, run_remotely
from workflows.remote.client import DESCRIBE
from workflows.remote.errors import ServerAnswerError
from workflows.remote.images import ImageWriter
from workflows.remote.knowledge import CHECK
from workflows.remote.request import InputWriter
from workflows.remote.rows import row_counts
from workflows.remote.signature import (
    InputShape,
    Signature,
    signature_of_definition,
    signature_of_plan,
)

PICTURE = np.arange(16 * 16 * 3, dtype=np.uint8).reshape(16, 16, 3)
INPUTS: list[dict[str, Any]] = [
    {"type": "WorkflowImage", "name": "image"},
    {"type": "WorkflowBatchInput", "name": "value", "kind": ["*"]},
    {"type": "WorkflowParameter", "name": "kernel", "default_value": 3},
]
BLUR = {
    "type": "roboflow_core/image_blur@v1",
    "name": "blur",
    "image": "$inputs.image",
    "kernel_size": "$inputs.kernel",
}
SLICES = {
    "type": "roboflow_core/image_slicer@v2",
    "name": "slices",
    "image": "$inputs.image",
    "slice_width": 8,
    "slice_height": 8,
}


def definition(*selectors: str) -> dict[str, Any]:
    """A workflow with the outputs a, b and so on, and the inputs they need."""
    text = " ".join(selectors)
    needed = [
        item
        for item in INPUTS
        if f"$inputs.{item['name']}" in text or (item["name"] != "value" and "$steps" in text)
    ]
    return {
        "version": "1.0",
        "inputs": needed,
        "steps": [step for step in (BLUR, SLICES) if f"$steps.{step['name']}." in text],
        "outputs": [
            {"type": "JsonField", "name": "abc"[index], "selector": selector}
            for index, selector in enumerate(selectors)
        ],
    }


ONE, DEEP, PARAMETER = "$steps.blur.image", "$steps.slices.slices", "$inputs.kernel"
VALUE = "$inputs.value"
RUNS = [
    ((ONE,), {"image": PICTURE}, 1),
    ((ONE,), {"image": [PICTURE]}, 1),
    ((ONE,), {"image": [PICTURE] * 3}, 3),
    ((ONE,), {"image": ()}, 0),
    ((DEEP,), {"image": [PICTURE] * 2}, 2),
    ((DEEP, PARAMETER), {"image": (PICTURE, PICTURE), "kernel": [3, 3, 3]}, 2),
    ((PARAMETER,), {"kernel": [1, 2, 3]}, 1),
    ((PARAMETER,), {}, 1),
    ((VALUE,), {"value": [1, 2, 3]}, 3),
    ((VALUE,), {"value": [[1, 2]]}, 1),
    ((VALUE,), {"value": np.arange(3)}, 1),
    ((VALUE, ONE), {"value": ["x"], "image": [PICTURE] * 3}, 3),
    ((VALUE, ONE), {"value": "x", "image": [PICTURE] * 3}, 3),
    ((PARAMETER, VALUE), {"value": []}, 0),
]


class TestRowCounts:
    @pytest.mark.parametrize(("selectors", "inputs", "rows"), RUNS)
    def test_of_a_workflow_that_compiles_here(
        self, session: Session, selectors: tuple[str, ...], inputs: dict[str, Any], rows: int
    ) -> None:
        """What a local run gives, and nothing else."""
        workflow = definition(*selectors)
        assert len(run_locally(workflow, inputs, session=session)) == rows
        signature = signature_of_plan(session.compile(workflow))
        writer = InputWriter(ImageWriter(session.image_codec), session.registry.codecs)
        assert row_counts(signature, writer.write(inputs, signature.inputs)) == {rows}

    @pytest.mark.parametrize(("selectors", "inputs", "rows"), RUNS)
    def test_of_a_workflow_that_only_the_server_knows(
        self, session: Session, selectors: tuple[str, ...], inputs: dict[str, Any], rows: int
    ) -> None:
        """The batch is known from the declared inputs, what the outputs make of it is not."""
        signature = signature_of_definition(definition(*selectors))
        writer = InputWriter(ImageWriter(session.image_codec), session.registry.codecs)
        assert row_counts(signature, writer.write(inputs, signature.inputs)) == {rows, 1}

    @pytest.mark.parametrize(
        ("inputs", "counts"),
        [
            ({}, {1}),
            ({"image": "x"}, {1}),
            ({"image": ["x"], "words": ["a"]}, {1}),
            ({"image": ["x", "y"]}, {1, 2}),
            ({"image": ["x", "y"], "words": ["a", "b", "c"]}, {1, 2, 3}),
            ({"image": []}, {0, 1}),
            ({"other": ["a", "b"]}, {1}),
        ],
    )
    def test_of_a_stored_workflow(self, inputs: dict[str, Any], counts: set[int]) -> None:
        """A list may be a batch or one value there."""
        shapes = {"image": InputShape(("image",)), "words": InputShape(("*",))}
        assert row_counts(Signature(inputs=shapes), inputs) == counts

    def test_no_value_for_each_element(self, session: Session) -> None:
        """A batch gives one row then; servers differ on an empty one."""
        workflow = definition(ONE)
        workflow["outputs"][0]["selector"] = PARAMETER
        signature = signature_of_plan(session.compile(workflow))
        assert row_counts(signature, {"image": [1, 2, 3]}) == {1}
        assert row_counts(signature, {"image": []}) == {0, 1}
        for images in ([PICTURE] * 3, []):
            found = len(run_locally(workflow, {"image": images}, session=session))
            assert found in row_counts(signature, {"image": images})


class TestRequireRows:
    @pytest.mark.parametrize("serialize", [False, True])
    @pytest.mark.parametrize(
        ("images", "rows", "text"),
        [
            (2, 3, "3 rows, expected 2: one for each element of the batch."),
            (2, 1, "1 row, expected 2: one for each element of the batch."),
            (2, 0, "0 rows, expected 2: one for each element of the batch."),
            (1, 2, "2 rows, expected 1: a run without a batch gives one row."),
            (0, 1, "1 row, expected 0: one for each element of the batch."),
        ],
    )
    def test_more_or_fewer_are_refused(
        self,
        fake_server: FakeMaker,
        blur_definition: dict[str, Any],
        images: int,
        rows: int,
        text: str,
        serialize: bool,
    ) -> None:
        """The error names both numbers, whatever is made of the rows."""
        server = fake_server(lambda request: Reply({"outputs": [{"blurred": None}] * rows}))
        with pytest.raises(ServerAnswerError) as caught:
            run_remotely(
                blur_definition,
                {"image": [PICTURE] * images},
                server=server.url,
                check=False,
                serialize=serialize,
            )
        assert str(caught.value) == f"The server {server.url} answered with {text}"

    def test_outputs_without_a_batch(self, fake_server: FakeMaker) -> None:
        """One row is right, one for each image is not."""
        workflow = definition(ONE)
        workflow["outputs"][0]["selector"] = PARAMETER
        rows = [{"a": 3}]
        server = fake_server(lambda request: Reply({"outputs": rows}))
        with RemoteServer(server.url, check=False) as remote:
            assert remote.run(workflow, {"image": [PICTURE] * 2}) == [{"a": 3}]
            rows.append({"a": 3})
            with pytest.raises(ServerAnswerError, match="expected 1: no output of the workflow"):
                remote.run(workflow, {"image": [PICTURE] * 2})

    @pytest.mark.parametrize("workflow", [UNKNOWN_BLOCK, "shop/count"])
    def test_workflows_that_only_the_server_knows(
        self, fake_server: FakeMaker, workflow: Any
    ) -> None:
        """Numbers that no run can give are refused there, too."""
        rows: list[Any] = []

        def answer(request: Request) -> Reply:
            if request.path.endswith("describe_interface") or request.path == DESCRIBE:
                return Reply({"inputs": {"image": ["image"]}, "outputs": {"found": ["*"]}})
            return Reply({"missing": []} if request.path == CHECK else {"outputs": rows})

        server = fake_server(answer)
        with RemoteServer(server.url) as remote:
            for count in (0, 1, 2, 3, 4):
                rows[:] = [{"found": 1}] * count
                if count in (1, 3):
                    assert len(remote.run(workflow, {"image": [PICTURE] * 3})) == count
                    continue
                with pytest.raises(ServerAnswerError, match="expected 1 or 3: one for each"):
                    remote.run(workflow, {"image": [PICTURE] * 3})
