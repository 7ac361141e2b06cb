"""What differs between versions."""

from __future__ import annotations

from execution_engine import BlockRegistry
from tests.workflows.upgrading.toy_blocks import mix_registry
from workflows.upgrading.upgrade import compare_versions
from workflows.upgrading.versions import change_line, number_of, versions_of

REGISTRY: BlockRegistry = mix_registry()


def found(old: int, new: int) -> list[tuple[str, str, str]]:
    """What, before and after of every difference between two versions of `acme/mix`."""
    specs = [REGISTRY.spec(f"acme/mix@v{number}") for number in (old, new)]
    assert specs[0] is not None
    assert specs[1] is not None
    changes = compare_versions(REGISTRY, specs[0], specs[1])
    return [(change.subject, change.before, change.after) for change in changes]


class TestFindChanges:
    def test_every_sort_of_difference(self) -> None:
        """Defaults, limits, names, fields gone, effects and the order of outputs."""
        assert found(1, 2) == [
            ("field amount: default", "1.0", "2.0"),
            ("field amount: takes", "number", "number (at least 0)"),
            ("field colour: names", "colour, color", "colour"),
            ("field extra", 'default "none"; text', "-"),
            ("field later: effect", "none", "yes"),
            ("field unused", "default 0; whole number; no effect", "-"),
            ("outputs: order", "sum, word", "word, sum"),
        ]

    def test_required_fields_and_outputs(self) -> None:
        """What a step must now give, and outputs that go."""
        assert found(2, 3) == [
            ("field speed: default", "3", "required"),
            ("field colour", 'default "red"; text', "-"),
            ("field later", "default false; true or false", "-"),
            ("field mode", "-", 'required; one of "fast", "slow"'),
            ("output sum", "float", "-"),
        ]

    def test_the_same(self) -> None:
        """A version does not differ from itself."""
        assert found(2, 2) == []

    def test_kinds(self) -> None:
        """Kinds of outputs are compared in their order."""
        specs = [REGISTRY.spec(f"roboflow_core/roboflow_instance_segmentation_model@v{n}")
                 for n in (3, 4)]  # fmt: skip
        assert specs[0] is not None
        assert specs[1] is not None
        changes = compare_versions(REGISTRY, specs[0], specs[1])
        assert changes[-1].to_dict() == {
            "what": "output", "name": "predictions", "aspect": "kinds",
            "before": "instance_segmentation_prediction",
            "after": "rle_instance_segmentation_prediction, instance_segmentation_prediction",
        }  # fmt: skip


class TestVersions:
    def test_in_order(self) -> None:
        """All versions of a block, oldest first, from any of them or an alias."""
        for type_id in ("acme/mix@v2", "Mix"):
            spec = REGISTRY.spec(type_id)
            assert spec is not None
            assert [number_of(one) for one in versions_of(REGISTRY, spec)] == [1, 2, 3]

    def test_lines(self) -> None:
        """The line of a version is that of the table, or of a plug-in's own schema."""
        for type_id, line in (
            ("acme/mix@v3", "Asks for a mode."),
            ("roboflow_core/halo_visualization@v2", "Detections without masks are not drawn."),
            ("roboflow_core/image_blur@v1", ""),
        ):
            spec = REGISTRY.spec(type_id)
            assert spec is not None
            assert change_line(REGISTRY, spec) == line
