"""Which blocks, kinds and codecs a registry knows, how it loads them, and which plug-ins clash."""

from __future__ import annotations

import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from execution_engine import BlockRegistry, KnownBlock, Plugin
from execution_engine.block_api.digest import digest_block
from execution_engine.block_api.spec import BlockSpec, FieldSpec
from execution_engine.errors import BlockInterfaceError, PluginLoadingError, UnknownManifestType
from execution_engine.kinds.kind import Kind
from tests.execution_engine.toy_blocks import block, run, step, toy_registry, workflow
from tests.execution_engine.toy_kind import MARKS_KIND, MarksCodec, marks_plugin

LAZY_MODULE = textwrap.dedent(
    """
    from __future__ import annotations
    from typing import Any, Literal
    from execution_engine.block_api import OutputDefinition, Selector
    from execution_engine.block_api import WorkflowBlock, WorkflowBlockManifest

    LOADED = []

    class Manifest(WorkflowBlockManifest):
        type: Literal["lazy/echo@v1", "Echo"]
        x: Selector()

        @classmethod
        def describe_outputs(cls):
            return [OutputDefinition("out")]

    class Echo(WorkflowBlock):
        @classmethod
        def get_manifest(cls):
            return Manifest

        def run(self, x):
            return {"out": x}
    """
)


