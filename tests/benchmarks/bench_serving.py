"""Load on the HTTP server. Run it as a module; nothing here asserts.

    python -m tests.benchmarks.bench_serving [--requests 2000] [--clients 64] [--client raw|httpx]
        [--quick] [--url URL] [--minutes N]

Starts `weftlens serve` on a free port and sends base64 JPEGs from closed-loop clients. Prints, for
a workflow of plain OpenCV steps and for one with the shipped model, with and without dynamic
batching: requests a second, p50 and p99, answers that were lost or wrong, the time to start and the
memory. An answer is wrong when it differs from that of the same picture sent alone: another number
of objects, a box off by more than 1 px, or a score off by more than 1e-4.

With `--minutes` it sends both in turn for that long, with dynamic batching, and prints the memory.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import httpx
import numpy as np

from tests.benchmarks.load_clients import CLIENTS, TIMEOUT, Post

ROOT = Path(__file__).parents[2]
COINS = ROOT / "examples" / "images" / "coins.png"
PICTURES = 8
HALF_A_MINUTE = 30.0
BOX_TOLERANCE_PX = 1.0
SCORE_TOLERANCE = 1e-4

DISCS: dict[str, Any] = {
    "version": "1.0",
    "inputs": [{"type": "WorkflowImage", "name": "image"}],
    "steps": [
        {"type": "roboflow_core/convert_grayscale@v1", "name": "g", "image": "$inputs.image"},
        {
            "type": "roboflow_core/image_blur@v1",
            "name": "b",
            "image": "$steps.g.image",
            "blur_type": "gaussian",
            "kernel_size": 5,
        },
        {
            "type": "roboflow_core/threshold@v1",
            "name": "t",
            "image": "$steps.b.image",
            "threshold_type": "binary",
            "thresh_value": 120,
            "max_value": 255,
        },
        {
            "type": "roboflow_core/contours_detection@v1",
            "name": "c",
            "image": "$steps.t.image",
            "line_thickness": 1,
        },
    ],
    "outputs": [{"type": "JsonField", "name": "count", "selector": "$steps.c.number_contours"}],
}
PARTS: dict[str, Any] = {
    "version": "1.0",
    "inputs": [{"type": "WorkflowImage", "name": "image"}],
    "steps": [
        {
            "type": "roboflow_core/roboflow_instance_segmentation_model@v3",
            "name": "parts",
            "images": "$inputs.image",
            "model_id": "parts-seg/1",
        }
    ],
    "outputs": [
        {"type": "JsonField", "name": "predictions", "selector": "$steps.parts.predictions"}
    ],
}


def disc_pictures() -> list[str]:
    """Pictures of 640x480 px with one to seven discs."""
    found = []
    for count in range(1, PICTURES):
        pixels = np.full((480, 640, 3), 40, np.uint8)
        for place in range(count):
            cv2.circle(pixels, (60 + 80 * place, 100 + 30 * (place % 3)), 25, (200, 200, 200), -1)
        found.append(_encoded(pixels))
    return found


def coin_pictures() -> list[str]:
    """The photograph of coins, turned and mirrored in all eight ways."""
    pixels = cv2.imread(str(COINS))
    turned = [np.rot90(pixels, turn) for turn in range(4)]
    return [_encoded(np.ascontiguousarray(one)) for view in turned for one in (view, view[:, ::-1])]


def _encoded(pixels: np.ndarray) -> str:
    return base64.b64encode(cv2.imencode(".jpg", pixels)[1]).decode()


@dataclass
class Load:
    """What came of one load."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    wrong: int = 0
    failed: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        ordered = sorted(self.latencies) or [0.0]

        def quantile(share: float) -> str:
            return f"{ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1e3:7.1f} ms"

        return (
            f"{len(self.latencies) / self.seconds:7.1f} req/s  p50 {quantile(0.5)}  "
            f"p99 {quantile(0.99)}  ok {len(self.latencies)}  lost {sum(self.failed.values())}  "
            f"wrong {self.wrong}{f'  {dict(self.failed)}' if self.failed else ''}"
        )


@dataclass
class Server:
    """A running server."""

    process: subprocess.Popen[bytes]
    url: str
    start_seconds: float

    @property
    def memory_mb(self) -> float:
        """Resident memory."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        match = re.search(r"VmRSS:\s+(\d+) kB", text)
        return int(match[1]) / 1024 if match else float("nan")

    @property
    def cpu_seconds(self) -> float:
        """Processor time used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(**settings: str) -> Iterator[Server]:
    """A server on a free port with settings given as for the environment."""
    variables = {f"WEFTLENS_SERVER_{name.upper()}": value for name, value in settings.items()}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        started = time.perf_counter()
        with log.open("w", encoding="utf-8") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "workflows.cli.main", "serve", "--port", "0"],
                cwd=ROOT,
                env={**os.environ, **variables},
                stderr=stream,
            )
        try:
            url = _address(process, log)
            while httpx.get(f"{url}/readyz").status_code != 200:
                time.sleep(0.01)
            yield Server(process, url, time.perf_counter() - started)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(TIMEOUT)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Where the server listens, as its log says."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        found = re.search(r"http://[0-9.:]+", log.read_text(encoding="utf-8"))
        if found:
            return found[0]
        if process.poll() is not None:
            break
        time.sleep(0.005)
    raise RuntimeError(f"the server did not start:\n{log.read_text(encoding='utf-8')}")


