"""Settings: defaults, environment, faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from execution_engine.errors import WorkflowEnvironmentConfigurationError
from workflows.settings import WeftlensSettings, read_settings, unknown_variables


class TestWeftlensSettings:
    def test_what_a_definition_could_use_is_off(self) -> None:
        """Only local images, which the caller names himself, are permitted by default."""
        settings = WeftlensSettings()
        assert settings.allow_local_images
        assert not settings.allow_image_urls
        assert not settings.allow_access_to_file_system
        assert not settings.allow_access_to_environmental_variables
        assert not settings.allow_custom_python
        assert settings.allowed_write_directory is None

    def test_names_win_over_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Values given by name win over variables, and variables over defaults."""
        monkeypatch.setenv("WEFTLENS_PLAN_CACHE_SIZE", "7")
        monkeypatch.setenv("WEFTLENS_ALLOWED_WRITE_DIRECTORY", "/tmp/x")
        settings = WeftlensSettings(plan_cache_size=9)
        assert settings.plan_cache_size == 9
        assert settings.allowed_write_directory == Path("/tmp/x")

    @pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "CPU", ""])
    def test_devices(self, device: str) -> None:
        """A device that is none is refused when the settings are made, not at the first model."""
        with pytest.raises(ValidationError, match="device"):
            WeftlensSettings(device=device)

    def test_frozen_and_closed(self) -> None:
        """A setting cannot be changed afterwards, and a misspelt one is refused."""
        settings = WeftlensSettings()
        with pytest.raises(ValidationError, match="frozen"):
            settings.allow_image_urls = True
        with pytest.raises(ValidationError, match="allow_urls"):
            WeftlensSettings(allow_urls=True)  # type: ignore[call-arg]


class TestReadSettings:
    def test_reads_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Variables with the prefix are read each time, never before."""
        assert not read_settings().allow_image_urls
        monkeypatch.setenv("WEFTLENS_ALLOW_IMAGE_URLS", "1")
        monkeypatch.setenv("WEFTLENS_MODEL_DIRECTORIES", '["/models", "more"]')
        settings = read_settings()
        assert settings.allow_image_urls
        assert settings.model_directories == (Path("/models"), Path("more"))

    def test_a_wrong_value_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The variable, its value and what is wrong with it are in the text."""
        monkeypatch.setenv("WEFTLENS_PLAN_CACHE_SIZE", "none")
        with pytest.raises(WorkflowEnvironmentConfigurationError) as caught:
            read_settings()
        assert str(caught.value) == (
            "The environment has settings that cannot be used: WEFTLENS_PLAN_CACHE_SIZE is 'none': "
            "input should be a valid integer, unable to parse string as an integer."
        )

    def test_an_unreadable_list_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A list that is no JSON is refused by the name of its field."""
        monkeypatch.setenv("WEFTLENS_MODEL_DIRECTORIES", "/models")
        with pytest.raises(WorkflowEnvironmentConfigurationError, match="model_directories"):
            read_settings()


class TestUnknownVariables:
    def test_only_ours_that_are_no_setting(self) -> None:
        """Misspelt variables with our prefix are found, others left alone."""
        environment = {"WEFTLENS_ALLOW_URLS": "1", "WEFTLENS_DEVICE": "cpu", "HOME": "/root"}
        assert unknown_variables(environment) == ["WEFTLENS_ALLOW_URLS"]

    def test_the_environment_of_the_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without an argument the process's variables are looked at."""
        monkeypatch.setenv("WEFTLENS_NOTHING", "1")
        assert "WEFTLENS_NOTHING" in unknown_variables()
