"""The table of attacks: what each sends and what must come of it. Sends nothing itself."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.workflows.server.security import attack_bodies as bodies
from tests.workflows.server.security.attack_bodies import (
    image_input,
    parameter,
    png,
    run,
    run_block,
    run_model,
    run_on,
    run_operations,
    step,
    workflow,
)

RUN = "/workflows/run"
MAX_BODY = 4 * 1024 * 1024
REFUSED = frozenset({400, 401, 403, 404, 405, 408, 413, 414, 415, 422, 429, 431})
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Attack:
    """One request and what must come of it.

    Attributes:
        name: what it tries.
        body: its JSON, or the bytes themselves.
        path: where it goes.
        method: how.
        headers: headers on top.
        says: a part of the answer, so that it is refused for the right reason.
        statuses: the only answers that are right.
        url: a template of the address it makes the server fetch; `{port}` is the trap's.
    """

    name: str
    body: Any = None
    path: str = RUN
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)
    says: str = ""
    statuses: frozenset[int] = REFUSED
    url: str | None = None


def fetch(name: str, url: str, says: str) -> Attack:
    """An attack that makes the server ask an address."""
    return Attack(name, url=url, says=says)


PRIVATE = "does not lie in the public internet"
DEEP: Any = []
for _ in range(500):
    DEEP = [DEEP]

ADDRESSES = [
    fetch("loopback", "http://127.0.0.1:{port}/", PRIVATE),
    fetch("loopback by name", "http://localhost:{port}/", PRIVATE),
    fetch("loopback as one number", "http://2130706433:{port}/", PRIVATE),
    fetch("loopback in octal", "http://0177.0.0.1:{port}/", PRIVATE),
    fetch("loopback in hexadecimal", "http://0x7f000001:{port}/", PRIVATE),
    fetch("loopback in short", "http://127.1:{port}/", PRIVATE),
    fetch("loopback in wide digits", "http://１２７.0.0.1:{port}/", PRIVATE),
    fetch("loopback with a dot at the end", "http://127.0.0.1.:{port}/", PRIVATE),
    fetch("the unspecified address", "http://0.0.0.0:{port}/", PRIVATE),
    fetch("IPv6 loopback", "http://[::1]:{port}/", PRIVATE),
    fetch("IPv4 mapped into IPv6", "http://[::ffff:127.0.0.1]:{port}/", PRIVATE),
    fetch("IPv4 through NAT64", "http://[64:ff9b::7f00:1]:{port}/", PRIVATE),
    fetch("IPv4 through 6to4", "http://[2002:7f00:1::]:{port}/", PRIVATE),
    fetch("IPv6 link-local with a zone", "http://[fe80::1%25lo]:{port}/", "characters"),
    fetch("metadata of a cloud", "http://169.254.169.254/latest/meta-data/", PRIVATE),
    fetch("metadata of a cloud by IPv6", "http://[fd00:ec2::254]/", PRIVATE),
    fetch("an address of a provider's network", "http://100.64.0.1/", PRIVATE),
    fetch("a private network", "http://10.0.0.1/", PRIVATE),
    fetch("a name that stands for a private address", "http://inside.test:{port}/", PRIVATE),
    fetch("a name with one private address", "http://mixed.test:{port}/", PRIVATE),
    fetch("a redirect to a private address", "http://public.test:{port}/to-inside", PRIVATE),
    fetch("a name that changes its mind", "http://rebind.test:{port}/again", PRIVATE),
    fetch("a redirect to a file", "http://public.test:{port}/to-file", "scheme 'file'"),
    fetch("redirects without end", "http://public.test:{port}/loop", "redirects more than"),
    fetch("a name as user", "http://public.test@127.0.0.1:{port}/", "credentials"),
    fetch("a backslash before the host", "http://127.0.0.1:{port}\\@public.test/", "cannot be"),
    fetch("a header in the address", "http://public.test:{port}/\r\nX-A: 1", "control characters"),
    fetch("the port of another service", "http://public.test:22/", "port 22"),
    fetch("an endless body", "http://public.test:{port}/endless", "larger than"),
    fetch("a packed body", "http://public.test:{port}/packed", "encoded"),
    fetch("a slow body", "http://public.test:{port}/slow", "did not arrive within"),
]

FILES = [
    Attack("a path as image", run_on("/etc/passwd"), says="paths of local files are not read"),
    Attack(
        "a file as image",
        run_on({"type": "file", "value": "/etc/passwd"}),
        says="reading local files is not permitted",
    ),
    Attack("a file address as image", run_on("file:///etc/passwd"), says="not"),
    Attack(
        "a pickled array", run_on({"type": "numpy", "value": "gASVAAA="}), says="never accepted"
    ),
    Attack("a path as model id", run_model("/etc/passwd"), says="is a path"),
    Attack("a path upwards as model id", run_model("../../../etc/passwd"), says="is a path"),
    Attack("a path inside a model id", run_model("a/../../etc"), says="must be a name"),
    Attack("a file address as model id", run_model("file:///etc/passwd"), says="is a path"),
    Attack("an address as model id", run_model("http://127.0.0.1:1/m"), says="no model"),
    Attack("a weights file as model id", run_model("x.onnx"), says="is a path"),
    Attack(
        "a path as model id of a route",
        {"model_id": "/etc/passwd", "image": {"type": "base64", "value": png()}},
        "/infer/object_detection",
        says="is a path",
    ),
    Attack("a path as model to add", {"model_id": "../x/y"}, "/model/add", says="is a path"),
    Attack("a model path upwards", png().encode(), "/..%2f..%2fetc/passwd"),
    Attack("a model path with dots", png().encode(), "/%2e%2e/%2e%2e"),
    Attack("a model path as address", png().encode(), "/http:%2f%2f127.0.0.1/1"),
    Attack("a workflow id upwards", {"inputs": {}}, "/shop/workflows/..%2f..%2fetc%2fpasswd"),
    Attack("a workflow id with a NUL", {"inputs": {}}, "/shop/workflows/a%00b"),
    Attack("a workspace upwards", {"inputs": {}}, "/%2e%2e/workflows/passwd"),
    Attack("a workflow id with a backslash", {"inputs": {}}, "/shop/workflows/..%5c..%5cx"),
    Attack(
        "a file that a step writes",
        run(
            workflow(
                [],
                [
                    step(
                        "local_file_sink@v1",
                        content="x",
                        file_type="txt",
                        output_mode="append_log",
                        target_directory="/tmp/weftlens-attack",
                    )
                ],
                {"out": "$steps.s.message"},
            )
        ),
    ),
    Attack(
        "variables of the environment",
        run(
            workflow(
                [],
                [step("environment_secrets_store@v1", variables_storing_secrets=["PATH"])],
                {"out": "$steps.s.path"},
            )
        ),
        says="nvironment",
    ),
    Attack(
        "Python code of its own",
        run(
            {
                "version": "1.0",
                "inputs": [],
                "dynamic_blocks_definitions": [
                    {
                        "type": "DynamicBlockDefinition",
                        "manifest": {
                            "type": "ManifestDescription",
                            "block_type": "Evil",
                            "inputs": {},
                            "outputs": {"o": {"type": "DynamicOutputDefinition", "kind": []}},
                        },
                        "code": {
                            "type": "PythonCode",
                            "run_function_code": "def run(self):\n    import os\n",
                        },
                    }
                ],
                "steps": [{"type": "Evil", "name": "s"}],
                "outputs": [{"type": "JsonField", "name": "o", "selector": "$steps.s.o"}],
            }
        ),
    ),
]

SIZES = [
    Attack("a PNG of 20,000 x 20,000 px", run_on(bodies.png_bomb()), says="20000x20000 px"),
    Attack("a JPEG of 65,500 x 65,500 px", run_on(bodies.jpeg_bomb()), says="65500x65500 px"),
    Attack("a GIF of 65,535 x 65,535 px", run_on(bodies.gif_bomb()), says="65535x65535 px"),
    Attack("a TIFF of 2**31 x 2**31 px", run_on(bodies.tiff_bomb()), says="px"),
    Attack("a PNG without pixels", run_on(bodies.png_bomb(0, 0)), says="no pixels"),
    Attack("a PNG cut off", run_on(png()[:40]), says="image"),
    Attack(
        "many images that are large together",
        run_on([bodies.flat_png(2_000, 2_000)] * 6),
        says="too many pixels together",
    ),
    Attack("a batch of 65 images", run_on([png(1, 1)] * 65), says="at most 64"),
    Attack(
        "a nested batch of many",
        run(
            workflow(
                [{"type": "WorkflowBatchInput", "name": "x", "dimensionality": 2}],
                [],
                {"o": "$inputs.x"},
            ),
            x=[[1] * 100],
        ),
        says="at most 64",
    ),
    Attack("a body over the limit", b" " * (MAX_BODY + 1), headers=JSON, says="at most"),
    Attack(
        "a body packed with gzip",
        b"\x1f\x8b\x08\0\0",
        headers={**JSON, "content-encoding": "gzip"},
        says="Content-Encoding",
    ),
    Attack("a wrong length", b"{}", headers={**JSON, "content-length": "9" * 30}),
    Attack("headers without end", {}, headers={"x-a": "a" * 20_000}, says="headers"),
    Attack("many headers", {}, headers={f"x-{i}": "a" for i in range(200)}, says="headers"),
    Attack("a path without end", path="/" + "a" * 3_000, method="GET", says="path"),
    Attack("a query without end", path="/info?" + "a" * 9_000, method="GET", says="query"),
    Attack("a method nobody knows", {}, method="TRACE", statuses=frozenset({405})),
    Attack("257 steps", run(workflow([], [step("current_time@v1", f"s{i}") for i in range(257)])),
           says="at most 256 steps"),
    Attack("257 outputs", run(workflow([parameter("x")], [], {f"o{i}": "$inputs.x"
                                                           for i in range(257)})),
           says="at most 256 outputs"),
    Attack("257 inputs", run(workflow([parameter(f"x{i}") for i in range(257)], [])),
           says="at most 256 inputs"),
]  # fmt: skip

TEXTS = [
    Attack("nesting of 500 levels", run(workflow([], []), x=DEEP), says="nested more than"),
    Attack("nesting of a million levels", b"[" * 1_000_000, headers=JSON, says="nested more"),
    Attack("a million values", b"[" + b"0," * 1_500_000 + b"0]", headers=JSON, says="more than"),
    Attack("a member twice", b'{"specification": {}, "specification": {}}', headers=JSON,
           says="twice"),
    Attack("a member twice, written differently", b'{"inputs": {}, "\\u0069nputs": {}}',
           headers=JSON, says="twice"),
    Attack("NaN", b'{"specification": NaN}', headers=JSON, says="no JSON"),
    Attack("Infinity", b'{"inputs": {"x": Infinity}}', headers=JSON, says="no JSON"),
    Attack("a float beyond all floats", b'{"inputs": {"x": 1e999}}', headers=JSON, says="no JSON"),
    Attack("a number of a million digits", b'{"x": ' + b"9" * 1_000_000 + b"}", headers=JSON,
           says="no JSON"),
    Attack("half a character", b'{"specification": {"version": "\\ud800"}}', headers=JSON,
           says="no JSON"),
    Attack("bytes that are no UTF-8", b'{"specification": "\xff\xfe"}', headers=JSON,
           says="no JSON"),
    Attack("UTF-16", json.dumps(run({})).encode("utf-16"), headers=JSON, says="JSON"),
    Attack("JSON that says it is text", b'{"a": 1, "a": 2}',
           headers={"content-type": "text/plain"}, says="twice"),
    Attack("no JSON at all", b"<xml/>", headers=JSON, says="no JSON"),
    Attack("a list as body", b"[]", headers=JSON, says="JSON object"),
    Attack("a definition as text", run("$(reboot)"), says="specification"),
    Attack("a definition of another shape", run({"version": 1, "steps": {"a": 1}}), says="version"),
    Attack("a step name with line ends", run(workflow([], [step("current_time@v1", "a\r\nb: c")],
                                                      {"o": "$steps.a\r\nb: c.x"}))),
    Attack("an expression of 20,000 characters", run_operations(
        [{"type": "StringMatches", "regex": "a" * 20_000}], "a"), says="longer than"),
    Attack("an expression nested 5,000 deep", run_operations(
        [{"type": "StringMatches", "regex": "(" * 5_000 + ")" * 5_000}], "a"), says="too deep"),
    Attack("an expression with a huge count", run_operations(
        [{"type": "StringMatches", "regex": "a{99999999999}"}], "a"), says="too large"),
    Attack("an expression that refers back", run_operations(
        [{"type": "StringMatches", "regex": r"(\w+)+\1+$"}], "a" * 50_000), says="too long"),
    Attack("operations nested 60 deep", run_operations(
        [{"type": "NoSuchOperation", "operations": DEEP}], "a"), says="nested more"),
    Attack("a template that looks inside a value", run_block(
        "string_template@v1", template="{x.__class__.__mro__}", data={"x": "abc"}),
        says="part of a value"),
    Attack("a template that pads without end", run_block(
        "string_template@v1", template="{x:>999999999}", data={"x": "abc"}), says="more than"),
    Attack("a template that grows without end", run(workflow(
        [parameter("x")],
        [step("string_template@v1", template="{x}" * 1000, data={"x": "$inputs.x"})],
        {"o": "$steps.s.output"}), x="a" * 100_000), says="characters"),
    Attack("a selector into Python", run(workflow(
        [parameter("x")], [], {"o": "$inputs.x.__class__"}))),
    Attack("a block of the standard library", run(workflow(
        [], [{"type": "os.system", "name": "s", "command": "id"}], {"o": "$steps.s.x"}))),
]  # fmt: skip

NUMBERS = [
    Attack("slices of one pixel", run_block("image_slicer@v1", png(400, 300), slice_width=1,
           slice_height=1, overlap_ratio_width=0.0, overlap_ratio_height=0.0), says="slices"),
    Attack("slices that hardly move", run_block("image_slicer@v2", png(800, 600), slice_width=200,
           slice_height=200, overlap_ratio_width=0.999, overlap_ratio_height=0.999),
           says="slices"),
    Attack("a blur of a billion", run_block("image_blur@v1", kernel_size=10**9), says="kernel"),
    Attack("a filter that takes an hour", run_block("image_blur@v1", bodies.flat_png(2_000, 2_000),
           blur_type="bilateral", kernel_size=255), says="reads 65025 neighbours"),
    Attack("a picture of a billion px a side", run_block(
        "image_preprocessing@v1", task_type="resize", width=10**9, height=10**9), says="width"),
    Attack("a picture of 32,767 px a side", run_block(
        "image_preprocessing@v1", task_type="resize", width=32_767, height=32_767), says="px"),
    Attack("lines a billion px thick", run_block("contours_detection@v1", line_thickness=10**9),
           says="thickness"),
    Attack("letters a million times as large", run_block(
        "text_display@v1", text="hello", font_scale=10**6), says="font_scale"),
    Attack("a million colours", run_block("dominant_color@v1", color_clusters=10**6), says="color"),
]  # fmt: skip

CHAIN = run(
    workflow(
        [image_input()],
        [
            step("image_preprocessing@v1", f"s{i}", image=f"$steps.s{i - 1}.image" if i else
                 "$inputs.image", task_type="resize", width=4_000 + i, height=3_000)
            for i in range(12)
        ],
        {"o": "$steps.s11.image"},
    ),
    image={"type": "base64", "value": png()},
)  # fmt: skip
SLICED_TWICE = run(
    workflow(
        [image_input()],
        [
            step("image_slicer@v1", "a", image="$inputs.image", slice_width=8, slice_height=8,
                 overlap_ratio_width=0.0, overlap_ratio_height=0.0),
            step("image_slicer@v1", "b", image="$steps.a.slices", slice_width=1, slice_height=1,
                 overlap_ratio_width=0.0, overlap_ratio_height=0.0),
        ],
        {"o": "$steps.b.slices"},
    ),
    image={"type": "base64", "value": bodies.flat_png(400, 320)},
)  # fmt: skip
CHAINS = [
    Attack("pictures that pile up from step to step", CHAIN, says="images of this run take"),
    Attack("slices of slices", SLICED_TWICE, says="more than 20000 elements"),
]


def pipeline(reference: Any) -> dict[str, Any]:
    """The body that starts a pipeline over a video."""
    return {
        "video_configuration": {"video_reference": reference},
        "processing_configuration": {
            "workflow_specification": workflow(
                [image_input()],
                [step("image_blur@v1", image="$inputs.image")],
                {"o": "$steps.s.image"},
            )
        },
    }


VIDEOS = [
    Attack(f"a video at {reference!r}", pipeline(reference), "/inference_pipelines/initialise")
    for reference in (
        "/etc/passwd", "../../etc/passwd", "file:///etc/passwd", 0, "/dev/video0", "/dev/zero",
        "rtsp://127.0.0.1:1/x", "http://169.254.169.254/x.mp4", "http://127.0.0.1:1/x.mp4",
        "concat:/etc/passwd", "subfile,,start,0,end,0,,:/etc/passwd", "tcp://127.0.0.1:1",
        "data:video/mp4;base64,AAAA", "pipe:0", "x.m3u8", "", ["/etc/passwd"] * 100,
    )
]  # fmt: skip

PAGES = [
    Attack("a page of another origin", {}, headers={"origin": "https://evil.example"},
           says="origin"),
    Attack("a page without an origin", {}, headers={"origin": "null"}, says="origin"),
    Attack("a name of another page (DNS rebinding)", {}, headers={"host": "evil.example:9001"},
           says="Host"),
]  # fmt: skip

ATTACKS = [*ADDRESSES, *FILES, *SIZES, *TEXTS, *NUMBERS, *CHAINS, *VIDEOS, *PAGES]

SURVIVED = [
    Attack("an expression that explodes", run_operations(
        [{"type": "StringMatches", "regex": "(a+)+$"}], "a" * 20_000 + "!")),
    Attack("an expression of a higher power", run_operations(
        [{"type": "StringMatches", "regex": "a.*b.*c.*d.*e"}], "abcd" * 5_000)),
    Attack("a text full of fences", run(workflow(
        [parameter("x")],
        [step("json_parser@v1", raw_json="$inputs.x", expected_fields=["a"])],
        {"o": "$steps.s.*"}), x="```json " * 200_000)),
    Attack("JSON in a text, nested deep", run(workflow(
        [parameter("x")],
        [step("json_parser@v1", raw_json="$inputs.x", expected_fields=["a"])],
        {"o": "$steps.s.*"}), x='{"a":' + "[" * 900 + "]" * 900 + "}")),
    Attack("a number that outgrows 64 bits", run_operations(
        [{"type": "Multiply", "other": 2**60}] * 4, 2**60)),
    Attack("a number that outgrows all floats", run_operations(
        [{"type": "Multiply", "other": 2**60}] * 40, 2**60)),
    Attack("a closing of a billion", run_block(
        "morphological_transformation@v1", kernel_size=10**9)),
    Attack("operations one after the other", run_operations(
        [{"type": "StringToLowerCase"}] * 20_000, "a" * 1_000)),
]  # fmt: skip
