"""Upgrades of workflows: what is rewritten, what is asked for, what is only said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from execution_engine import BlockRegistry
from tests.workflows.upgrading.toy_blocks import mix_registry
from workflows.inspection import all_problems
from workflows.upgrading.upgrade import Upgrade, UpgradeError, plan_upgrade

REGISTRY: BlockRegistry = mix_registry()
SEGMENTATION = "roboflow_core/roboflow_instance_segmentation_model"
DETECTION = "roboflow_core/roboflow_object_detection_model"
MODELS = (
    SEGMENTATION, DETECTION, "roboflow_core/roboflow_classification_model",
    "roboflow_core/roboflow_keypoint_detection_model",
    "roboflow_core/roboflow_multi_label_classification_model",
)  # fmt: skip


def workflow(*steps: str, outputs: str = "") -> str:
    """The text of a workflow with an image and these steps."""
    return (
        '{"version": "1.0", "inputs": [{"type": "WorkflowImage", "name": "image"}],\n'
        f' "steps": [{", ".join(steps)}], "outputs": [{outputs}]}}'
    )


def upgraded(step: str, **options: Any) -> tuple[str, Upgrade]:
    """The text of a lone step afterwards, and the upgrade."""
    upgrade = plan_upgrade(REGISTRY, workflow(step), **options)
    before, after = workflow("@").split("@")
    assert upgrade.text.startswith(before)
    assert upgrade.text.endswith(after)
    return upgrade.text[len(before) : -len(after)], upgrade


class TestModels:
    @pytest.mark.parametrize("family", MODELS)
    @pytest.mark.parametrize("start", ["v1", "v2"])
    def test_a_threshold_becomes_a_mode(self, family: str, start: str) -> None:
        """`confidence` turns into the mode `custom` with the same number, written as it was."""
        step = (
            f'{{"type": "{family}@{start}", "name": "m", "image": "$inputs.image", '
            '"confidence": 0.30, "model_id": "a/1"}'
        )
        text, upgrade = upgraded(step, target="v3")
        assert text == (
            f'{{"type": "{family}@v3", "name": "m", "image": "$inputs.image", '
            '"confidence_mode": "custom", "custom_confidence": 0.30, "model_id": "a/1"}'
        )
        assert upgrade.problems == ()
        assert upgrade.steps[0].done[1] == (
            'confidence 0.30 became confidence_mode "custom" and custom_confidence 0.30'
        )

    def test_the_default_threshold(self) -> None:
        """A step without `confidence` keeps the old default."""
        step = (
            f'{{"type": "{DETECTION}@v2", "name": "m", "images": "$inputs.image", '
            '"model_id": "a/1"}'
        )
        text, upgrade = upgraded(step)
        assert text == (
            f'{{"type": "{DETECTION}@v3", "name": "m", "images": "$inputs.image", '
            '"model_id": "a/1", "confidence_mode": "custom", "custom_confidence": 0.4}'
        )
        assert upgrade.problems == ()

    def test_a_threshold_from_an_input(self) -> None:
        """A reference moves as it is."""
        text = workflow(
            f'{{"type": "{DETECTION}@v1", "name": "m", "images": "$inputs.image", '
            '"model_id": "a/1", "confidence": "$inputs.c"}'
        ).replace('"inputs": [', '"inputs": [{"type": "WorkflowParameter", "name": "c"}, ')
        upgrade = plan_upgrade(REGISTRY, text)
        assert '"custom_confidence": "$inputs.c"' in upgrade.text
        assert upgrade.problems == ()

    def test_fields_that_get_an_effect(self) -> None:
        """A value that was ignored and now counts is kept and pointed out."""
        step = (
            f'{{"type": "{SEGMENTATION}@v3", "name": "m", "images": "$inputs.image", '
            '"model_id": "a/1", "mask_decode_mode": "fast", '
            '"enforce_dense_masks_in_inference_models": true}'
        )
        text, upgrade = upgraded(step)
        assert text == (
            f'{{"type": "{SEGMENTATION}@v5", "name": "m", "images": "$inputs.image", '
            '"model_id": "a/1", "mask_decode_mode": "fast"}'
        )
        (one,) = upgrade.steps
        assert one.notes == (
            'mask_decode_mode is "fast": v4 ignored it, v5 goes by it; '
            "--set m.mask_decode_mode=accurate keeps what v4 did",
        )
        assert one.done[1:] == (
            "enforce_dense_masks_in_inference_models true is gone; it had no effect",
        )

    def test_a_value_the_new_version_refuses(self) -> None:
        """What does not fit the new version is a problem of the upgraded workflow."""
        step = (
            f'{{"type": "{SEGMENTATION}@v4", "name": "m", "images": "$inputs.image", '
            '"model_id": "a/1", "tradeoff_factor": 7}'
        )
        _, upgrade = upgraded(step)
        assert [problem.where for problem in upgrade.problems] == ["/steps/0/tradeoff_factor"]


class TestRules:
    def test_defaults_that_change_are_written_out(self) -> None:
        """A step keeps doing what it did."""
        step = (
            '{"type": "roboflow_core/morphological_transformation@v1", "name": "m", '
            '"image": "$inputs.image"}'
        )
        text, upgrade = upgraded(step)
        assert text == (
            '{"type": "roboflow_core/morphological_transformation@v2", "name": "m", '
            '"image": "$inputs.image", "operation": "Closing"}'
        )
        assert upgrade.steps[0].done[1] == 'operation "Closing" is written out: the default changes'
        assert upgrade.problems == ()

    def test_every_rule_of_one_step(self) -> None:
        """Defaults, names, fields that go with and without an effect, an alias of the type."""
        step = (
            '{"name": "m", "type": "Mix", "color": "blue", "extra": "x", "unused": 1, '
            '"later": true, "note": "of an editor"}'
        )
        text, upgrade = upgraded(step, target="v2")
        assert text == (
            '{"name": "m", "type": "acme/mix@v2", "colour": "blue", "later": true, '
            '"note": "of an editor", "amount": 1.0}'
        )
        (one,) = upgrade.steps
        assert one.done == (
            "type Mix becomes acme/mix@v2",
            "amount 1.0 is written out: the default changes",
            'extra "x" is gone',
            "unused 1 is gone; it had no effect",
            "color is called colour",
        )
        assert one.notes == (
            'v2 has no extra; the step gave "x", which is lost',
            "later is true: v1 ignored it, v2 goes by it; --set m.later=VALUE gives it another",
        )
        assert upgrade.problems == ()

    def test_repeated_members(self) -> None:
        """Of a field that is given twice, nothing is left behind."""
        step = '{"type": "acme/mix@v1", "name": "m", "amount": 1, "extra": "a", "extra": "b"}'
        text, _ = upgraded(step, target="v2")
        assert text == '{"type": "acme/mix@v2", "name": "m", "amount": 1}'

    def test_values_that_are_needed(self) -> None:
        """Required fields without a value are named; given ones are put in."""
        step = '{"type": "acme/mix@v2", "name": "m"}'
        _, upgrade = upgraded(step)
        assert upgrade.needs_values
        # The old default of a field that is required now is still what the step did.
        assert upgrade.steps[0].needed == {"mode": "How it mixes"}
        text, upgrade = upgraded(step, values={("m", "mode"): '"slow"'})
        assert text == '{"type": "acme/mix@v3", "name": "m", "speed": 3, "mode": "slow"}'
        assert not upgrade.needs_values
        assert upgrade.problems == ()

    def test_given_values_win(self) -> None:
        """A value that is given replaces the one of the step."""
        step = '{"type": "acme/mix@v1", "name": "m", "amount": 5}'
        text, _ = upgraded(step, target="v2", values={(None, "amount"): "6"})
        assert text == '{"type": "acme/mix@v2", "name": "m", "amount": 6}'

    def test_outputs_that_are_gone(self) -> None:
        """A reference to an output that the new version lacks is a problem."""
        text = workflow(
            '{"type": "acme/mix@v2", "name": "m"}',
            outputs='{"type": "JsonField", "name": "s", "selector": "$steps.m.sum"}',
        )
        upgrade = plan_upgrade(REGISTRY, text, values={("m", "mode"): '"slow"'})
        assert [problem.where for problem in upgrade.problems] == ["/outputs/0/selector"]

    def test_problems_from_before_do_not_count(self) -> None:
        """What was wrong before is not blamed on the upgrade."""
        text = workflow(
            '{"type": "acme/mix@v1", "name": "m"}', '{"type": "none/such", "name": "n"}'
        )
        upgrade = plan_upgrade(REGISTRY, text, target="v2")
        assert upgrade.problems == ()
        assert len(upgrade.steps) == 1


class TestChoice:
    STEPS = (
        '{"type": "acme/mix@v1", "name": "a"}',
        '{"type": "acme/mix@v2", "name": "b"}',
        '{"type": "roboflow_core/image_blur@v1", "name": "c", "image": "$inputs.image"}',
        '{"type": "acme/mix@v3", "name": "d", "speed": 1, "mode": "fast"}',
    )

    def names(self, **options: Any) -> list[tuple[str, int]]:
        upgrade = plan_upgrade(REGISTRY, workflow(*self.STEPS), **options)
        return [(step.name, len(step.hops)) for step in upgrade.steps]

    def test_all_steps(self) -> None:
        """Without a choice, every step goes to its newest version."""
        assert self.names() == [("a", 2), ("b", 1)]

    def test_one_step(self) -> None:
        """A step that is named goes alone."""
        assert self.names(names=["b"]) == [("b", 1)]
        assert self.names(names=["c", "d"]) == []

    def test_one_version(self) -> None:
        """A version that is named is the end of the way; steps beyond it stay."""
        assert self.names(target="v2") == [("a", 1)]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"names": ["aa"]},
                "The workflow has no step 'aa'; it has a, b, c, d (did you mean 'a'?).",
            ),
            (
                {"names": ["d"], "target": "v1"},
                "Step 'd' cannot go from acme/mix@v3 to v1: newer versions are none.",
            ),
            (
                {"names": ["a"], "target": "v9"},
                "Step 'a' cannot go from acme/mix@v1 to v9: newer versions are v2, v3.",
            ),
            ({"target": "v9"}, "No step has a block with a newer version v9."),
            ({"values": {(None, "mood"): "1"}}, "No step that is upgraded has the field mood."),
            (
                {"values": {("a", "mood"): "1"}},
                "acme/mix@v3 has no field 'mood' (did you mean 'mode'?).",
            ),
            (
                {"values": {("c", "kernel"): "1"}},
                "No step that is upgraded has the field c.kernel.",
            ),
        ],
    )  # fmt: skip
    def test_what_is_not_there(self, options: Any, message: str) -> None:
        """Steps, versions and fields that are not there are refused."""
        with pytest.raises(UpgradeError) as caught:
            self.names(**options)
        assert str(caught.value) == message

    def test_a_step_with_an_unknown_block(self) -> None:
        """A step whose block is not there cannot be upgraded, if it is asked for."""
        text = workflow('{"type": "none/such", "name": "n"}')
        with pytest.raises(UpgradeError, match="there is no block 'none/such'"):
            plan_upgrade(REGISTRY, text, ["n"])
        assert plan_upgrade(REGISTRY, text).steps == ()


class TestInnerWorkflows:
    STEP = (
        f'{{"type": "{DETECTION}@v2", "name": "m", "images": "$inputs.image", "model_id": "a/1"}}'
    )
    NEWER = (
        f'{{"type": "{DETECTION}@v3", "name": "m", "images": "$inputs.image", "model_id": "a/1", '
        '"confidence_mode": "custom", "custom_confidence": 0.4}'
    )

    @staticmethod
    def around(text: str, name: str = "n") -> str:
        """A step that holds a workflow."""
        return (
            f'{{"type": "roboflow_core/inner_workflow@v1", "name": "{name}",'
            f' "workflow_definition": {text}, "parameter_bindings": {{"image": "$inputs.image"}}}}'
        )

    def nested(self, step: str, outer: str) -> str:
        """A workflow with a step inside of it, deeper inside of it, and in itself."""
        deeper = workflow(self.around(workflow(step), "deep"), step)
        return workflow(outer, self.around(deeper))

    def test_steps_inside(self) -> None:
        """Steps of inner workflows are upgraded where they are written, at any depth."""
        upgrade = plan_upgrade(REGISTRY, self.nested(self.STEP, self.STEP))
        assert upgrade.text == self.nested(self.NEWER, self.NEWER)
        assert [(step.name, step.where) for step in upgrade.steps] == [
            ("m", "/steps/0"),
            ("n__deep__m", "/steps/1/workflow_definition/steps/0/workflow_definition/steps/0"),
            ("n__m", "/steps/1/workflow_definition/steps/1"),
        ]
        assert (upgrade.problems, upgrade.not_entered) == ((), ())

    def test_one_of_them(self) -> None:
        """A step inside is named as it is called in the whole; values go by that name too."""
        upgrade = plan_upgrade(
            REGISTRY,
            self.nested(self.STEP, self.STEP),
            names=["n__m"],
            values={("n__m", "custom_confidence"): "0.7"},
        )
        deeper = workflow(
            self.around(workflow(self.STEP), "deep"), self.NEWER.replace("0.4", "0.7")
        )
        assert upgrade.text == workflow(self.STEP, self.around(deeper))

    def test_all_of_one(self) -> None:
        """The name of the step that holds a workflow stands for the steps inside."""
        upgrade = plan_upgrade(REGISTRY, self.nested(self.STEP, self.STEP), names=["n"])
        assert upgrade.text == self.nested(self.NEWER, self.STEP)

    @pytest.mark.parametrize(
        "step",
        [
            '{"type": "roboflow_core/inner_workflow@v1", "name": "n", "workflow_definition": []}',
            '{"type": "roboflow_core/inner_workflow@v1", "name": "n", "workflow_id": "w"}',
        ],
    )
    def test_what_cannot_be_read(self, step: str) -> None:
        """An inner workflow that is not there or cannot be read is named, the rest is upgraded."""
        upgrade = plan_upgrade(REGISTRY, workflow(step, self.STEP))
        assert upgrade.text == workflow(step, self.NEWER)
        assert upgrade.not_entered == ("n",)


class TestText:
    def test_formatting_stays(self) -> None:
        """Byte order mark, Windows line ends, tabs, escapes and order stay; two lines change."""
        text = (
            '\ufeff{\r\n\t"outputs": [],\r\n\t"note": "m\\u00fcnze 硬币",\r\n'
            '\t"steps": [\r\n\t\t{\r\n\t\t\t"name": "größe",\r\n'
            '\t\t\t"type": "RoboflowObjectDetectionModel",\r\n\t\t\t"confidence": 5e-1,\r\n'
            '\t\t\t"images": "$inputs.image",\r\n\t\t\t"model_id": "硬币/1"\r\n\t\t}\r\n\t],\r\n'
            '\t"inputs": [{"type": "WorkflowImage", "name": "image"}],\r\n'
            '\t"version": "1.0"\r\n}\r\n'
        )
        upgrade = plan_upgrade(REGISTRY, text)
        assert upgrade.text == text.replace(
            '"RoboflowObjectDetectionModel"', f'"{DETECTION}@v3"'
        ).replace(
            '"confidence": 5e-1', '"confidence_mode": "custom",\r\n\t\t\t"custom_confidence": 5e-1'
        )
        assert upgrade.problems == ()
        assert all_problems(json.loads(upgrade.text[1:]), REGISTRY) == []
        changed = [line for line in upgrade.diff() if line[0] in "+-"]
        assert len(changed) == 5

    def test_no_json(self) -> None:
        """Text that is no JSON is refused."""
        with pytest.raises(ValueError, match="Expecting"):
            plan_upgrade(REGISTRY, "{")
