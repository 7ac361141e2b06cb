"""Drives the published client of the ecosystem, `inference-sdk`, against a server. Runs in an
environment of its own, where nothing of this project is installed; see conftest.py.

Reads one JSON array `[scenario, options]` a line and answers each with a line of JSON: what the
client gave, or `{"error": {...}}`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from inference_sdk import InferenceConfiguration, InferenceHTTPClient
from PIL import Image


def _client(options: dict[str, Any], **configuration: Any) -> InferenceHTTPClient:
    client = InferenceHTTPClient(api_url=options["url"], api_key=options.get("api_key"))
    return client.configure(
        InferenceConfiguration(**{**configuration, **options.get("configuration", {})})
    )


def _plain(value: Any) -> Any:
    """JSON of whatever the client gives."""
    if isinstance(value, np.ndarray):
        return {"array": list(value.shape), "sum": int(value.sum())}
    if isinstance(value, Image.Image):
        return {"pillow": list(value.size)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def server_info(options: dict[str, Any]) -> Any:
    info = _client(options).get_server_info()
    return {"name": info.name, "version": info.version, "uuid": info.uuid}


def run_workflow(options: dict[str, Any]) -> Any:
    """`images`: how each image is given, by name; `call`: further arguments."""
    client = _client(options)
    images = {name: _image(given) for name, given in options.get("images", {}).items()}
    run = client.infer_from_workflow if options.get("legacy") else client.run_workflow
    return run(images=images, **options.get("call", {}))


def profiled_run(options: dict[str, Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        client = _client(options, profiling_directory=folder)
        images = {name: _image(given) for name, given in options["images"].items()}
        client.run_workflow(images=images, enable_profiling=True, **options["call"])
        [trace] = Path(folder).glob("*.json")
        return sorted({event["name"] for event in json.loads(trace.read_text())})


def infer(options: dict[str, Any]) -> Any:
    client = _client(options)
    if options.get("v0"):
        client.select_api_v0()
    image = _image(options["image"])
    if options.get("asynchronous"):
        return asyncio.run(client.infer_async(image, model_id=options["model_id"]))
    return client.infer(image, model_id=options["model_id"])


def infer_to_supervision(options: dict[str, Any]) -> Any:
    """What supervision makes of an answer."""
    import supervision as sv

    answer = infer(options)
    detections = sv.Detections.from_inference(answer)
    mask = detections.mask
    return {
        "xyxy": detections.xyxy.tolist(),
        "class_name": [str(name) for name in detections.data["class_name"]],
        "areas": None if mask is None else [int(one.sum()) for one in np.asarray(mask)],
        "mask_shape": None if mask is None else list(np.asarray(mask).shape),
    }


def models(options: dict[str, Any]) -> Any:
    """Loads, describes, lists and unloads."""
    client = _client(options)
    first, second = options["model_ids"]

    def listed(registered: Any) -> list[list[str]]:
        return sorted([model.model_id, model.task_type] for model in registered.models)

    client.unload_all_models()
    steps = {"loaded": listed(client.load_model(first, set_as_default=True))}
    steps["selected"] = client.selected_model
    description = client.get_model_description(second)
    steps["described"] = [description.task_type, description.input_height, description.input_width]
    steps["both"] = listed(client.list_loaded_models())
    steps["one"] = listed(client.unload_model(first))
    steps["none"] = listed(client.unload_all_models())
    return steps


def stream_of_folder(options: dict[str, Any]) -> Any:
    """Every image of a folder, one after the other."""
    client = _client(options)
    found = client.infer_on_stream(options["folder"], model_id=options["model_id"])
    return [[Path(str(name)).name, len(answer["predictions"])] for name, _, answer in found]


def _image(given: Any) -> Any:
    """`["path" | "numpy" | "pillow" | "base64", file]`, or a list of these."""
    if given and isinstance(given[0], list):
        return [_image(one) for one in given]
    form, file = given
    if form == "path":
        return file
    if form == "numpy":
        return cv2.imread(file)
    if form == "pillow":
        return Image.open(file)
    if form == "base64":
        import base64

        return base64.b64encode(Path(file).read_bytes()).decode()
    raise ValueError(form)


SCENARIOS: dict[str, Callable[[dict[str, Any]], Any]] = {
    scenario.__name__: scenario
    for scenario in (
        server_info,
        run_workflow,
        profiled_run,
        infer,
        infer_to_supervision,
        models,
        stream_of_folder,
    )
}


def main() -> None:
    """Answers until the input ends."""
    warnings.simplefilter("ignore")
    answers = sys.stdout
    sys.stdout = sys.stderr  # what libraries print is no answer
    for line in sys.stdin:
        name, options = json.loads(line)
        try:
            result = _plain(SCENARIOS[name](options))
        except Exception as error:
            result = {
                "error": {
                    "type": type(error).__name__,
                    "status": getattr(error, "status_code", None),
                    "message": getattr(error, "api_message", None) or str(error),
                }
            }
        answers.write(json.dumps(result) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
