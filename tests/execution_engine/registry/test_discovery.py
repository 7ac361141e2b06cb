"""Finding plug-ins: entry points, and modules named in `WORKFLOWS_PLUGINS`."""

from __future__ import annotations

import importlib
import sys
import textwrap
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from execution_engine import Plugin, discover_registry
from execution_engine.errors import PluginInterfaceError, PluginLoadingError
from execution_engine.registry import discovery
from execution_engine.registry.discovery import discover_plugins, plugin_from_module
from tests.execution_engine.toy_blocks import batch_input, run, step, workflow

MODULE = textwrap.dedent(
    """
    from execution_engine.kinds.kind import Kind
    from tests.execution_engine.toy_blocks import block

    PEAR = Kind("pear", "a fruit")

    def _init(self, ripeness):
        self.ripeness = ripeness

    def load_blocks():
        outputs = {{"out": [PEAR]}}
        return [block("{prefix}/taste@v1", lambda x: {{"out": x}}, outputs=outputs, init=_init)]

    def load_kinds():
        return [PEAR]

    REGISTERED_INITIALIZERS = {{"ripeness": lambda: 5}}
    KINDS_SERIALIZERS = {{"pear": lambda value: f"pear {{value}}"}}
    KINDS_DESERIALIZERS = {{
        "pear": lambda name, value: f"{{name}}={{value}}", "apple": lambda name, value: value
    }}
    """
)


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from which plug-in modules can be imported, with no entry points around."""
    monkeypatch.syspath_prepend(str(tmp_path))
    _entry_points(monkeypatch)
    return tmp_path


def _entry_points(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    monkeypatch.setattr(
        "importlib.metadata.entry_points",
        lambda group: [point for point in points if point.group == group],
    )


class TestVariable:
    def test_module(self, modules: Path) -> None:
        """Blocks, kinds, codecs and initialisers of a module named in the variable are there."""
        (modules / "fruit_one.py").write_text(MODULE.format(prefix="fruit"), encoding="utf-8")
        registry = discover_registry({"WORKFLOWS_PLUGINS": " fruit_one , "})
        assert list(registry.specs) == ["fruit/taste@v1"]
        assert registry.specs["fruit/taste@v1"].source == "fruit_one"
        definition = workflow(
            [batch_input("x", kind=["pear"])],
            [step("fruit/taste@v1", "t", x="$inputs.x")],
            {"o": "$steps.t.out"},
        )
        rows = run(definition, {"x": ["a"]}, registry=registry, serialize_results=True)
        assert rows == [{"o": "pear x.[0]=a"}]

    def test_name_of_the_source(self, modules: Path) -> None:
        """`BLOCKS_SOURCE` names the plug-in; init parameters are addressed by it."""
        text = MODULE.format(prefix="fruit") + "BLOCKS_SOURCE = 'orchard'\n"
        (modules / "fruit_two.py").write_text(text, encoding="utf-8")
        (plugin,) = discover_plugins({"WORKFLOWS_PLUGINS": "fruit_two"})
        assert (plugin.source, plugin.distribution) == ("orchard", "fruit_two")

    def test_clash_names_both_origins(self, modules: Path) -> None:
        """Two modules with one type id cannot be used together."""
        for name in ("fruit_three", "fruit_four"):
            (modules / f"{name}.py").write_text(MODULE.format(prefix="fruit"), encoding="utf-8")
        with pytest.raises(PluginLoadingError) as caught:
            discover_registry({"WORKFLOWS_PLUGINS": "fruit_three,fruit_four"})
        assert "Two blocks have the type 'fruit/taste@v1': " in str(caught.value)
        assert " of fruit_three and " in str(caught.value)
        assert str(caught.value).endswith(" of fruit_four.")

    @pytest.mark.parametrize("body", ["import no_such_dependency", "1 / 0"])
    def test_module_that_cannot_be_imported(self, modules: Path, body: str) -> None:
        """Whatever the module raises is named with the module and the variable."""
        (modules / "fruit_bad.py").write_text(body, encoding="utf-8")
        with pytest.raises(PluginLoadingError) as caught:
            plugin_from_module("fruit_bad")
        assert str(caught.value).startswith(
            "WORKFLOWS_PLUGINS names the module 'fruit_bad', which cannot be imported: "
        )
        assert caught.value.inner_error is not None

    def test_missing_module(self, modules: Path) -> None:
        """A module that is not there is an error, not a silence."""
        with pytest.raises(PluginLoadingError, match="'no_such_plugin'"):
            discover_plugins({"WORKFLOWS_PLUGINS": "no_such_plugin"})

    def test_module_that_is_no_plugin(self, modules: Path) -> None:
        """A plug-in offers `load_blocks()`."""
        (modules / "fruit_none.py").write_text("load_blocks = 5", encoding="utf-8")
        with pytest.raises(PluginInterfaceError) as caught:
            plugin_from_module("fruit_none")
        assert str(caught.value) == "Plug-in module 'fruit_none' has no function load_blocks()."

    @pytest.mark.parametrize(
        ("given", "text"),
        [
            (
                "None",
                "Plug-in module 'fruit_odd': load_blocks() gives None, expected a list of "
                "WorkflowBlock classes.",
            ),
            (
                "Pear",
                "Plug-in module 'fruit_odd': load_blocks() gives the class fruit_odd.Pear, "
                "expected a list of WorkflowBlock classes.",
            ),
            (
                "[Pear]",
                "Plug-in 'fruit_odd': among its blocks is the class fruit_odd.Pear, which has no "
                "get_manifest(); expected a list of WorkflowBlock classes.",
            ),
            (
                "[Broken]",
                "Plug-in 'fruit_odd': the class fruit_odd.Broken cannot be read as a block: "
                "KeyError: 'x'",
            ),
        ],
    )
    def test_blocks_that_are_none(
        self, modules: Path, monkeypatch: pytest.MonkeyPatch, given: str, text: str
    ) -> None:
        """What is no list of blocks is told by module, object and what was expected."""
        body = """
