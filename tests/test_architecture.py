"""The rules of the house that a machine can see: direction of imports, sizes, names, docstrings,
state, generated files.
"""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("workflows", "blocks", "execution_engine", "inference_models")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
MAY_IMPORT = {
    "workflows": {"blocks", "execution_engine", "inference_models"},
    "blocks": {"execution_engine", "inference_models"},
    "execution_engine": set(),
    "inference_models": set(),
}
LONGEST_FILE = 450
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc", "tools", "stuff"}
# Only `WorkflowImageData.tensor_image` hands out tensors, and only when asked.
TORCH_ON_DEMAND = {"execution_engine/images/image_data.py"}
# `workflows.default_session()`: the one documented object that a process keeps.
KEEPS_AN_OBJECT = {"workflows/running.py": "_default"}
# The one place that joins predictions; everything else goes through it.
JOINS_DETECTIONS = {"blocks/kinds/detections/concat.py"}
MUTATORS = {
    "append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "clear",
    "remove", "discard", "appendleft", "popleft",
}  # fmt: skip


@functools.cache
def tree(path: Path) -> ast.Module:
    """Syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def relative(path: Path) -> str:
    """Path below the root, with slashes."""
    return path.relative_to(ROOT).as_posix()


def imports(nodes: Iterator[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import among the nodes."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module


def is_type_checking(node: ast.AST) -> bool:
    """Whether a node is an `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def at_import(path: Path) -> Iterator[ast.AST]:
    """Nodes that are run when the module is imported: everything outside functions."""
    waiting: list[ast.AST] = [tree(path)]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if not is_type_checking(node):
            waiting.extend(ast.iter_child_nodes(node))


def for_real(path: Path) -> Iterator[ast.AST]:
    """All nodes except those that only type checkers see."""
    waiting: list[ast.AST] = [tree(path)]
    while waiting:
        node = waiting.pop()
        yield node
        if not is_type_checking(node):
            waiting.extend(ast.iter_child_nodes(node))


def test_something_is_checked() -> None:
    """The packages are where this file looks for them."""
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_point_down(package: str) -> None:
    """workflows -> blocks -> {execution_engine, inference_models}, never back and never between the
    last two.
    """
    faults = [
        f"{relative(path)}:{line} imports {name}"
        for path in MODULES
        if path.relative_to(ROOT).parts[0] == package
        for line, name in imports(iter(ast.walk(tree(path))))
        if (top := name.split(".")[0]) in PACKAGES
        and top != package
        and top not in MAY_IMPORT[package]
    ]
    assert faults == []


def test_nothing_imports_tests_or_examples() -> None:
    """What is shipped needs nothing that is not."""
    faults = [
        f"{relative(path)}:{line} imports {name}"
        for path in MODULES
        for line, name in imports(iter(ast.walk(tree(path))))
        if name.split(".")[0] in ("tests", "examples", "pytest")
    ]
    assert faults == []


def test_engine_knows_no_prediction_library() -> None:
    """The engine never imports supervision, and torch only where a tensor is asked for."""
    faults = [
        f"{relative(path)}:{line} imports {name}"
        for path in MODULES
        if path.relative_to(ROOT).parts[0] == "execution_engine"
        for line, name in imports(for_real(path))
        if name.split(".")[0] == "supervision"
        or (name.split(".")[0] == "torch" and relative(path) not in TORCH_ON_DEMAND)
    ]
    assert faults == []


@pytest.mark.parametrize("package", ["blocks", "execution_engine", "workflows"])
def test_heavy_libraries_are_imported_inside_functions(package: str) -> None:
    """Importing a module of these packages imports none of the slow libraries."""
    heavy = ("supervision", "torch", "networkx", "jsonschema", "onnxruntime", "scipy", "ray")
    faults = [
        f"{relative(path)}:{line} imports {name}"
        for path in MODULES
        if path.relative_to(ROOT).parts[0] == package
        for line, name in imports(at_import(path))
        if name.split(".")[0] in heavy
    ]
    assert faults == []


def test_imports_of_the_engine_load_nothing_slow() -> None:
    """In a fresh process, the engine and the core plug-in come without the slow libraries."""
    program = (
        "import sys, execution_engine; from blocks.plugin import core_plugin; "
        "execution_engine.BlockRegistry([core_plugin()]); "
        "print([n for n in ('torch','supervision','networkx','jsonschema','scipy','onnxruntime') "
        "if n in sys.modules])"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert finished.stdout.strip() == "[]"


def test_files_have_one_subject() -> None:
    """No module of the packages is longer than 450 lines."""
    lengths = {
        relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_names_say_something() -> None:
    """No module or folder is named after nothing."""
    tests = (ROOT / "tests").rglob("*.py")
    faults = [
        relative(path)
        for path in (*MODULES, *tests)
        if SAYS_NOTHING & {part.removesuffix(".py") for part in path.relative_to(ROOT).parts}
    ]
    assert faults == []


def test_modules_say_what_they_are_for() -> None:
    """Every module that holds anything begins with a docstring."""
    faults = [
        relative(path)
        for path in MODULES
        if tree(path).body and not (ast.get_docstring(tree(path)) or "").strip()
    ]
    assert faults == []


def _module_level_names(path: Path) -> set[str]:
    """Names bound at module level to something that can be changed."""
    makers = {"dict", "list", "set", "defaultdict", "OrderedDict", "deque", "Counter", "bytearray"}
    names: set[str] = set()
    for node in tree(path).body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        literal = isinstance(
            value, (ast.Dict, ast.List, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp)
        )
        made = isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] in makers
        if literal or made:
            names.update(target.id for target in targets if isinstance(target, ast.Name))
    return names


def _changes(path: Path, names: set[str]) -> Iterator[str]:
    """Places where one of the names is changed in place."""
    for node in ast.walk(tree(path)):
        changed: ast.expr | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in MUTATORS:
                changed = node.func.value
        elif isinstance(node, (ast.Assign, ast.Delete)):
            for target in node.targets:
                if isinstance(target, ast.Subscript):
                    changed = target.value
        elif isinstance(node, ast.AugAssign):
            changed = node.target.value if isinstance(node.target, ast.Subscript) else node.target
        if isinstance(changed, ast.Name) and changed.id in names:
            yield f"{relative(path)}:{getattr(node, 'lineno', 0)} changes {changed.id}"


def test_modules_hold_no_state() -> None:
    """No module-level list, dict or set is changed, nothing is rebound, no function remembers its
    arguments.

    A function without parameters may be cached: that is a constant made when it is first needed.
    """
    faults: list[str] = []
    for path in MODULES:
        faults += _changes(path, _module_level_names(path))
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Global) and node.names != [KEEPS_AN_OBJECT.get(relative(path))]:
                faults.append(f"{relative(path)}:{node.lineno} global {', '.join(node.names)}")
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for decorator in node.decorator_list:
                    name = ast.unparse(decorator).split("(")[0].split(".")[-1]
                    takes = node.args.args + node.args.kwonlyargs + node.args.posonlyargs
                    if name in ("cache", "lru_cache") and takes:
                        faults.append(f"{relative(path)}:{node.lineno} {name} on {node.name}")
    assert faults == []


def test_environment_is_not_read_at_import() -> None:
    """Importing a module reads no environment variable."""
    faults = [
        f"{relative(path)}:{node.lineno}"
        for path in MODULES
        for node in at_import(path)
        if isinstance(node, (ast.Call, ast.Subscript, ast.Attribute))
        and ast.unparse(node).startswith(("os.environ", "os.getenv"))
    ]
    assert faults == []


def test_errors_are_not_swallowed() -> None:
    """No handler of every error does nothing at all."""
    faults = [
        f"{relative(path)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"))
        and all(isinstance(item, (ast.Pass, ast.Continue)) for item in node.body)
    ]
    assert faults == []


def test_predictions_are_joined_in_one_place() -> None:
    """`sv.Detections.merge` loses columns of empty results; joining goes through our own
    function.
    """
    faults = [
        f"{relative(path)}:{node.lineno}"
        for path in MODULES
        if relative(path) not in JOINS_DETECTIONS
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Detections.merge")
    ]
    assert faults == []


def test_generated_index_is_current() -> None:
    """The index and schemas of the blocks say what the code says; else run `python -m
    blocks.indexing`.
    """
    from blocks.indexing import stale_files

    assert stale_files() == []
