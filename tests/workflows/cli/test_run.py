"""`weftlens run`: images in, pictures and JSON out, faults by name."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from workflows.cli.main import main


def write_picture(path: Path, pixels: np.ndarray) -> Path:
    path.write_bytes(cv2.imencode(path.suffix, pixels)[1].tobytes())
    return path


def read_picture(path: Path) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_UNCHANGED)


@pytest.fixture
def many_outputs(tmp_path: Path) -> Path:
    """A workflow with a picture, pictures of slices, an object with a picture, and numbers."""
    definition = {
        "version": "1.0",
        "inputs": [
            {"type": "WorkflowImage", "name": "image"},
            {"type": "WorkflowParameter", "name": "note"},
        ],
        "steps": [
            {
                "type": "roboflow_core/threshold@v1",
                "name": "binary",
                "image": "$inputs.image",
                "thresh_value": 100,
            },
            {
                "type": "roboflow_core/convert_grayscale@v1",
                "name": "gray",
                "image": "$steps.binary.image",
            },
            {
                "type": "roboflow_core/contours_detection@v1",
                "name": "contours",
                "image": "$steps.gray.image",
                "line_thickness": 1,
            },
            {
                "type": "roboflow_core/image_slicer@v2",
                "name": "tiles",
                "image": "$inputs.image",
                "slice_width": 16,
                "slice_height": 24,
                "overlap_ratio_width": 0.0,
                "overlap_ratio_height": 0.0,
            },
        ],
        "outputs": [
            {"type": "JsonField", "name": "gray", "selector": "$steps.gray.image"},
            {"type": "JsonField", "name": "all", "selector": "$steps.contours.*"},
            {"type": "JsonField", "name": "tiles", "selector": "$steps.tiles.slices"},
            {
                "type": "JsonField",
                "name": "../count",
                "selector": "$steps.contours.number_contours",
            },
            {"type": "JsonField", "name": "../up/gray", "selector": "$steps.gray.image"},
            {"type": "JsonField", "name": "note", "selector": "$inputs.note"},
        ],
    }
    path = tmp_path / "many.json"
    path.write_text(json.dumps(definition), encoding="utf-8")
    return path


class TestOutputs:
    def test_pictures_and_json(
        self,
        workflow_file: Path,
        picture: np.ndarray,
        picture_file: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """An image output becomes <image>.<output>.png, the rest <image>.json; names keep letters
        beyond ASCII.
        """
        out = tmp_path / "out" / "deep"
        assert main(["run", str(workflow_file), "-i", str(picture_file), "-o", str(out)]) == 0
        assert sorted(path.name for path in out.iterdir()) == [
            "münzen 硬币.blurred.png",
            "münzen 硬币.json",
        ]
        written = read_picture(out / "münzen 硬币.blurred.png")
        np.testing.assert_array_equal(written, cv2.blur(picture, (3, 3)))
        assert json.loads((out / "münzen 硬币.json").read_text(encoding="utf-8")) == {
            "blurred": {
                "type": "file",
                "value": "münzen 硬币.blurred.png",
                "width": 32,
                "height": 24,
            }
        }
        assert capsys.readouterr().out == (
            f"{picture_file}\n"
            f"  blurred: {out / 'münzen 硬币.blurred.png'} (32x24 px)\n"
            f"  all results: {out / 'münzen 硬币.json'}\n"
        )

    def test_every_shape_of_output(
        self, many_outputs: Path, picture_file: Path, tmp_path: Path
    ) -> None:
        """Nested pictures are numbered, pictures in objects named by their field, and no output
        name leads out of the folder.
        """
        out = tmp_path / "out"
        arguments = ["run", str(many_outputs), str(picture_file), "--out", str(out)]
        assert main([*arguments, "--param", 'note={"a": [1]}']) == 0
        stem = "münzen 硬币"
        assert sorted(path.name for path in out.iterdir()) == sorted(
            [
                f"{stem}.json",
                f"{stem}.gray.png",
                f"{stem}.all.image.png",
                f"{stem}.tiles.0.png",
                f"{stem}.tiles.1.png",
                f"{stem}..._up_gray.png",
            ]
        )
        result = json.loads((out / f"{stem}.json").read_text(encoding="utf-8"))
        assert result["gray"]["value"] == f"{stem}.gray.png"
        assert [tile["value"] for tile in result["tiles"]] == [
            f"{stem}.tiles.0.png",
            f"{stem}.tiles.1.png",
        ]
        assert result["all"]["image"]["width"] == 32
        assert result["all"]["number_contours"] == result["../count"]
        assert result["note"] == {"a": [1]}
        assert read_picture(out / f"{stem}.gray.png").ndim == 2

    def test_jpeg(self, workflow_file: Path, picture_file: Path, tmp_path: Path) -> None:
        """Pictures can be written as JPEG."""
        out = tmp_path / "out"
        arguments = ["run", str(workflow_file), str(picture_file), "-o", str(out)]
        assert main([*arguments, "--image-format", "jpg"]) == 0
        content = (out / "münzen 硬币.blurred.jpg").read_bytes()
        assert content.startswith(b"\xff\xd8")

    def test_without_a_folder(
        self, workflow_file: Path, picture_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Without --out nothing is written, and the text says how to get the pictures."""
        before = set(workflow_file.parent.iterdir())
        assert main(["run", str(workflow_file), str(picture_file)]) == 0
        assert "blurred: image of 32x24 px, not written (give --out FOLDER)" in (
            capsys.readouterr().out
        )
        assert set(workflow_file.parent.iterdir()) == before

    def test_json_without_a_folder(
        self,
        workflow_file: Path,
        picture: np.ndarray,
        picture_file: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """With --json alone the pictures are in the JSON."""
        assert main(["run", str(workflow_file), str(picture_file), "--json"]) == 0
        (entry,) = json.loads(capsys.readouterr().out)
        assert entry["image"] == str(picture_file)
        assert entry["files"] == []
        assert entry["results"][0]["blurred"]["type"] == "base64"

    def test_json_with_a_folder(
        self,
        workflow_file: Path,
        picture_file: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """With --json and --out the JSON names the files."""
        out = tmp_path / "out"
        arguments = ["run", str(workflow_file), str(picture_file), "--json", "-o", str(out)]
        assert main(arguments) == 0
        (entry,) = json.loads(capsys.readouterr().out)
        assert entry["files"] == [
            str(out / "münzen 硬币.json"),
            str(out / "münzen 硬币.blurred.png"),
        ]

    def test_many_lines_are_left_to_the_files(
        self,
        workflow_file: Path,
        picture: np.ndarray,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """With many images only the sum is printed."""
        folder = tmp_path / "frames"
        folder.mkdir()
        for number in range(12):
            write_picture(folder / f"{number:02}.png", picture)
        (folder / "notes.txt").write_text("no image")
        out = tmp_path / "out"
        assert main(["run", str(workflow_file), str(folder), "-o", str(out), "--workers", "2"]) == 0
        assert capsys.readouterr().out == f"12 images: 12 done, 0 failed; results in {out}\n"
        assert len(list(out.glob("*.json"))) == 12


class TestImages:
    def test_an_exif_turn_is_applied(self, workflow_file: Path, tmp_path: Path) -> None:
        """A photograph whose EXIF says "turn by a quarter" is worked on upright."""
        pixels = np.zeros((20, 40, 3), np.uint8)
        pixels[:, :10] = 255
        jpeg = cv2.imencode(".jpg", pixels)[1].tobytes()
        directory = struct.pack(">HHHIHHI", 1, 0x0112, 3, 1, 6, 0, 0)
        exif = b"Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08" + directory
        segment = b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif
        photo = tmp_path / "photo.jpg"
        photo.write_bytes(jpeg[:2] + segment + jpeg[2:])
        out = tmp_path / "out"
        assert main(["run", str(workflow_file), str(photo), "-o", str(out)]) == 0
        turned = read_picture(out / "photo.blurred.png")
        assert turned.shape[:2] == (40, 20)
        assert turned[:5].mean() > 200
        assert turned[20:].mean() < 20

    def test_a_broken_image_does_not_stop_the_others(
        self,
        workflow_file: Path,
        picture_file: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """The broken and the missing one are named, the good one is done, exit code 1."""
        broken = tmp_path / "broken.jpg"
        broken.write_bytes(b"nope")
        missing = tmp_path / "missing.png"
        out = tmp_path / "out"
        arguments = ["run", str(workflow_file), "-i", str(broken), "-i", str(missing)]
        assert main([*arguments, "-i", str(picture_file), "-o", str(out)]) == 1
        printed = capsys.readouterr()
        first, second = printed.err.splitlines()
        assert first.startswith(f"{broken}: The image `image` was given as 4 bytes that are no ")
        assert second == f"{missing}: no such file"
        assert (out / "münzen 硬币.json").exists()
        assert printed.out.endswith(f"3 images: 1 done, 2 failed; results in {out}\n")

    def test_broken_images_as_json(
        self,
        workflow_file: Path,
        picture_file: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """JSON stays JSON: a fault is an entry with class and message."""
        missing = tmp_path / "missing.png"
        arguments = ["run", str(workflow_file), str(missing), str(picture_file), "--json"]
        assert main(arguments) == 1
        printed = capsys.readouterr()
        failed, done = json.loads(printed.out)
        assert failed == {
            "image": str(missing),
            "error": {"type": "FileNotFoundError", "message": "no such file"},
        }
        assert done["results"]
        assert printed.err.endswith("2 images: 1 done, 1 failed\n")

    def test_equal_names_do_not_overwrite(
        self, workflow_file: Path, picture: np.ndarray, tmp_path: Path
    ) -> None:
        """Images of one name from two folders get files of their own."""
        paths = []
        for folder in ("a", "b"):
            (tmp_path / folder).mkdir()
            paths.append(str(write_picture(tmp_path / folder / "x.png", picture)))
        out = tmp_path / "out"
        assert main(["run", str(workflow_file), *paths, "-o", str(out)]) == 0
        assert sorted(path.name for path in out.glob("*.json")) == ["x-2.json", "x.json"]

    def test_workers_give_the_same(
        self, workflow_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Three workers give what one gives, in the order of the images."""
        paths = [
            str(write_picture(tmp_path / f"{n}.png", np.full((9, 9, 3), n * 20, np.uint8)))
            for n in range(6)
        ]
        answers = []
        for workers in ("1", "3"):
            assert main(["run", str(workflow_file), *paths, "--json", "--workers", workers]) == 0
            answers.append(json.loads(capsys.readouterr().out))
        one, three = (
            [(entry["image"], entry["results"][0]["blurred"]["value"]) for entry in answer]
            for answer in answers
        )
        assert one == three
        assert [image for image, _ in one] == paths

    def test_images_do_not_see_each_other(
        self,
        tmp_path: Path,
        picture: np.ndarray,
        remembering_definition: dict[str, Any],
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Each image is a run of its own: what the first one stores, the second does not find."""
        path = tmp_path / "w.json"
        path.write_text(json.dumps(remembering_definition), encoding="utf-8")
        pictures = [str(write_picture(tmp_path / f"{n}.png", picture)) for n in range(2)]
        assert main(["run", str(path), *pictures, "-p", "value=5", "--json"]) == 0
        entries = json.loads(capsys.readouterr().out)
        assert [entry["results"] for entry in entries] == [[{"before": False}]] * 2


class TestParameters:
    def test_values_are_json_or_text(
        self,
        many_outputs: Path,
        picture_file: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """A value that is JSON is read as JSON, anything else is text, also with `=` in it."""
        for text, value in (("7", 7), ('"7"', "7"), ("a=b", "a=b"), ("null", None), ("", "")):
            arguments = ["run", str(many_outputs), str(picture_file), "--json"]
            assert main([*arguments, "-p", f"note={text}"]) == 0
            assert json.loads(capsys.readouterr().out)[0]["results"][0]["note"] == value

    def test_a_refused_value_is_said_once(
        self,
        workflow_file: Path,
        picture_file: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """A parameter that no image could run with stops the command."""
        images = [str(picture_file)] * 3
        assert main(["run", str(workflow_file), *images, "-p", "kernel=wide"]) == 1
        printed = capsys.readouterr()
        assert printed.err.count("Parameter 'kernel' is text 'wide'") == 1
        assert printed.err.endswith("This concerns every image; stopped.\n")
        assert printed.out == "3 images: 0 done, 1 failed, 2 left out\n"

    def test_a_workflow_without_images(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A workflow that takes no image runs once; its files are called like the workflow."""
        definition = {
            "version": "1.0",
            "inputs": [{"type": "WorkflowParameter", "name": "x"}],
            "steps": [],
            "outputs": [{"type": "JsonField", "name": "x", "selector": "$inputs.x"}],
        }
        path = tmp_path / "plain.json"
        path.write_text(json.dumps(definition), encoding="utf-8")
        out = tmp_path / "out"
        long = "v" * 200
        assert main(["run", str(path), "-p", f"x={long}", "-o", str(out)]) == 0
        assert f'x: "{"v" * 96}...\n' in capsys.readouterr().out
        assert json.loads((out / "plain.json").read_text(encoding="utf-8")) == {"x": long}

    def test_a_second_image_as_parameter(
        self, tmp_path: Path, picture_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """With two image inputs, one gets the images and the other a path."""
        definition = {
            "version": "1.0",
            "inputs": [
                {"type": "WorkflowImage", "name": "left"},
                {"type": "WorkflowImage", "name": "right"},
            ],
            "steps": [],
            "outputs": [
                {"type": "JsonField", "name": "l", "selector": "$inputs.left"},
                {"type": "JsonField", "name": "r", "selector": "$inputs.right"},
            ],
        }
        path = tmp_path / "two.json"
        path.write_text(json.dumps(definition), encoding="utf-8")
        arguments = ["run", str(path), str(picture_file)]
        assert main(arguments) == 2
        assert "several image inputs (left, right)" in capsys.readouterr().err
        assert main([*arguments, "-p", f"right={picture_file}"]) == 0
        both = ["--input", "left", "-p", f"right={picture_file}"]
        assert main([*arguments, *both]) == 0
        out = capsys.readouterr().out
        assert out.count("l: image of 32x24 px") == 2
        batch = json.dumps([str(picture_file)] * 2)
        assert main([*arguments, "-p", f"right={batch}", "-o", str(tmp_path / "out")]) == 0
        rows = json.loads((tmp_path / "out" / "münzen 硬币.json").read_text(encoding="utf-8"))
        assert [row["r"]["value"] for row in rows] == [
            "münzen 硬币.0.r.png",
            "münzen 硬币.1.r.png",
        ]


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ([], "the workflow needs an image for 'image'; give --image FILE"),
            (["x.png", "-p", "kernel"], "--param takes NAME=VALUE, got 'kernel'"),
            (["x.png", "--image-format", "jpg"], "--image-format goes with --out FOLDER"),
            (
                ["x.png", "-p", "kernl=3"],
                "--param kernl: the workflow has no input 'kernl'; it has image, kernel "
                "(did you mean 'kernel'?)",
            ),
            (["x.png", "-p", "kernel=3", "-p", "kernel=5"], "--param kernel is given twice"),
            (
                ["x.png", "--input", "imge"],
                "--input imge: no such image input; the workflow has image",
            ),
            (["--input", "image"], "--input image: give the images with --image FILE"),
            (
                ["x.png", "-p", "image=y.png", "--input", "image"],
                "input 'image' is given by --param and by --input",
            ),
            (
                ["x.png", "-p", "image=y.png"],
                "images were given, but the workflow takes none (image inputs: image)",
            ),
        ],
    )
    def test_wrong_usage(
        self,
        workflow_file: Path,
        arguments: list[str],
        text: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """What cannot be meant is refused before anything runs, with exit code 2."""
        assert main(["run", str(workflow_file), *arguments]) == 2
        printed = capsys.readouterr()
        assert printed.err == f"weftlens run: {text}\n"
        assert printed.out == ""

    def test_a_folder_without_images(
        self, workflow_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """An empty folder is no set of images."""
        folder = tmp_path / "empty"
        folder.mkdir()
        assert main(["run", str(workflow_file), str(folder)]) == 2
        assert capsys.readouterr().err == f"weftlens run: the folder '{folder}' holds no images\n"

    def test_a_broken_workflow(
        self,
        tmp_path: Path,
        broken_definition: dict[str, Any],
        picture_file: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """A workflow with problems does not run; all of them are listed."""
        path = tmp_path / "w.json"
        path.write_text(json.dumps(broken_definition), encoding="utf-8")
        assert main(["run", str(path), str(picture_file)]) == 1
        assert capsys.readouterr().err.startswith("w.json: 3 problems\n")

    def test_a_missing_workflow(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A workflow file that is not there is named."""
        assert main(["run", str(tmp_path / "none.json"), "x.png"]) == 1
        assert "none.json' cannot be read" in capsys.readouterr().err

    def test_a_folder_that_cannot_be_made(
        self,
        workflow_file: Path,
        picture_file: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """An --out that is a file is refused by name."""
        arguments = ["run", str(workflow_file), str(picture_file), "-o", str(picture_file)]
        assert main(arguments) == 1
        assert capsys.readouterr().err == (
            f"the folder '{picture_file}' cannot be made: File exists\n"
        )

    def test_results_that_cannot_be_written(
        self,
        workflow_file: Path,
        picture_file: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """A file that cannot be written fails that image, by name."""
        out = tmp_path / "out"
        (out / "münzen 硬币.json").mkdir(parents=True)
        assert main(["run", str(workflow_file), str(picture_file), "-o", str(out)]) == 1
        assert "the results cannot be written" in capsys.readouterr().err

    def test_a_step_that_fails(
        self, tmp_path: Path, picture_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A step that raises is named with its block and the error, without a traceback."""
        definition = {
            "version": "1.0",
            "inputs": [{"type": "WorkflowImage", "name": "image"}],
            "steps": [
                {
                    "type": "roboflow_core/environment_secrets_store@v1",
                    "name": "keys",
                    "variables_storing_secrets": ["HOME"],
                },
            ],
            "outputs": [{"type": "JsonField", "name": "o", "selector": "$steps.keys.home"}],
        }
        path = tmp_path / "w.json"
        path.write_text(json.dumps(definition), encoding="utf-8")
        assert main(["run", str(path), str(picture_file)]) == 1
        printed = capsys.readouterr()
        assert printed.err.startswith(f"{picture_file}: ")
        assert "keys" in printed.err
        assert "Traceback" not in printed.err
