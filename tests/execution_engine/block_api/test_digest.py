"""Reading a block class into its spec, and refusing classes that contradict themselves."""

from __future__ import annotations

import json
from typing import Any, Literal, Union

import pytest
from pydantic import AliasChoices, ConfigDict, Field

from execution_engine.block_api import (
    OutputDefinition,
    Selector,
    StepOutputImageSelector,
    StepOutputSelector,
    StepSelector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageSelector,
    WorkflowParameterSelector,
    WorkflowVideoMetadataSelector,
)
from execution_engine.block_api.digest import digest_block
from execution_engine.block_api.spec import BlockSpec, FieldSpec, OutputSpec, ReferenceSpec
from execution_engine.errors import BlockInterfaceError
from execution_engine.kinds.catalogue import FLOAT_KIND, IMAGE_KIND, INTEGER_KIND, STRING_KIND
from tests.execution_engine.toy_blocks import ANY, STEP_OBJECT, STEPS, block


class BlurManifest(WorkflowBlockManifest):
    """A manifest as blocks write them."""

    model_config = ConfigDict(
        json_schema_extra={"name": "Toy Blur", "short_description": "Blurs.", "block_type": "toys"}
    )
    type: Literal["toys/blur@v3", "Blur"]
    image: Selector(kind=[IMAGE_KIND]) = Field(  # type: ignore[valid-type]
        validation_alias=AliasChoices("image", "images")
    )
    size: Union[
        int, Selector(kind=[INTEGER_KIND]), WorkflowParameterSelector(kind=[FLOAT_KIND])
    ] = 5  # type: ignore[valid-type]
    many: list[Union[str, Selector(kind=[STRING_KIND])]] = []  # type: ignore[valid-type]
    named: dict[str, Union[Selector(), int]] = {}  # type: ignore[valid-type]
    pair: tuple[float, float] | None = None
    steps: list[StepSelector] = []  # type: ignore[valid-type]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("image", [IMAGE_KIND]), OutputDefinition("any")]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class Blur(WorkflowBlock):
    """The code of the manifest above."""

    def __init__(self, model_manager: Any) -> None:
        pass

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        return ["model_manager"]

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return BlurManifest

    def run(self, image: Any, size: Any, many: Any, named: Any, pair: Any, steps: Any) -> Any:
        return {"image": image, "any": None}


