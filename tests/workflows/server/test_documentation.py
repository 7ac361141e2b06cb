"""docs/serving.md says what the code says."""

from __future__ import annotations

import re
from pathlib import Path

from fastapi.testclient import TestClient

from workflows.server.settings import ServerSettings

PAGE = (Path(__file__).parents[3] / "docs" / "serving.md").read_text(encoding="utf-8")


class TestServingPage:
    def test_lists_every_setting(self) -> None:
        """Name and description of each setting are in the table, and no other."""
        rows = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| (.+) \|$", PAGE, re.MULTILINE))
        assert rows == {
            name: field.description for name, field in ServerSettings.model_fields.items()
        }

    def test_says_what_is_inert(self, client: TestClient) -> None:
        """A member that is taken without effect says so, on the page and in the schema."""
        assert "`debug` is known\nand without effect" in PAGE
        paths = client.get("/openapi.json").json()["paths"]
        for path in ("/workflows/run", "/{workspace}/workflows/{workflow_id}"):
            content = paths[path]["post"]["requestBody"]["content"]
            debug = content["application/json"]["schema"]["properties"]["debug"]
            assert "without effect" in debug["description"]

    def test_lists_every_metric(self, client: TestClient) -> None:
        """Each family of metrics is named, also those of a model in memory."""
        client.post("/model/add", json={"model_id": "parts-seg/1"})
        families = re.findall(r"^# TYPE (\w+) ", client.get("/metrics").text, re.MULTILINE)
        for family in families:
            assert family.endswith("_created") or f"`{family}`" in PAGE