from execution_engine.block_api import WorkflowBlock

class Pear:
    pass

class Broken(WorkflowBlock):
    @classmethod
    def get_manifest(cls):
        raise KeyError("x")

def load_blocks():
    return """
        (modules / "fruit_odd.py").write_text(body + given, encoding="utf-8")
        monkeypatch.delitem(sys.modules, "fruit_odd", raising=False)
        importlib.invalidate_caches()
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        with pytest.raises(PluginInterfaceError) as caught:
            discover_registry({"WORKFLOWS_PLUGINS": "fruit_odd"})
        assert str(caught.value) == text

    @pytest.mark.parametrize("hook", ["load_blocks", "load_kinds"])
    def test_hook_that_fails(self, modules: Path, hook: str) -> None:
        """A plug-in that cannot say what it offers is refused by name."""
        name = f"fruit_{hook}"
        text = "def load_blocks():\n    return []\n\ndef {}():\n    raise KeyError('x')\n"
        (modules / f"{name}.py").write_text(text.format(hook), encoding="utf-8")
        with pytest.raises(PluginLoadingError) as caught:
            plugin_from_module(name)
        assert str(caught.value) == f"Plug-in module '{name}' cannot list its blocks and kinds: 'x'"

    def test_only_blocks(self, modules: Path) -> None:
        """Everything but `load_blocks()` is optional."""
        (modules / "fruit_min.py").write_text("def load_blocks():\n    return []", encoding="utf-8")
        plugin = plugin_from_module("fruit_min")
        assert plugin.codecs is not None
        assert (plugin.blocks, plugin.kinds, plugin.codecs(), plugin.initializers) == (
            (),
            (),
            [],
            {},
        )

    def test_read_when_called(self, modules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The process's variable is read at the call; without it there is nothing."""
        monkeypatch.delenv("WORKFLOWS_PLUGINS", raising=False)
        assert discover_plugins() == []
        (modules / "fruit_env.py").write_text("def load_blocks():\n    return []", encoding="utf-8")
        monkeypatch.setenv("WORKFLOWS_PLUGINS", "fruit_env")
        assert [plugin.source for plugin in discover_plugins()] == ["fruit_env"]


PLUGIN = Plugin("by_entry_point")
NO_PLUGIN = 5


def make_plugin() -> Plugin:
    """A plug-in made when asked for."""
    return PLUGIN


class TestEntryPoints:
    def _found(self, monkeypatch: pytest.MonkeyPatch, value: str) -> Any:
        _entry_points(
            monkeypatch,
            EntryPoint("mine", f"{__name__}:{value}", discovery.ENTRY_POINT_GROUP),
            EntryPoint("other", f"{__name__}:NO_PLUGIN", "another.group"),
        )
        return discover_plugins({})

    @pytest.mark.parametrize("value", ["PLUGIN", "make_plugin"])
    def test_plugin_or_function(self, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
        """An entry point gives a plug-in or a function that does."""
        assert self._found(monkeypatch, value) == [PLUGIN]

    def test_something_else(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is no plug-in is refused by name."""
        with pytest.raises(PluginInterfaceError) as caught:
            self._found(monkeypatch, "NO_PLUGIN")
        assert str(caught.value) == (
            f"Plug-in 'mine' ({__name__}:NO_PLUGIN) gives int, expected a Plugin."
        )

    def test_cannot_be_loaded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What cannot be imported is refused by name with the reason."""
        with pytest.raises(PluginLoadingError) as caught:
            self._found(monkeypatch, "nothing_here")
        assert str(caught.value).startswith(
            f"Plug-in 'mine' ({__name__}:nothing_here) cannot be loaded: "
        )

    def test_core_blocks_are_found(self) -> None:
        """The blocks of this project are a plug-in like any other."""
        sources = [plugin.source for plugin in discover_plugins({})]
        assert "workflows_core" in sources