class TestDigestBlock:
    def test_spec(self) -> None:
        """Ids, texts, fields with their forms of reference, outputs, hooks."""
        spec = digest_block(Blur, "toys")
        assert (spec.type_id, spec.aliases, spec.family, spec.version) == (
            "toys/blur@v3",
            ("Blur",),
            "blur",
            "v3",
        )
        assert (spec.title, spec.short_description, spec.block_type) == (
            "Toy Blur",
            "Blurs.",
            "toys",
        )
        assert (spec.source, spec.module, spec.class_name) == ("toys", Blur.__module__, "Blur")
        assert spec.init_parameters == ("model_manager",)
        assert spec.engine_compatibility == ">=1.3.0,<2.0.0"
        assert spec.outputs == (OutputSpec("image", ("image",)), OutputSpec("any", ("*",)))
        assert spec.is_control_flow
        assert dict(spec.fields) == {
            "image": FieldSpec(
                "image", ("image", "images"), True, (ReferenceSpec("any_data", ("image",)),), False
            ),
            "size": FieldSpec(
                "size",
                ("size",),
                False,
                (
                    ReferenceSpec("any_data", ("integer",)),
                    ReferenceSpec("workflow_parameter", ("float",), False),
                ),
                True,
            ),
            "many": FieldSpec(
                "many",
                ("many",),
                False,
                (ReferenceSpec("any_data", ("string",), container="list"),),
                True,
            ),
            "named": FieldSpec(
                "named",
                ("named",),
                False,
                (ReferenceSpec("any_data", ("*",), container="dict"),),
                True,
            ),
            "pair": FieldSpec("pair", ("pair",), False, (), True),
            "steps": FieldSpec(
                "steps", ("steps",), False, (ReferenceSpec("step", (), False, "list"),), True
            ),
        }

    def test_round_trip(self) -> None:
        """A spec survives its JSON form, so a generated index says the same as the code."""
        for made in (Blur, block("t/plain@v1", lambda x: {"out": x})):
            spec = digest_block(made, "toys")
            assert BlockSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec

    def test_round_trip_of_every_hook(self) -> None:
        """Every hook is in the JSON form."""
        spec = digest_block(
            block(
                "t/full@v1",
                lambda a, b, c=1: {"o": 1},
                outputs=("o",),
                aliases=("Full",),
                batches=("a", "b"),
                batches_or_singles=("c",),
                cast=("a",),
                offsets={"a": 0, "b": 1},
                reference="a",
                accepts_empty=True,
                written=("a",),
                inert={"c": "no use"},
                compatibility=">=1.0.0,<2.0.0",
            ),
            "toys",
        )
        assert spec.accepts_batch_input
        assert BlockSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec

    def test_outputs_that_depend_on_the_step(self) -> None:
        """A single `*` output says that the step decides."""
        spec = digest_block(
            block("t/d@v1", lambda x: {}, actual_outputs=lambda self: [OutputDefinition("a")]),
            "toys",
        )
        assert (spec.dynamic_outputs, spec.outputs) == (True, ())

    @pytest.mark.parametrize(
        ("annotation", "element", "points_to_batch"),
        [
            (Selector(), "any_data", "dynamic"),
            (StepOutputSelector(), "step_output", True),
            (StepOutputImageSelector, "step_output", True),
            (WorkflowImageSelector, "workflow_image", True),
            (WorkflowVideoMetadataSelector, "workflow_video_metadata", True),
            (WorkflowParameterSelector(), "workflow_parameter", False),
            (StepSelector, "step", False),
        ],
    )
    def test_forms_of_reference(self, annotation: Any, element: str, points_to_batch: Any) -> None:
        """Every selector of plug-ins says what it points to."""
        spec = digest_block(block("t/b@v1", lambda x: {"out": 1}, fields={"x": annotation}), "toys")
        (form,) = spec.fields["x"].references
        assert (form.element, form.points_to_batch, form.container) == (
            element,
            points_to_batch,
            None,
        )
        assert not spec.fields["x"].accepts_literal

    @pytest.mark.parametrize(
        ("annotation", "containers", "literal"),
        [
            (ANY, {None}, True),
            (Union[None, Selector()], {None}, False),
            (Union[list[ANY], Selector()], {"list", None}, True),
            (Union[list[ANY], dict[str, ANY]], {"list", "dict"}, True),
            (tuple[ANY, ANY], {"list"}, True),
            (STEPS, {"list"}, True),
            (STEP_OBJECT, {"dict"}, True),
            (list[list[ANY]], set(), True),
            (dict[str, list[ANY]], set(), True),
            (Literal["a"], set(), True),
        ],
    )
    def test_containers(self, annotation: Any, containers: set[Any], literal: bool) -> None:
        """References are found one level deep, in lists, tuples and objects, never deeper."""
        spec = digest_block(block("t/b@v1", lambda x: {"out": 1}, fields={"x": annotation}), "toys")
        field = spec.fields["x"]
        assert {form.container for form in field.references} == containers
        assert field.accepts_literal == literal


def _message(made: Any) -> str:
    with pytest.raises(BlockInterfaceError) as caught:
        digest_block(made, "toys")
    prefix = f"Block {made.__module__}.{made.__qualname__}: "
    text = str(caught.value)
    assert text.startswith(prefix)
    return text.removeprefix(prefix)


