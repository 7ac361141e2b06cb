"""The language works where no library of predictions is installed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[3]

SCRIPT = """
    import sys

    class Refused:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] in ("supervision", "torch"):
                raise ImportError(name)

    sys.meta_path.insert(0, Refused())
    import numpy as np
    from execution_engine.kinds.codec import CodecRegistry, KindCodec
    from execution_engine.query_language import Operation, QueryCompiler

    class Boxes(list):
        pass

    class BoxesCodec(KindCodec):
        python_type = "__main__.Boxes"

        def length(self, value):
            return len(value)

        def column(self, value, name):
            return {"xyxy": np.array(value, dtype=np.float32).reshape(-1, 4)}[name]

        def select(self, value, rows):
            return Boxes(np.array(value)[rows].tolist())

    keep_large = Operation.parse({
        "type": "DetectionsFilter",
        "filter_operation": {"type": "StatementGroup", "statements": [{
            "type": "BinaryStatement",
            "left_operand": {"type": "DynamicOperand", "operations": [
                {"type": "ExtractDetectionProperty", "property_name": "size"}]},
            "comparator": {"type": "(Number) >"},
            "right_operand": {"type": "StaticOperand", "value": 3},
        }]},
    })
    compiler = QueryCompiler(CodecRegistry(codecs=[BoxesCodec()]))
    kept = compiler.operations([keep_large])(Boxes([[0, 0, 1, 1], [0, 0, 2, 2]]))
    assert kept == [[0, 0, 2, 2]] and type(kept) is Boxes, kept
    loaded = {name.split(".")[0] for name in sys.modules}
    assert not loaded & {"supervision", "torch"}, loaded
    print("ok")
"""


def test_without_supervision_and_torch() -> None:
    """A toy kind is filtered in a process that cannot import supervision or torch."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "ok", done.stderr
