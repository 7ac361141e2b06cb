"""`environment_secrets_store@v1`."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from blocks.secrets.environment_secrets_store.v1 import (
    EnvironmentSecretsStoreBlockV1,
    EnvironmentSecretsStoreManifest,
)

TYPE = "roboflow_core/environment_secrets_store@v1"


class TestRun:
    def test_variables_become_outputs_in_lower_case(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each variable is an output named like it in lower case."""
        monkeypatch.setenv("WL_SECRET_A", "one")
        monkeypatch.setenv("WL_SECRET_B", "")
        block = EnvironmentSecretsStoreBlockV1(allow_access_to_environmental_variables=True)
        assert block.run(["WL_SECRET_A", "WL_SECRET_B"]) == {
            "wl_secret_a": "one",
            "wl_secret_b": "",
        }

    def test_refused_unless_the_host_allows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without leave of the host nothing is read, and the text says what to do and no secret."""
        monkeypatch.setenv("WL_SECRET_A", "the-value")
        block = EnvironmentSecretsStoreBlockV1(allow_access_to_environmental_variables=False)
        with pytest.raises(
            PermissionError, match="allow_access_to_environmental_variables"
        ) as caught:
            block.run(["WL_SECRET_A"])
        assert "the-value" not in str(caught.value)

    def test_missing_variables_are_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Variables that are not set are named, those that are stay out of the message."""
        monkeypatch.setenv("WL_SECRET_A", "the-value")
        block = EnvironmentSecretsStoreBlockV1(allow_access_to_environmental_variables=True)
        with pytest.raises(ValueError, match=r"not set on this host: WL_NOT_SET$"):
            block.run(["WL_SECRET_A", "WL_NOT_SET"])


class TestManifest:
    def test_outputs_follow_the_variables(self) -> None:
        """The outputs of a step are its variables, marked as secrets."""
        manifest = EnvironmentSecretsStoreManifest(
            type=TYPE, name="s", variables_storing_secrets=["A_KEY", "b"]
        )
        outputs = manifest.get_actual_outputs()
        assert [(o.name, o.kind_names) for o in outputs] == [
            ("a_key", ("secret",)),
            ("b", ("secret",)),
        ]

    @pytest.mark.parametrize(
        ("variables", "message"),
        [
            ([], "at least 1 item"),
            (["A", "a"], "A and a would both become the output a"),
            (["A", "A"], "A and A would both become the output a"),
            ([""], "must not be empty"),
        ],
    )
    def test_ambiguous_outputs_are_refused(self, variables: list[str], message: str) -> None:
        """Variables must give distinct outputs."""
        with pytest.raises(ValidationError, match=message):
            EnvironmentSecretsStoreManifest(
                type=TYPE, name="s", variables_storing_secrets=variables
            )
