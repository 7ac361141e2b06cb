"""Definitions of any shape: compiling one ends soon, and with a plan or an error of the engine."""

from __future__ import annotations

import copy
import json
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from blocks.plugin import core_plugin
from execution_engine.compiler.compiler import compile_definition
from execution_engine.errors import Problem, WorkflowCompilerError, WorkflowError
from execution_engine.registry.registry import BlockRegistry

MOST_SECONDS = 20.0
EXAMPLES = Path(__file__).parents[3] / "examples"
FUZZ = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

WORDS = st.sampled_from(
    ["inputs", "steps", "outputs", "version", "type", "name", "selector", "kind", "$inputs.image",
     "$steps.a.output", "$steps.a", "$steps.a.*", "$inputs", "$", "$$", "1.0", "2.0", ">=1.0,<2",
     "WorkflowImage", "WorkflowParameter", "WorkflowBatchInput", "JsonField", "image", "*", "a",
     "roboflow_core/image_blur@v1", "roboflow_core/property_definition@v1", "operations",
     "roboflow_core/detections_consensus@v1", "default_value", "dimensionality", "data", "\ud800",
     "StringMatches", "regex", "(a+)+$", "SequenceApply", "DetectionsFilter", "StatementGroup"]
)  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**300, 10**301)
    | st.floats()
    | WORDS
    | st.text(max_size=8)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=25,
)


@lru_cache(maxsize=1)
def registry() -> BlockRegistry:
    """The core blocks, loaded once."""
    return BlockRegistry([core_plugin()])


@lru_cache(maxsize=1)
def workflows() -> tuple[str, ...]:
    """Valid workflows as JSON text."""
    found = []
    for path in sorted(EXAMPLES.glob("*.json")):
        text = path.read_text(encoding="utf-8")
        if len(text) < 6_000:
            found.append(text)
    return tuple(found)


def compile_any(definition: Any) -> None:
    """Compiles; lets pass only what the engine may raise, and looks at every problem."""
    started = time.monotonic()
    before = copy.deepcopy(definition)
    raised: WorkflowError | None = None
    try:
        compile_definition(definition, registry())
    except WorkflowError as error:
        raised = error
    assert raised is None or raised.public_message
    if isinstance(raised, WorkflowCompilerError):
        assert all(isinstance(problem, Problem) for problem in raised.errors)
        assert all(len(problem.message) < 20_000 for problem in raised.errors)
        json.dumps([problem.to_dict() for problem in raised.errors])
    assert time.monotonic() - started < MOST_SECONDS
    assert repr(definition) == repr(before)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in JSON data."""
    found = [path]
    entries: Any = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    for key, item in entries:
        found += places(item, (*path, key))
    return found


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A valid workflow with one to four places changed."""
    definition = json.loads(draw(st.sampled_from(workflows())))
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(places(definition)))
        if not path:
            continue
        parent = definition
        for part in path[:-1]:
            parent = parent[part]
        action = draw(st.sampled_from(["replace", "delete", "double", "wrap", "move"]))
        if action == "replace":
            parent[path[-1]] = draw(JSON)
        elif action == "delete":
            del parent[path[-1]]
        elif action == "double" and isinstance(parent, list):
            parent.append(copy.deepcopy(parent[path[-1]]))
        elif action == "wrap":
            parent[path[-1]] = [parent[path[-1]]]
        elif action == "move":
            other = draw(st.sampled_from(places(definition)))
            value: Any = definition
            for part in other:
                value = value[part]
            parent[path[-1]] = copy.deepcopy(value)
    return definition


class TestCompileDefinition:
    @given(JSON)
    @example({"version": "1.0", "inputs": [], "steps": [], "outputs": [[]]})
    @settings(FUZZ, max_examples=120)
    def test_any_json(self, definition: Any) -> None:
        """Anything is a plan or a `WorkflowError`."""
        compile_any(definition)

    @given(st.fixed_dictionaries({"version": JSON, "inputs": JSON, "steps": JSON, "outputs": JSON}))
    @settings(FUZZ, max_examples=120)
    def test_any_parts(self, definition: Any) -> None:
        """So are the right members with anything in them."""
        compile_any(definition)

    @given(
        st.lists(
            st.dictionaries(WORDS, SCALARS | st.lists(WORDS, max_size=3), max_size=6), max_size=5
        )
    )
    @settings(FUZZ, max_examples=120)
    def test_any_steps(self, steps: Any) -> None:
        """So are steps whose fields hold anything."""
        image = {"type": "WorkflowImage", "name": "image"}
        compile_any({"version": "1.0", "inputs": [image], "steps": steps, "outputs": []})

    @given(mutated())
    @settings(FUZZ, max_examples=150)
    def test_mutated_workflows(self, definition: Any) -> None:
        """So are workflows that were right before something in them changed."""
        compile_any(definition)