@pytest.fixture
def lazy_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BlockSpec:
    """Spec of a block whose module was not imported yet."""
    (tmp_path / "lazy_toy_module.py").write_text(LAZY_MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import lazy_toy_module  # type: ignore[import-not-found]

    spec = digest_block(lazy_toy_module.Echo, "lazy")
    del sys.modules["lazy_toy_module"]
    return spec


def lazy_plugin(spec: BlockSpec) -> Plugin:
    """A plug-in that knows its block by an index."""
    return Plugin("lazy", "lazy-distribution", index=lambda: {spec.type_id: spec})


class TestLookUp:
    def test_by_id_and_alias(self) -> None:
        """A block is found by any of its ids, and listed once."""
        registry = BlockRegistry(
            [Plugin("t", blocks=(block("t/a@v1", lambda x: 1, aliases=("A", "Aa")),))]
        )
        assert registry.spec("t/a@v1") is registry.spec("A") is registry.spec("Aa")
        assert registry.spec("B") is None
        assert list(registry.specs) == ["t/a@v1"]

    def test_known_only_by_name(self) -> None:
        """A known block is not one that can run; one that can run is not 'known'."""
        known = [KnownBlock("t/a@v1"), KnownBlock("t/b@v1", ("B",), "Bee", "why")]
        registry = BlockRegistry(
            [Plugin("t", blocks=(block("t/a@v1", lambda x: 1),), known=lambda: known)]
        )
        assert registry.known("t/a@v1") is None
        assert registry.known("B") is registry.known("t/b@v1") is known[1]
        assert registry.known("c") is None
        assert set(registry.known_blocks) == {"t/a@v1", "t/b@v1", "B"}

    def test_nearest_types(self) -> None:
        """A misspelt id, one without version and one with another prefix find their block."""
        registry = toy_registry()
        for text in ("toy/ad@v1", "add", "other/add@v1", "Add"):
            assert registry.nearest_types(text, 1) == ["toy/add@v1"]
        assert registry.nearest_types("qqqqqqqq") == []

    def test_blocks_of_another_engine_are_left_out(self) -> None:
        """A block whose range does not hold this engine is not loaded; it may even share an id."""
        old = block("t/a@v1", lambda x: 1, compatibility=">=0.1.0,<1.0.0")
        new = block("t/a@v1", lambda x: 2, compatibility=">=1.3.0,<2.0.0")
        registry = BlockRegistry([Plugin("t", blocks=(old, new))])
        assert registry.load("t/a@v1").block is new

    @pytest.mark.parametrize(
        ("compatibility", "there"),
        [
            (None, True),
            (">=1.0,<2", True),
            (">=1.17.0,<2.0.0", True),
            (">=1.18.0,<2.0.0", False),
            ("~=1.5", True),
            ("==1.2.*", False),
        ],
    )
    def test_ranges(self, compatibility: str | None, there: bool) -> None:
        """Ranges are PEP 440 specifiers over the engine's own version."""
        made = block("t/a@v1", lambda x: 1, compatibility=compatibility)
        assert (BlockRegistry([Plugin("t", blocks=(made,))]).spec("t/a@v1") is not None) == there

    def test_explain(self) -> None:
        """A block in words."""
        registry = BlockRegistry(
            [
                Plugin(
                    "t",
                    blocks=(
                        block(
                            "t/a@v1", lambda x, y=1: {}, aliases=("A",), compatibility=">=1.0,<2.0"
                        ),
                    ),
                    known=lambda: [KnownBlock("t/k@v1", reason="Install k.")],
                )
            ]
        )
        text = registry.explain("A")
        for part in ("t/a@v1", "also called A", "x (required)", "  y", "-> out: *", "from t: "):
            assert part in text
        assert registry.explain("t/k@v1") == "t/k@v1: known by name, not in this build. Install k."
        assert registry.explain("zz") == "zz: unknown"

    def test_registries_do_not_see_each_other(self) -> None:
        """Two registries in one process hold different blocks."""
        first = BlockRegistry([Plugin("t", blocks=(block("t/a@v1", lambda x: 1),))])
        second = BlockRegistry()
        assert (len(first.specs), len(second.specs)) == (1, 0)


class TestClashes:
    """A clash is an error that names both origins."""

    def test_type_ids(self) -> None:
        """Two plug-ins with one id."""
        plugins = [
            Plugin(name, blocks=(block("t/same@v1", lambda x: 1),)) for name in ("one", "two")
        ]
        with pytest.raises(PluginLoadingError) as caught:
            BlockRegistry(plugins)
        module = "tests.execution_engine.toy_blocks"
        assert str(caught.value) == (
            f"Two blocks have the type 't/same@v1': {module}.Same of one and {module}.Same of two."
        )

    def test_alias_and_id(self) -> None:
        """An alias of one block that is the id of another."""
        blocks = (block("t/a@v1", lambda x: 1, aliases=("t/b@v1",)), block("t/b@v1", lambda x: 1))
        with pytest.raises(PluginLoadingError, match="Two blocks have the type 't/b@v1'"):
            BlockRegistry([Plugin("t", blocks=blocks)])

    def test_sources(self) -> None:
        """Two plug-ins of one name."""
        with pytest.raises(PluginLoadingError) as caught:
            BlockRegistry([Plugin("t", "dist-one"), Plugin("t", "dist-two")])
        assert str(caught.value) == "Two plug-ins use the source name 't': dist-one and dist-two."

    def test_kinds(self) -> None:
        """Two kinds of one name that say different things; the same kind twice is one kind."""
        shared = Kind("shared", "the same")
        BlockRegistry(
            [Plugin("one", kinds=(shared,)), Plugin("two", kinds=(Kind("shared", "the same"),))]
        )
        with pytest.raises(PluginLoadingError) as caught:
            BlockRegistry(
                [Plugin("one", kinds=(shared,)), Plugin("two", kinds=(Kind("shared", "other"),))]
            )
        assert str(caught.value) == "Two kinds are named 'shared': one of one and one of two."
        with pytest.raises(PluginLoadingError, match="one of the language itself and one of one"):
            BlockRegistry([Plugin("one", kinds=(Kind("image", "mine"),))])

    def test_faulty_block(self) -> None:
        """A block that contradicts itself is refused when its plug-in is registered."""
        made = block("t/a@v1", lambda a: {}, batches=("z",))
        with pytest.raises(BlockInterfaceError):
            BlockRegistry([Plugin("t", blocks=(made,))])


class TestLoading:
    def test_code_is_imported_at_first_use(self, lazy_spec: BlockSpec) -> None:
        """Registering, looking up and listing import nothing; a step that uses the block does."""
        registry = BlockRegistry([lazy_plugin(lazy_spec)])
        assert registry.spec("Echo") == lazy_spec
        assert "lazy_toy_module" not in sys.modules
        definition = workflow(
            [],
            [{"type": "Echo", "name": "e", "x": "$steps.c.out"}, step("constant", "c", value=5)],
            {"o": "$steps.e.out"},
        )
        assert run(definition, registry=toy_registry(plugins=[lazy_plugin(lazy_spec)])) == [
            {"o": 5}
        ]
        assert "lazy_toy_module" in sys.modules

    def test_loaded_once(self, lazy_spec: BlockSpec) -> None:
        """Threads that load at once get the same."""
        registry = BlockRegistry([lazy_plugin(lazy_spec)])
        start = threading.Barrier(4)

        def load(_: int) -> Any:
            start.wait()
            return registry.load("lazy/echo@v1")

        with ThreadPoolExecutor(4) as pool:
            loaded = list(pool.map(load, range(4)))
        assert all(item is loaded[0] for item in loaded)
        assert loaded[0].manifest is loaded[0].block.get_manifest()

    def test_unknown(self) -> None:
        """Only blocks that are there can be loaded."""
        with pytest.raises(UnknownManifestType, match=r"No loaded block has the type 'x'\."):
            BlockRegistry().load("x")

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"module": "no_such_module"}, "No module named 'no_such_module'"),
            ({"class_name": "Nothing"}, "module 'lazy_toy_module' has no attribute 'Nothing'"),
            (
                {"module": "no_such_module", "extra": "ocr"},
                "Install it with: pip install 'weftlens[ocr]'.",
            ),
        ],
    )
    def test_code_that_is_not_there(self, lazy_spec: BlockSpec, change: Any, reason: str) -> None:
        """The error says which class, why, and which extra brings what is missing."""
        registry = BlockRegistry([lazy_plugin(replace(lazy_spec, **change))])
        with pytest.raises(PluginLoadingError) as caught:
            registry.load("lazy/echo@v1")
        assert str(caught.value).startswith("Block 'lazy/echo@v1' (")
        assert reason in str(caught.value)
        assert caught.value.inner_error is not None

    def test_module_that_fails(self, lazy_spec: BlockSpec, tmp_path: Path) -> None:
        """Whatever the module raises, the block cannot be loaded."""
        (tmp_path / "failing_toy_module.py").write_text("1 / 0", encoding="utf-8")
        registry = BlockRegistry([lazy_plugin(replace(lazy_spec, module="failing_toy_module"))])
        with pytest.raises(PluginLoadingError, match="cannot be loaded: division by zero"):
            registry.load("lazy/echo@v1")

    @pytest.mark.parametrize(
        "change",
        [
            {"aliases": ()},
            {"aliases": ("Echo", "Other")},
            {"fields": {}},
            {"fields": {"x": FieldSpec("x"), "y": FieldSpec("y")}},
        ],
    )
    def test_code_that_differs_from_the_index(self, lazy_spec: BlockSpec, change: Any) -> None:
        """A class with other ids or fields than its index says is refused with what to do."""
        registry = BlockRegistry([lazy_plugin(replace(lazy_spec, **change))])
        with pytest.raises(PluginLoadingError) as caught:
            registry.load("lazy/echo@v1")
        assert str(caught.value) == (
            "Block 'lazy/echo@v1' (lazy_toy_module.Echo) differs from the index of its plug-in "
            "'lazy'; generate "
            "that index again."
        )


class TestCodecs:
    def test_of_plugins(self) -> None:
        """Kinds and codecs of plug-ins are known beside those of the language."""
        codecs = BlockRegistry([marks_plugin()]).codecs
        assert codecs.kinds["toy_marks"] == MARKS_KIND
        assert [type(codec) for codec in codecs.for_kind("toy_marks")] == [MarksCodec]
        assert codecs.for_kind("image")
        assert "toy_marks" not in BlockRegistry().codecs.kinds
