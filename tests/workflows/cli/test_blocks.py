"""`weftlens blocks`: list, show, search."""

from __future__ import annotations

import json

import pytest

from workflows.cli.main import main


class TestList:
    def test_groups(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Blocks stand under the name of their group; `blocks` alone lists them, too."""
        monkeypatch.setenv("COLUMNS", "140")
        assert main(["blocks", "list"]) == 0
        listed = capsys.readouterr().out
        assert "classical computer vision\n" in listed
        assert "  roboflow_core/image_blur@v1" in listed
        assert "google_gemini" not in listed
        assert main(["blocks"]) == 0
        assert capsys.readouterr().out == listed

    def test_one_line_a_block(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Piped or on a narrow terminal each block is one line; a wide terminal has a table."""
        monkeypatch.setenv("COLUMNS", "60")
        line = "  roboflow_core/camera_focus@v2  Measures how sharp an image and its objects are.\n"
        for terminal in (False, True):
            monkeypatch.setattr("sys.stdout.isatty", lambda shown=terminal: shown)
            assert main(["blocks", "list"]) == 0
            assert line in capsys.readouterr().out
        monkeypatch.setenv("COLUMNS", "120")
        assert main(["blocks", "list"]) == 0
        assert line not in capsys.readouterr().out

    def test_all(self, capsys: pytest.CaptureFixture[str]) -> None:
        """With --all, blocks known by name are listed apart."""
        assert main(["blocks", "list", "--all"]) == 0
        _, unbuilt = capsys.readouterr().out.split("Known by name, not in this build\n")
        assert "roboflow_core/google_gemini@v1" in unbuilt
        assert "image_blur" not in unbuilt

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        """As JSON each block is an object; those that are not built say so."""
        assert main(["blocks", "list", "--all", "--json"]) == 0
        blocks = {entry["type"]: entry for entry in json.loads(capsys.readouterr().out)}
        assert blocks["roboflow_core/image_blur@v1"]["built"] is True
        assert blocks["roboflow_core/image_blur@v1"]["group"] == "classical_computer_vision"
        assert blocks["roboflow_core/google_gemini@v1"]["built"] is False


class TestShow:
    def test_fields_and_outputs(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Every field with what it takes, whether it is needed, its other names and its text."""
        assert main(["blocks", "show", "roboflow_core/image_blur@v1"]) == 0
        text = capsys.readouterr().out
        assert text.startswith("Image Blur  roboflow_core/image_blur@v1\n")
        assert "  image: reference to image, required\n      also called images\n" in text
        assert "  kernel_size: reference to integer or value, default 5\n" in text
        assert text.endswith("Outputs\n  image: image\n")

    def test_an_alias_and_a_control_block(self, capsys: pytest.CaptureFixture[str]) -> None:
        """An older id shows the same block; steps to run and missing outputs are explained."""
        assert main(["blocks", "show", "SwitchCase"]) == 0
        text = capsys.readouterr().out
        assert "also called SwitchCase\n" in text
        assert "  cases: steps to run" in text
        assert text.endswith("Outputs\n  none; it decides which steps run\n")

    def test_outputs_that_depend_on_the_step(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Outputs that the fields of a step decide on are said to come."""
        assert main(["blocks", "show", "roboflow_core/environment_secrets_store@v1"]) == 0
        text = capsys.readouterr().out
        assert "  variables_storing_secrets: value only, required\n" in text
        assert text.endswith("Outputs\n  more, as the fields of the step say\n")

    def test_choices_limits_and_other_versions(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A name without prefix and version shows the newest version and names the others; choices
        and limits of a value stand under its field.
        """
        assert main(["blocks", "show", "Camera-Focus"]) == 0
        text = capsys.readouterr().out
        assert text.startswith(
            "Camera Focus  roboflow_core/camera_focus@v2\n"
            "other versions: roboflow_core/camera_focus@v1\n"
        )
        assert "\n      one of None, 2x2, 3x3, 4x4, 5x5\n" in text
        assert "\n      from 0.0 to 100.0\n" in text

    @pytest.mark.parametrize("name", ["roboflow_core/image_blur", "Image Blur", "image_blur"])
    def test_short_names(self, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Id without version, title and id without prefix all name a block."""
        assert main(["blocks", "show", name]) == 0
        assert capsys.readouterr().out.startswith("Image Blur  roboflow_core/image_blur@v1\n")

    def test_short_name_of_several(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A name that several blocks have in theirs lists them."""
        assert main(["blocks", "show", "blur"]) == 1
        assert capsys.readouterr().err == (
            "several blocks are named like 'blur': roboflow_core/blur_visualization@v1, "
            "roboflow_core/image_blur@v1\n"
        )

    def test_query_language(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Fields of the query language name its operations, or its comparators and operators."""
        assert main(["blocks", "show", "detections_filter"]) == 0
        assert "\n      operations: ClassificationPropertyExtract, " in capsys.readouterr().out
        assert main(["blocks", "show", "continue_if"]) == 0
        text = capsys.readouterr().out
        assert "\n      comparators: !=, (Detection) in zone, " in text
        assert "\n      operators: (Boolean) is False, " in text

    def test_step_to_paste(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The step that is shown has the required fields."""
        assert main(["blocks", "show", "dynamic_crop"]) == 0
        text = capsys.readouterr().out
        step = json.loads(text.partition("\nStep\n")[2].partition("\nOutputs\n")[0])
        assert step == {
            "type": "roboflow_core/dynamic_crop@v1",
            "name": "dynamic_crop",
            "images": "$inputs.image",
            "predictions": "$steps.model.predictions",
        }

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        """As JSON the schema of the step is given."""
        assert main(["blocks", "show", "roboflow_core/image_blur@v1", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["title"] == "ImageBlurManifest"

    @pytest.mark.parametrize(
        ("type_id", "text"),
        [
            (
                "roboflow_core/image_blurr@v1",
                "there is no block 'roboflow_core/image_blurr@v1'; nearest: "
                "roboflow_core/image_blur@v1",
            ),
            ("Zzzz", "there is no block 'Zzzz'\n"),
            (
                "roboflow_core/google_gemini@v1",
                "roboflow_core/google_gemini@v1 (Google Gemini) is known, but not in this build\n",
            ),
        ],
    )
    def test_what_is_not_there(
        self, type_id: str, text: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """An unknown block names the nearest ones, a known one says that it is not built."""
        assert main(["blocks", "show", type_id]) == 1
        assert capsys.readouterr().err.startswith(text)


class TestSearch:
    @pytest.mark.parametrize("word", ["smooth", "IMAGE BLUR", "gaussian", "blur smooth image"])
    def test_by_keyword_and_title(self, word: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Keywords of the schema count; neither upper case nor the order of words matters."""
        assert main(["blocks", "search", word]) == 0
        assert "roboflow_core/image_blur@v1" in capsys.readouterr().out

    def test_all_words_are_needed(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Words may come as one argument or as several; a block must have them all."""
        assert main(["blocks", "search", "image", "smooths"]) == 0
        found = capsys.readouterr().out
        assert found == (
            "classical computer vision\n  roboflow_core/image_blur@v1  Smooths an image.\n"
        )
        assert main(["blocks", "search", "image", "zzzz"]) == 1

    def test_what_is_not_built(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Blocks known by name are found and shown apart."""
        assert main(["blocks", "search", "google_gemini"]) == 0
        assert "Known by name, not in this build\n" in capsys.readouterr().out

    def test_nothing_found(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A word that no block has gives exit code 1 and the nearest ids, if any."""
        assert main(["blocks", "search", "image blurr"]) == 1
        assert "; nearest: roboflow_core/image_blur@v1" in capsys.readouterr().err
        assert main(["blocks", "search", "zzzz"]) == 1
        assert capsys.readouterr().err == (
            "no block has 'zzzz' in its id, name, description or keywords\n"
        )
