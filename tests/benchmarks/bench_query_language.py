"""Times of the query language: import, reading, calls, and filters by columns against by rows.

    python tests/benchmarks/bench_query_language.py

Prints the best of several repeats. Needs neither supervision nor torch: the detections are toys.
"""

from __future__ import annotations

import subprocess
import sys
import timeit
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from execution_engine.kinds.codec import CodecRegistry, KindCodec
from execution_engine.query_language import (
    AllOperationsType,
    Operation,
    QueryCompiler,
    StatementGroup,
)
from execution_engine.query_language.compiler import Nested
from execution_engine.query_language.rows import DetectionRows
from execution_engine.query_language.site import ROOT

COUNT = 300
IMPORT_SCRIPT = """
import time, numpy, cv2, pydantic, execution_engine.block_api
start = time.perf_counter()
from execution_engine.query_language import AllOperationsType, CasesDefinition, StatementGroup
imported = time.perf_counter()
class Manifest(pydantic.BaseModel):
    operations: list[AllOperationsType]
    condition: StatementGroup
    switch: CasesDefinition
print((imported - start) * 1e3, (time.perf_counter() - imported) * 1e3)
"""


class Boxes(dict[str, np.ndarray]):
    """Columns of toy detections."""


class BoxesCodec(KindCodec):
    """Looks into `Boxes`."""

    python_type = f"{Boxes.__module__}.{Boxes.__qualname__}"

    def length(self, value: Boxes) -> int:
        return len(value["xyxy"])

    def column(self, value: Boxes, name: str) -> np.ndarray:
        return value[name]

    def select(self, value: Boxes, rows: np.ndarray) -> Boxes:
        return Boxes({name: column[rows] for name, column in value.items()})

    def with_columns(self, value: Boxes, columns: Mapping[str, Any]) -> Boxes:
        return Boxes({**value, **columns})


def make_boxes() -> Boxes:
    random = np.random.default_rng(0)
    corners = random.uniform(0, 1000, (COUNT, 2))
    return Boxes(
        xyxy=np.hstack([corners, corners + 50]).astype(np.float32),
        confidence=random.uniform(0, 1, COUNT).astype(np.float32),
        class_id=random.integers(0, 3, COUNT),
        class_name=np.array(["cat", "dog", "bird"])[random.integers(0, 3, COUNT)],
    )


def statement(name: str, comparator: str, value: Any) -> dict[str, Any]:
    extract = {"type": "ExtractDetectionProperty", "property_name": name}
    return {
        "type": "BinaryStatement",
        "left_operand": {"type": "DynamicOperand", "operations": [extract]},
        "comparator": {"type": comparator},
        "right_operand": {"type": "StaticOperand", "value": value},
    }


FILTERS = {
    "confidence >= and class ==": [
        statement("confidence", "(Number) >=", 0.4),
        statement("class_name", "==", "cat"),
    ],
    "confidence >= and class in": [
        statement("confidence", "(Number) >=", 0.4),
        statement("class_name", "in (Sequence)", ["cat", "dog"]),
    ],
    "centre in zone of 5 corners": [
        statement(
            "center",
            "(Detection) in zone",
            [[0, 0], [500, 0], [700, 400], [300, 800], [0, 500]],
        )
    ],
}


def microseconds(call: Callable[[], Any], number: int) -> float:
    call()
    return min(timeit.repeat(call, number=number, repeat=7)) / number * 1e6


def show(what: str, value: float, unit: str = "us") -> None:
    print(f"{what:<52}{value:>10.2f} {unit}")


def bench_import() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", IMPORT_SCRIPT],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(5)
    ]
    show("import (numpy, cv2, pydantic loaded)", min(float(run[0]) for run in runs), "ms")
    show("a manifest with all three field types", min(float(run[1]) for run in runs), "ms")


def bench_calls(compiler: QueryCompiler) -> None:
    data = [
        {"type": "StringToLowerCase"},
        {"type": "StringSubSequence", "start": 0, "end": 2},
        {"type": "LookupTable", "lookup_table": {"ab": 1}},
    ]
    adapter = TypeAdapter(list[AllOperationsType])
    show("read 3 operations", microseconds(lambda: adapter.validate_python(data), 5000))
    operations = [Operation.parse(data[0])]
    chain = compiler.operations(operations)
    show("str.lower alone", microseconds(lambda: "ABC".lower(), 50000))
    show("chain of 1 operation", microseconds(lambda: chain("ABC"), 50000))
    show("look-up and chain", microseconds(lambda: compiler.operations(operations)("ABC"), 50000))
    condition = compiler.statement(
        StatementGroup.parse(
            {
                "type": "StatementGroup",
                "statements": [
                    {
                        "type": "BinaryStatement",
                        "left_operand": {"type": "DynamicOperand", "operand_name": "x"},
                        "comparator": {"type": "(Number) >"},
                        "right_operand": {"type": "StaticOperand", "value": 3},
                    }
                ],
            }
        )
    )
    show("statement x > 3", microseconds(lambda: condition({"x": 4}), 50000))


def bench_filters(compiler: QueryCompiler, codecs: CodecRegistry, codec: BoxesCodec) -> None:
    boxes = make_boxes()
    for name, statements in FILTERS.items():
        group = StatementGroup.parse(
            {"type": "StatementGroup", "operator": "and", "statements": statements}
        )
        chain = compiler.operations([Operation("DetectionsFilter", {"filter_operation": group})])
        mask = Nested(codecs).row_mask(group, ROOT)

        def by_rows(mask: Any = mask) -> Boxes:
            return codec.select(boxes, mask.by_rows(DetectionRows(codec, boxes), {}))

        show(f"{COUNT} boxes, {name}", microseconds(lambda chain=chain: chain(boxes), 500))
        show("    the same row by row", microseconds(by_rows, 20))


def main() -> None:
    codec = BoxesCodec()
    codecs = CodecRegistry(codecs=[codec])
    compiler = QueryCompiler(codecs)
    bench_import()
    bench_calls(compiler)
    bench_filters(compiler, codecs, codec)


if __name__ == "__main__":
    main()
