"""Every declared field of a block is used by its `run`, or marked inert.

The source of `run` is read: a parameter counts as used when its value goes somewhere. Where it goes
into a call of a method or function of the block library, the parameter that receives it must be
used in turn, so that a field cannot be handed on and dropped.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pydantic import ConfigDict

from blocks.indexing import find_blocks
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    WorkflowBlock,
    WorkflowBlockManifest,
)

LIBRARY = "blocks."
_NOT_ARGUMENTS = ("type", "name")
# When a workflow is read and compiled, other steps come in the place of this one.
_READ_BY_THE_COMPILER = {
    "InnerWorkflowManifest": (
        "execution_mode", "workflow_definition", "parameter_bindings",
        "workflow_workspace_id", "workflow_id", "workflow_version_id",
    )
}  # fmt: skip


@dataclass(frozen=True)
class Site:
    """A function and the class whose `self` it runs on."""

    function: Callable[..., Any]
    owner: type | None


def unused_fields(block: type[WorkflowBlock]) -> list[str]:
    """Fields of a block that nothing reads and that are not inert."""
    manifest = block.get_manifest()
    known = (
        *_NOT_ARGUMENTS,
        *manifest.get_inert_fields(),
        *_READ_BY_THE_COMPILER.get(manifest.__name__, ()),
    )
    site = Site(inspect.unwrap(block.run), block)
    return [name for name in manifest.model_fields if name not in known and not reads(site, name)]


def read_inert_fields(block: type[WorkflowBlock]) -> list[str]:
    """Fields that are marked inert and read all the same."""
    site = Site(inspect.unwrap(block.run), block)
    return [name for name in block.get_manifest().get_inert_fields() if reads(site, name)]


def reads(site: Site, parameter: str, above: tuple[Site, ...] = ()) -> bool:
    """Whether a function uses the value of a parameter."""
    body, arguments = _parsed(site.function)
    if parameter not in arguments.plain:
        # A block whose fields are not known beforehand takes them by name.
        if arguments.by_name is None:
            return False
        parameter = arguments.by_name
    # A function that calls itself uses what it uses elsewhere.
    deeper = (*above, site)
    return any(_use_counts(site, parents, parameter, deeper) for parents in _uses(body, parameter))


@dataclass(frozen=True)
class _Arguments:
    plain: tuple[str, ...]
    by_name: str | None


@functools.cache
def _parsed(function: Callable[..., Any]) -> tuple[tuple[ast.stmt, ...], _Arguments]:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef))
    spec = definition.args
    plain = tuple(arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs))
    return tuple(definition.body), _Arguments(plain, spec.kwarg.arg if spec.kwarg else None)


def _uses(body: tuple[ast.stmt, ...], name: str) -> Iterator[list[ast.AST]]:
    """For each place where a name is read, the nodes around it, the innermost first."""

    def walk(node: ast.AST, parents: list[ast.AST]) -> Iterator[list[ast.AST]]:
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            yield [node, *parents]
        for child in ast.iter_child_nodes(node):
            yield from walk(child, [node, *parents])

    for statement in body:
        yield from walk(statement, [])


def _use_counts(site: Site, around: list[ast.AST], name: str, above: tuple[Site, ...]) -> bool:
    use, *parents = around
    if not parents or isinstance(parents[0], ast.Expr):
        return False  # a bare name is no use
    outer = parents[0]
    if isinstance(outer, ast.Assign) and all(_is_underscore(target) for target in outer.targets):
        return False  # `_ = name` says that it is not used
    keyword = outer if isinstance(outer, ast.keyword) else None
    call = parents[1] if keyword is not None and len(parents) > 1 else outer
    if not isinstance(call, ast.Call) or use is call.func:
        return True
    target = _target(site, call.func)
    if target is None or target in above:
        return True
    receiver = _receiver(target, call, keyword, use)
    return receiver is None or reads(target, receiver, above)


def _is_underscore(target: ast.AST) -> bool:
    return isinstance(target, ast.Name) and target.id == "_"


def _target(site: Site, called: ast.expr) -> Site | None:
    """The function of the block library that is called, None for any other."""
    if isinstance(called, ast.Name):
        found = getattr(site.function, "__globals__", {}).get(called.id)
        owner = None
    elif (
        isinstance(called, ast.Attribute)
        and isinstance(called.value, ast.Name)
        and called.value.id == "self"
        and site.owner is not None
    ):
        found, owner = getattr(site.owner, called.attr, None), site.owner
    else:
        return None
    found = inspect.unwrap(found) if callable(found) else found
    known = inspect.isfunction(found) and found.__module__.startswith(LIBRARY)
    return Site(found, owner) if known and found is not None else None


def _receiver(
    target: Site, call: ast.Call, keyword: ast.keyword | None, use: ast.AST
) -> str | None:
    """Name of the parameter that gets the value, None where it is not known."""
    _, arguments = _parsed(target.function)
    if keyword is not None:
        return keyword.arg
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    place = next((at for at, argument in enumerate(call.args) if argument is use), None)
    names = [name for name in arguments.plain if name not in ("self", "cls")]
    return names[place] if place is not None and place < len(names) else None


BLOCKS = sorted(find_blocks(), key=lambda block: block.__module__)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.__module__[7:]}")
class TestEveryBlock:
    def test_fields_are_used(self, block: type[WorkflowBlock]) -> None:
        """A declared field changes what the block does, or is marked inert."""
        assert unused_fields(block) == []

    def test_inert_fields_are_not(self, block: type[WorkflowBlock]) -> None:
        """What is marked as without effect is not read."""
        assert read_inert_fields(block) == []

    def test_inert_fields_exist(self, block: type[WorkflowBlock]) -> None:
        """Only declared fields are marked, each with a reason."""
        manifest = block.get_manifest()
        assert manifest.get_inert_fields().keys() <= manifest.model_fields.keys()
        assert all(manifest.get_inert_fields().values())


class ToyManifest(WorkflowBlockManifest):
    model_config = ConfigDict(json_schema_extra={"name": "Toy", "block_type": "math"})
    type: Literal["toy/add@v1"]
    amount: int = 1

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("sum")]


def keeps(amount: int) -> int:
    """Uses what it gets."""
    return amount + 1


def drops(amount: int) -> int:
    """Does not."""
    return 1


def drops_in_the_end(value: int) -> int:
    """Hands it on to one that does not."""
    return drops(value)


def takes_all(**parameters: int) -> int:
    """Takes any name and uses all of them."""
    return sum(parameters.values())


def again(amount: int) -> int:
    """Calls itself with what it uses nowhere else."""
    return again(amount) if amount else 0


class Toy(WorkflowBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return ToyManifest

    def kept(self, amount: int) -> int:
        """Uses it."""
        return amount

    def lost(self, amount: int) -> int:
        """Does not."""
        return 0


class Returned(Toy):
    def run(self, amount: int) -> BlockResult:
        return {"sum": amount}


class Ignored(Toy):
    def run(self, amount: int) -> BlockResult:
        return {"sum": 1}


class Named(Toy):
    def run(self, amount: int) -> BlockResult:
        _ = amount
        amount  # noqa: B018
        return {"sum": 1}


class Deleted(Toy):
    def run(self, amount: int) -> BlockResult:
        del amount
        return {"sum": 1}


class HandedOn(Toy):
    def run(self, amount: int) -> BlockResult:
        return {"sum": keeps(amount)}


class HandedOnAndDropped(Toy):
    def run(self, amount: int) -> BlockResult:
        return {"sum": drops_in_the_end(value=amount)}


class ToAMethod(Toy):
    def run(self, amount: int) -> BlockResult:
        return {"sum": self.kept(amount)}


class ToAMethodThatDrops(Toy):
    def run(self, amount: int) -> BlockResult:
        return {"sum": self.lost(amount=amount)}


class ByName(Toy):
    def run(self, amount: int) -> BlockResult:
        return {"sum": takes_all(amount=amount)}


class AllFieldsByName(Toy):
    def run(self, **fields: int) -> BlockResult:
        return {"sum": fields["amount"]}


class Recursive(Toy):
    def run(self, amount: int) -> BlockResult:
        return {"sum": again(amount)}


class TestUnusedFields:
    """The check must be able to fail."""

    @pytest.mark.parametrize(
        ("block", "unused"),
        [
            (Returned, []), (Ignored, ["amount"]), (Named, ["amount"]), (Deleted, ["amount"]),
            (HandedOn, []), (HandedOnAndDropped, ["amount"]), (ToAMethod, []),
            (ToAMethodThatDrops, ["amount"]), (ByName, []), (AllFieldsByName, []), (Recursive, []),
        ],
    )  # fmt: skip
    def test_flow(
        self, block: type[WorkflowBlock], unused: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A value that is returned, or handed on to one that uses it, is used; one that is only
        named, deleted or handed on to one that drops it is not."""
        monkeypatch.setattr(f"{__name__}.LIBRARY", __name__)
        assert unused_fields(block) == unused