class TestRefusals:
    """A block that contradicts itself is refused when it is registered, by name."""

    def test_manifest(self) -> None:
        """`get_manifest()` gives a manifest class."""
        made = block("t/b@v1", lambda x: {"out": 1})
        made.get_manifest = classmethod(lambda cls: dict)  # type: ignore[assignment,method-assign]
        assert _message(made) == (
            "get_manifest() must return a subclass of WorkflowBlockManifest, got <class 'dict'>."
        )

    def test_type_is_a_literal(self) -> None:
        """The type id stands in the annotation."""

        class Loose(BlurManifest):
            type: str  # type: ignore[assignment]

        made = type("LooseBlur", (Blur,), {"get_manifest": classmethod(lambda cls: Loose)})
        assert _message(made) == (
            "field `type` must be a Literal with the block's type id first, got <class 'str'>."
        )

    def test_run_does_not_take_a_field(self) -> None:
        """Every field of the manifest is an argument of `run`."""
        made = block("t/b@v1", lambda a: {"out": 1}, fields={"z": ANY, "y": ANY})
        assert _message(made) == "run() does not take the manifest's fields y, z."

    def test_run_needs_more(self) -> None:
        """`run` needs nothing that the manifest does not declare, unless it has a default."""
        made = block("t/b@v1", lambda a: {"out": 1})
        made.run = lambda self, a, b, c=1: {"out": 1}  # type: ignore[method-assign]
        assert _message(made) == "run() needs b, which the manifest does not declare."

    def test_run_of_any_arguments(self) -> None:
        """A `run` that takes anything is not checked by name."""
        made = block("t/b@v1", lambda a: {"out": 1})
        made.run = lambda self, **anything: {"out": 1}  # type: ignore[method-assign]
        assert digest_block(made, "toys").type_id == "t/b@v1"

    @pytest.mark.parametrize(
        ("hooks", "hook"),
        [
            ({"batches": ("z",)}, "get_parameters_accepting_batches"),
            ({"batches_or_singles": ("z",)}, "get_parameters_accepting_batches_and_scalars"),
            ({"cast": ("z",)}, "get_parameters_enforcing_auto_batch_casting"),
            ({"written": ("z",)}, "get_parameters_written_in_place"),
            ({"offsets": {"z": 0}}, "get_input_dimensionality_offsets"),
            ({"inert": {"z": "why"}}, "get_inert_fields"),
        ],
    )
    def test_hooks_name_fields(self, hooks: dict[str, Any], hook: str) -> None:
        """A hook that names a field the manifest does not have is a mistake."""
        made = block("t/b@v1", lambda a: {"out": 1}, **hooks)
        assert _message(made) == f"{hook}() names z, which the manifest does not declare."

    @pytest.mark.parametrize(
        ("hooks", "message"),
        [
            ({"output_offset": 2}, "the output dimensionality offset must be -1, 0 or 1, got 2."),
            (
                {"offsets": {"a": -1}},
                "input dimensionality offsets must be 0 or 1, got {'a': -1}.",
            ),
            (
                {"offsets": {"a": 0, "b": 2}},
                "input dimensionality offsets must be 0 or 1, got {'a': 0, 'b': 2}.",
            ),
            ({"offsets": {"a": 2}}, "input dimensionality offsets must be 0 or 1, got {'a': 2}."),
            (
                {"offsets": {"a": 1, "b": 1}},
                "at least one input needs the dimensionality offset 0, got {'a': 1, 'b': 1}.",
            ),
            (
                {"offsets": {"a": 1}},
                "inputs at different depths need get_dimensionality_reference_property().",
            ),
            (
                {"offsets": {"a": 1}, "reference": "b", "output_offset": 1},
                "inputs at different depths allow no output dimensionality offset, got 1.",
            ),
            ({"reference": "z"}, "the dimensionality reference 'z' is not a field."),
        ],
    )
    def test_depths(self, hooks: dict[str, Any], message: str) -> None:
        """Offsets are 0 or 1, one of them 0, and where they differ the reference is named."""
        assert _message(block("t/b@v1", lambda a, b: {"out": 1}, **hooks)) == message

    def test_fields_without_references_have_no_depth(self) -> None:
        """Only fields that may hold data count: a literal beside one deeper field is no reference
        at depth 0.
        """
        made = block(
            "t/b@v1",
            lambda a, b, steps: {"out": 1},
            fields={"b": int, "steps": STEPS},
            offsets={"a": 1},
            reference="b",
        )
        assert (
            _message(made) == "at least one input needs the dimensionality offset 0, got {'a': 1}."
        )


class TestManifestDefaults:
    def test_hooks_of_a_plain_manifest(self) -> None:
        """A manifest that says nothing is element-wise, changes no depth and runs anywhere."""

        class Plain(WorkflowBlockManifest):
            type: Literal["t/plain@v1"]

        assert Plain.get_air_gapped_availability() == {"available": True, "reason": None}
        assert Plain.get_restrictions() == []
        assert Plain.get_supported_model_variants() is None
        assert Plain.get_compatible_task_types() is None
        assert not Plain.accepts_batch_input()
        with pytest.raises(NotImplementedError, match="Plain does not describe its outputs"):
            Plain.describe_outputs()

    def test_published_schema(self) -> None:
        """The JSON schema marks fields that take references with kinds and batch behaviour."""
        schema = BlurManifest.model_json_schema()
        image = schema["properties"]["image"]
        assert image["reference"] is True
        assert image["selected_element"] == "any_data"
        assert image["selector_points_to_batch"] == "dynamic"
        assert [kind["name"] for kind in image["kind"]] == ["image"]
        (size,) = [
            form
            for form in schema["properties"]["size"]["anyOf"]
            if form.get("selected_element") == "workflow_parameter"
        ]
        assert "selector_points_to_batch" not in size
        steps = schema["properties"]["steps"]["items"]
        assert steps["selected_element"] == "step"
        assert "kind" not in steps
        assert schema["name"] == "Toy Blur"
