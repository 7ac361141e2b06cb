"""`continue_if@v1`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from blocks.flow_control.continue_if.v1 import ContinueIfBlockV1, ContinueIfManifest
from execution_engine.block_api import WorkflowImageData
from execution_engine.errors import EvaluationEngineError, UndeclaredSymbolError
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import StatementGroup

MakeFrame = Callable[..., WorkflowImageData]
NEXT = ["$steps.s"]
ABOVE_TWO = {
    "type": "StatementGroup",
    "statements": [
        {
            "type": "BinaryStatement",
            "left_operand": {"type": "DynamicOperand", "operand_name": "x"},
            "comparator": {"type": "(Number) >"},
            "right_operand": {"type": "StaticOperand", "value": 2},
        }
    ],
}


@pytest.fixture
def passes() -> Callable[..., bool]:
    """Runs one gate: `passes(x, stop_delay=0, **more_parameters)`."""
    block = ContinueIfBlockV1(CodecRegistry())
    condition = StatementGroup.parse(ABOVE_TWO)

    def run(x: Any, stop_delay: float = 0, **parameters: Any) -> bool:
        result: Any = block.run(condition, {"x": x, **parameters}, NEXT, stop_delay)
        assert list(result.targets()) in ([], NEXT)
        return bool(result.targets())

    return run


class TestRun:
    def test_condition_decides(self, passes: Callable[..., bool]) -> None:
        """The next steps run exactly when the condition holds."""
        assert [passes(x) for x in (3, 2, 4)] == [True, False, True]

    def test_no_next_steps(self) -> None:
        """A condition that holds selects nothing when there is nothing to select."""
        block = ContinueIfBlockV1(CodecRegistry())
        result: Any = block.run(StatementGroup.parse(ABOVE_TWO), {"x": 3}, [], 0)
        assert list(result.targets()) == []

    def test_stop_delay_on_the_host_clock(
        self, passes: Callable[..., bool], host_clock: Any
    ) -> None:
        """The branch stays open for the delay after the condition held last, then closes."""
        answers = []
        for host_clock.now, x in ((0.0, 0), (1.0, 3), (1.5, 3), (2.4, 0), (2.6, 0), (2.7, 3)):
            answers.append(passes(x, 1.0))
        assert answers == [False, True, True, True, False, True]

    def test_no_delay_keeps_nothing_open(
        self, passes: Callable[..., bool], host_clock: Any
    ) -> None:
        """Without a delay the branch closes at once, at the same moment even."""
        assert [passes(x) for x in (3, 0)] == [True, False]

    def test_delay_in_video_time(self, passes: Callable[..., bool], make_frame: MakeFrame) -> None:
        """With a frame among the parameters the delay is one of the video, not of the host."""
        answers = [
            passes(x, 0.25, image=make_frame(number=n)) for n, x in enumerate([3, 0, 0, 0, 0, 3])
        ]
        assert answers == [True, True, True, False, False, True]

    def test_videos_have_their_own_delay(
        self, passes: Callable[..., bool], make_frame: MakeFrame
    ) -> None:
        """What one video showed does not keep the branch open for another."""
        assert passes(3, 10, image=make_frame("a", 1))
        assert not passes(0, 10, image=make_frame("b", 1))
        assert passes(0, 10, image=make_frame("a", 2))

    def test_crops_share_the_delay_of_their_video(
        self, passes: Callable[..., bool], make_frame: MakeFrame
    ) -> None:
        """Crops of later frames have other ids but belong to the same video."""

        def crop(number: int) -> WorkflowImageData:
            return WorkflowImageData.create_crop(
                make_frame("a", number), f"crop.{number}", np.zeros((1, 1, 3), np.uint8), 0, 0, True
            )

        assert passes(3, 10, image=crop(1))
        assert passes(0, 10, image=crop(2))

    def test_errors_of_the_language_reach_the_user(self, passes: Callable[..., bool]) -> None:
        """A parameter that cannot be compared, or is not given, is an error and not false."""
        with pytest.raises(EvaluationEngineError):
            passes("text")
        block = ContinueIfBlockV1(CodecRegistry())
        with pytest.raises(UndeclaredSymbolError):
            block.run(StatementGroup.parse(ABOVE_TWO), {"y": 3}, NEXT, 0)


class TestManifest:
    def test_condition_is_parsed(self) -> None:
        """The condition arrives as a definition; parameters and delay have defaults."""
        manifest = ContinueIfManifest.model_validate(
            {
                "type": "ContinueIf",
                "name": "c",
                "condition_statement": ABOVE_TWO,
                "next_steps": NEXT,
            }
        )
        assert manifest.condition_statement == StatementGroup.parse(ABOVE_TWO)
        assert (manifest.evaluation_parameters, manifest.stop_delay) == ({}, 0)

    def test_faulty_condition_is_refused(self) -> None:
        """A group without statements is refused."""
        with pytest.raises(ValidationError):
            ContinueIfManifest.model_validate(
                {
                    "type": "ContinueIf",
                    "name": "c",
                    "condition_statement": {"type": "StatementGroup", "statements": []},
                    "next_steps": NEXT,
                }
            )