def sequential(url: str, definition: dict[str, Any], pictures: list[str]) -> list[Any]:
    """The answer to each picture sent alone."""
    with httpx.Client(timeout=TIMEOUT) as client:
        answers = []
        for picture in pictures:
            response = client.post(f"{url}/workflows/run", json=_body(definition, picture))
            response.raise_for_status()
            answers.append(response.json()["outputs"][0])
        return answers


def load(
    url: str,
    definition: dict[str, Any],
    pictures: list[str],
    expected: list[Any],
    clients: int,
    requests: int,
    client: str = "raw",
) -> Load:
    """Sends requests from closed-loop clients and checks every answer.

    Args:
        url: of the server.
        definition: the workflow, sent along each time.
        pictures: base64 JPEGs, taken in turn.
        expected: the answer to each picture.
        clients: how many wait for an answer at the same time.
        requests: how many are sent in all.
        client: see `CLIENTS`.
    """
    result = Load()
    bodies = [_body(definition, picture) for picture in pictures]
    numbers = iter(range(requests))

    async def client_loop(post: Post) -> None:
        for number in numbers:
            which = number % len(bodies)
            began = time.perf_counter()
            try:
                status, answer = await post(which)
            except (OSError, EOFError, TimeoutError, httpx.HTTPError) as error:
                result.failed[type(error).__name__] += 1
                continue
            if status != 200:
                result.failed[str(status)] += 1
                continue
            result.latencies.append(time.perf_counter() - began)
            result.wrong += not _same(answer["outputs"][0], expected[which])

    async def run() -> None:
        async with CLIENTS[client](url, bodies, clients) as posts:
            await asyncio.gather(*map(client_loop, posts))

    began = time.perf_counter()
    asyncio.run(run())
    result.seconds = time.perf_counter() - began
    return result


def _body(definition: dict[str, Any], picture: str) -> dict[str, Any]:
    image = {"type": "base64", "value": picture}
    return {"api_key": "none", "specification": definition, "inputs": {"image": image}}


def _same(got: dict[str, Any], expected: dict[str, Any]) -> bool:
    if "count" in expected:
        return bool(got["count"] == expected["count"])
    rows, known = (_rows(one) for one in (got, expected))
    if rows.shape != known.shape:
        return False
    off = np.abs(rows - known)
    return bool((off[:, :4] <= BOX_TOLERANCE_PX).all() and (off[:, 4] <= SCORE_TOLERANCE).all())


def _rows(answer: dict[str, Any]) -> np.ndarray:
    rows = [
        [row[name] for name in ("x", "y", "width", "height", "confidence")]
        for row in answer["predictions"]["predictions"]
    ]
    # Equal scores may change places.
    return np.array(sorted(rows), dtype=np.float64).reshape(-1, 5)


def endure(seconds: float, clients: int, client: str) -> None:
    """Load of both workflows in turn, with the memory of the server every half minute."""
    cases = ((PARTS, coin_pictures()), (DISCS, disc_pictures()))
    with serving() as server:
        known = [sequential(server.url, *case) for case in cases]
        began, shown = time.monotonic(), 0.0
        ok = lost = wrong = 0
        while (passed := time.monotonic() - began) < seconds:
            for case, expected in zip(cases, known, strict=True):
                result = load(server.url, *case, expected, clients, 10 * clients, client)
                ok += len(result.latencies)
                wrong += result.wrong
                lost += sum(result.failed.values())
            if passed >= shown:
                shown += HALF_A_MINUTE
                print(
                    f"  {passed:4.0f} s  {server.memory_mb:.0f} MB  ok {ok}  lost {lost}  "
                    f"wrong {wrong}",
                    flush=True,
                )
        print(f"  in all: ok {ok}  lost {lost}  wrong {wrong}  {server.memory_mb:.0f} MB")
        time.sleep(HALF_A_MINUTE)
        print(f"  idle for half a minute: {server.memory_mb:.0f} MB")


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--client", choices=CLIENTS, default="raw")
    parser.add_argument("--url", help="measure a server that runs already, with OpenCV steps only")
    parser.add_argument("--minutes", type=float, help="load for that long, watching the memory")
    parser.add_argument("--quick", action="store_true", help="few requests, to see that it works")
    options = parser.parse_args()
    requests = 100 if options.quick else options.requests
    clients = min(options.clients, requests)
    if options.minutes:
        print(f"serving: {options.minutes:g} minutes of requests from {clients} clients")
        endure(options.minutes * 60, clients, options.client)
        return
    print(f"serving: {requests} requests from {clients} clients")
    if options.url:
        expected = sequential(options.url, DISCS, disc_pictures())
        result = load(
            options.url, DISCS, disc_pictures(), expected, clients, requests, options.client
        )
        print(f"  {options.url:20s} {result}")
        return
    cases = (
        ("OpenCV steps", DISCS, disc_pictures(), {}),
        ("model, no batching", PARTS, coin_pictures(), {"dynamic_batching": "false"}),
        ("model, batching", PARTS, coin_pictures(), {"dynamic_batching": "true"}),
    )
    for name, definition, pictures, settings in cases:
        with serving(**settings) as server:
            idle = server.memory_mb
            expected = sequential(server.url, definition, pictures)
            send = partial(load, server.url, definition, pictures, expected, clients)
            send(min(clients, requests), options.client)
            before = server.cpu_seconds
            result = send(requests, options.client)
            cpu = (server.cpu_seconds - before) / max(1, len(result.latencies))
            print(
                f"  {name:20s} {result}\n"
                f"  {'':20s} server {cpu * 1e3:.2f} ms of processor a request, ready after "
                f"{server.start_seconds:.2f} s, {idle:.0f} MB idle, {server.memory_mb:.0f} MB after"
            )


if __name__ == "__main__":
    main()
