"""What the code must not use, because data of strangers could run code through it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[4]
PACKAGES = ("workflows", "blocks", "execution_engine", "inference_models")
FORBIDDEN_MODULES = frozenset(
    {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml"}
)
FORBIDDEN_CALLS = frozenset({"eval", "exec", "compile", "__import__", "os.system", "os.popen"})


def calls_and_imports() -> Iterator[tuple[str, ast.AST]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}", node


def keyword(node: ast.Call, name: str) -> object:
    """The literal value of an argument given by name."""
    for argument in node.keywords:
        if argument.arg == name and isinstance(argument.value, ast.Constant):
            return argument.value.value
    return None


def test_nothing_unpickles_or_evaluates() -> None:
    """No pickle or YAML, weights only as tensors, arrays without objects, no evaluated text."""
    faults = []
    for place, node in calls_and_imports():
        if isinstance(node, ast.Import):
            names = [alias.name.split(".")[0] for alias in node.names]
            faults += [place for name in names if name in FORBIDDEN_MODULES]
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").split(".")[0] in FORBIDDEN_MODULES:
                faults.append(place)
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in FORBIDDEN_CALLS:
                faults.append(f"{place} {name}")
            if name == "torch.load" and keyword(node, "weights_only") is not True:
                faults.append(f"{place} {name}")
            if name in ("np.load", "numpy.load") and keyword(node, "allow_pickle") is not False:
                faults.append(f"{place} {name}")
            if keyword(node, "shell") is True:
                faults.append(f"{place} shell")
    assert faults == []
