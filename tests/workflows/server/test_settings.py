"""Settings of the server and what they make of those of its session."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from execution_engine.errors import WorkflowEnvironmentConfigurationError
from workflows.server.settings import ServerSettings, read_server_settings
from workflows.settings import unknown_variables


class TestReadServerSettings:
    def test_takes_variables_and_names(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A value given by name wins over the environment."""
        monkeypatch.setenv("WEFTLENS_SERVER_PORT", "9100")
        monkeypatch.setenv("WEFTLENS_SERVER_MAX_QUEUE", "7")
        monkeypatch.setenv("WEFTLENS_SERVER_MODELS", '["/a", "/b"]')
        settings = read_server_settings(port=9200)
        assert (settings.port, settings.max_queue) == (9200, 7)
        assert settings.models == (Path("/a"), Path("/b"))

    @pytest.mark.parametrize(
        ("name", "value", "words"),
        [
            ("PORT", "70000", "port is '70000'"),
            ("MAX_QUEUE", "none", "max_queue is 'none'"),
            ("MODELS", "/a:/b", "models"),
        ],
    )
    def test_says_what_is_wrong(
        self, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
    ) -> None:
        """A bad value is named with its setting."""
        monkeypatch.setenv(f"WEFTLENS_SERVER_{name}", value)
        with pytest.raises(WorkflowEnvironmentConfigurationError, match=words):
            read_server_settings()

    def test_knows_no_other_names(self) -> None:
        """A misspelt setting is refused."""
        with pytest.raises(ValidationError):
            ServerSettings(max_que=3)  # type: ignore[call-arg]


class TestSessionSettings:
    def test_trusts_no_client(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Paths are neither images nor models, even where the environment allows them."""
        monkeypatch.setenv("WEFTLENS_ALLOW_LOCAL_IMAGES", "true")
        monkeypatch.setenv("WEFTLENS_ALLOW_MODEL_PATHS", "true")
        monkeypatch.setenv("WEFTLENS_ALLOW_IMAGE_URLS", "true")
        made = ServerSettings().session_settings()
        assert not made.allow_local_images
        assert not made.allow_model_paths
        assert not made.allow_image_urls

    def test_passes_its_own_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Folders of models come before those of the environment; limits and batching follow."""
        monkeypatch.setenv("WEFTLENS_MODEL_DIRECTORIES", '["/env"]')
        settings = ServerSettings(
            models=(Path("/mine"),),
            max_image_pixels=1000,
            dynamic_batching=True,
            dynamic_batch_size=5,
            dynamic_batch_delay_ms=3,
        )
        made = settings.session_settings()
        assert made.model_directories == (Path("/mine"), Path("/env"))
        assert made.max_image_pixels == 1000
        assert (made.model_max_batch, made.model_max_delay_ms) == (5, 3)
        off = ServerSettings(dynamic_batching=False).session_settings()
        assert off.model_max_batch == 1


class TestUnknownVariables:
    def test_leaves_the_server_its_own(self) -> None:
        """Variables of the server are not reported as misspelt."""
        found = unknown_variables({"WEFTLENS_SERVER_PORT": "1", "WEFTLENS_DEVISE": "cpu"})
        assert found == ["WEFTLENS_DEVISE"]
