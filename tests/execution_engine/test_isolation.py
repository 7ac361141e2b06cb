"""The engine works without any block, model or prediction library of this project."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import json, sys
import numpy as np
from execution_engine import ExecutionEngine
from execution_engine.query_language import compiler
from tests.execution_engine.toy_blocks import batch_input, block, step, toy_registry, workflow
from tests.execution_engine.toy_kind import MARKS_KIND, Marks, MarksCodec, marks_plugin

def keep_right(codecs):
    def work(marks):
        codec = codecs.for_value(marks)
        right = np.array(codec.column(marks, "x")) > 1
        return {"out": codec.select(marks, right), "count": codec.length(marks)}
    return work

registry = toy_registry(plugins=[marks_plugin()])
sorted_out = block(
    "t/right@v1", keep_right(registry.codecs), outputs={"out": [MARKS_KIND], "count": []}
)
registry = toy_registry(sorted_out, plugins=[marks_plugin()])
definition = workflow(
    [batch_input("m", kind=["toy_marks"])],
    [step("t/right@v1", "r", marks="$inputs.m")],
    {"o": "$steps.r.out", "n": "$steps.r.count"},
)
engine = ExecutionEngine.init(definition, registry=registry)
rows = engine.run({"m": [{"points": [[1, 1], [2, 5]]}, {"points": []}]}, serialize_results=True)
moved = engine.run({"m": Marks([(2, 3)], offset=(10, 20))}, serialize_results=True)
banned = ("torch", "supervision", "networkx", "jsonschema", "scipy", "pandas", "matplotlib",
          "blocks", "workflows", "inference_models", "onnxruntime")
print(json.dumps([rows, moved, [name for name in banned if name in sys.modules]]))
"""


def test_toy_kind_without_prediction_libraries() -> None:
    """A workflow on a kind of its own reads, selects, moves and writes values with nothing else
    imported.
    """
    root = Path(__file__).parents[2]
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=root, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    rows, moved, imported = json.loads(finished.stdout)
    assert rows == [{"o": {"points": [[2, 5]]}, "n": 2}, {"o": {"points": []}, "n": 0}]
    assert moved == [{"o": {"points": [[12, 23]]}, "n": 1}]
    assert imported == []
