"""Routes that describe blocks and check definitions, against the engine and its generated files."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from blocks.index import block_schema, block_specs
from execution_engine.versions import ENGINE_VERSION
from workflows.definition_schema import schema_of_registry


@pytest.fixture
def described(client: TestClient) -> dict[str, Any]:
    """The description of all blocks."""
    answer: dict[str, Any] = client.get("/workflows/blocks/describe").json()
    return answer


class TestDescribeBlocks:
    def test_has_every_block_with_its_schema(self, described: dict[str, Any]) -> None:
        """One entry a block of the index and of plug-ins; schemas are the generated ones."""
        by_id = {block["manifest_type_identifier"]: block for block in described["blocks"]}
        assert set(by_id) == {*block_specs(), "test/hold@v1", "test/fail@v1"}
        blur = by_id["roboflow_core/image_blur@v1"]
        assert blur["block_schema"] == block_schema("roboflow_core/image_blur@v1")
        assert blur["manifest_type_identifier_aliases"] == []
        crop = by_id["roboflow_core/absolute_static_crop@v1"]
        assert crop["manifest_type_identifier_aliases"] == ["AbsoluteStaticCrop"]
        assert blur["human_friendly_block_name"] == "Image Blur"
        assert blur["outputs_manifest"][0]["name"] == "image"
        assert blur["outputs_manifest"][0]["kind"][0]["name"] == "image"
        assert blur["block_source"] == "workflows_core"
        assert by_id["test/hold@v1"]["block_source"] == "test"

    def test_names_every_member(self, described: dict[str, Any]) -> None:
        """Editors find all members they read."""
        assert set(described) == {
            "blocks",
            "declared_kinds",
            "kinds_connections",
            "primitives_connections",
            "universal_query_language_description",
            "dynamic_block_definition_schema",
        }
        assert set(described["blocks"][0]) == {
            "block_schema",
            "outputs_manifest",
            "block_source",
            "fully_qualified_block_class_name",
            "human_friendly_block_name",
            "manifest_type_identifier",
            "manifest_type_identifier_aliases",
            "execution_engine_compatibility",
            "restrictions",
            "input_dimensionality_offsets",
            "dimensionality_reference_property",
            "output_dimensionality_offset",
        }
        assert "image" in {kind["name"] for kind in described["declared_kinds"]}

    def test_connects_kinds_with_fields(self, described: dict[str, Any]) -> None:
        """A field stands under every kind it takes."""
        connection = {
            "manifest_type_identifier": "roboflow_core/image_blur@v1",
            "property_name": "image",
            "property_description": "The image to work on, colour (BGR) or single-channel.",
            "compatible_element": "any_data",
            "is_list_element": False,
            "is_dict_element": False,
        }
        assert connection in described["kinds_connections"]["image"]
        assert connection not in described["kinds_connections"]["string"]

    def test_gives_the_type_of_plain_values(self, described: dict[str, Any]) -> None:
        """A field that takes a literal says of which type."""
        found = {
            (entry["manifest_type_identifier"], entry["property_name"]): entry["type_annotation"]
            for entry in described["primitives_connections"]
        }
        assert found["roboflow_core/image_blur@v1", "kernel_size"] == "int"
        assert (
            found["roboflow_core/image_blur@v1", "blur_type"]
            == "Literal['average', 'gaussian', 'median', 'bilateral']"
        )
        assert ("roboflow_core/image_blur@v1", "image") not in found

    def test_packs_when_the_client_can_unpack(self, client: TestClient) -> None:
        """gzip only for those who ask; the content is the same."""
        request = client.build_request(
            "GET", "/workflows/blocks/describe", headers={"Accept-Encoding": "identity"}
        )
        plain = client.send(request)
        assert "content-encoding" not in plain.headers
        packed = client.get("/workflows/blocks/describe", headers={"Accept-Encoding": "gzip"})
        assert packed.headers["Content-Encoding"] == "gzip"
        assert int(packed.headers["Content-Length"]) < len(plain.content) / 5
        assert packed.json() == plain.json()
        assert gzip.compress(plain.content)  # the client unpacked by itself

    def test_takes_a_version(self, client: TestClient) -> None:
        """Blocks that do not work with a version are left out; nonsense is refused."""
        body = {"execution_engine_version": "1.0.0"}
        old = client.post("/workflows/blocks/describe", json=body).json()["blocks"]
        new = client.post("/workflows/blocks/describe").json()["blocks"]
        assert len(old) < len(new)
        wrong = client.post(
            "/workflows/blocks/describe", json={"execution_engine_version": "newest"}
        )
        assert wrong.status_code == 400
        assert wrong.json()["error_type"] == "WorkflowExecutionEngineVersionError"

    def test_has_no_custom_blocks(self, client: TestClient) -> None:
        """What is not built says so."""
        body = {"dynamic_blocks_definitions": [{"type": "DynamicBlockDefinition"}]}
        assert client.post("/workflows/blocks/describe", json=body).status_code == 501

    def test_leaves_out_blocks_that_need_the_internet(self, client: TestClient) -> None:
        """Every block of this package works offline."""
        offline = client.get("/workflows/blocks/describe?air_gapped=true").json()["blocks"]
        assert len(offline) == len(block_specs()) + 2


class TestDefinitionSchema:
    def test_is_that_of_the_library(self, client: TestClient) -> None:
        """The route gives what `weftlens schema` writes, for the blocks of this server."""
        registry = client.app.state.host.session.registry  # type: ignore[attr-defined]
        answer = client.get("/workflows/definition/schema").json()
        assert answer == {"schema": json.loads(json.dumps(schema_of_registry(registry)))}


class TestVersions:
    def test_lists_the_engine(self, client: TestClient) -> None:
        """One version is served."""
        answer = client.get("/workflows/execution_engine/versions")
        assert answer.json() == {"versions": [ENGINE_VERSION]}


class TestDynamicOutputs:
    def test_lists_outputs_of_a_step(self, client: TestClient) -> None:
        """Outputs that depend on the fields of the step are there by name."""
        step = {
            "type": "roboflow_core/expression@v1",
            "name": "e",
            "data": {},
            "switch": {"type": "CasesDefinition", "cases": [], "default": {
                "type": "StaticCaseResult", "value": 1}},
        }  # fmt: skip
        answer = client.post("/workflows/blocks/dynamic_outputs", json=step)
        assert answer.status_code == 200, answer.text
        assert [output["name"] for output in answer.json()] == ["output"]
        assert answer.json()[0]["kind"][0]["name"] == "*"

    def test_says_what_is_wrong(self, client: TestClient) -> None:
        """An unknown type has its nearest names; a wrong field is named."""
        unknown = client.post(
            "/workflows/blocks/dynamic_outputs",
            json={"type": "roboflow_core/image_blurr@v1", "name": "b"},
        )
        assert unknown.status_code == 400
        assert "roboflow_core/image_blur@v1" in unknown.json()["errors"][0]["hint"]
        wrong = client.post(
            "/workflows/blocks/dynamic_outputs",
            json={"type": "roboflow_core/image_blur@v1", "name": "b", "image": 3},
        )
        assert wrong.status_code == 400
        assert "image" in wrong.json()["message"]


class TestValidate:
    def test_accepts_what_compiles(self, client: TestClient, coins: Any) -> None:
        """The body is the definition itself; a key may stand in the query."""
        answer = client.post("/workflows/validate?api_key=k", json=coins)
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})

    def test_lists_every_problem(
        self, client: TestClient, broken_definition: dict[str, Any]
    ) -> None:
        """All faults at once, each with its step."""
        answer = client.post("/workflows/validate", json=broken_definition)
        assert answer.status_code == 400
        body = answer.json()
        assert body["error_type"] == "WorkflowSyntaxError"
        assert {entry["block_id"] for entry in body["blocks_errors"]} >= {"rust", "ask", "gray"}
        assert len(body["errors"]) >= 3

    @pytest.mark.parametrize("content", [b"[]", b"7", b"", b"null", b'"text"'])
    def test_takes_an_object(self, client: TestClient, content: bytes) -> None:
        """Anything else is refused."""
        assert client.post("/workflows/validate", content=content).status_code == 400


class TestDescribeInterface:
    def test_names_inputs_and_outputs(self, client: TestClient, coins: Any) -> None:
        """Kinds by name, with a word on their JSON form."""
        answer = client.post("/workflows/describe_interface", json={"specification": coins})
        body = answer.json()
        assert body["inputs"] == {"image": ["image"]}
        assert body["outputs"] == {"n": ["integer"], "im": ["image"]}
        assert body["typing_hints"]["integer"] == "integer"
        assert body["kinds_schemas"]["image"] == {"type": "object"}

    def test_reports_problems(self, client: TestClient, broken_definition: Any) -> None:
        """A definition that does not compile has no interface."""
        body = {"specification": broken_definition}
        assert client.post("/workflows/describe_interface", json=body).status_code == 400


class TestDescribeWorkload:
    @pytest.mark.filterwarnings("error")
    def test_defaults_of_other_types(self, client: TestClient) -> None:
        """A default such as the 0 of a float makes no noise in the log."""
        statement = {
            "type": "UnaryStatement",
            "operand": {"type": "DynamicOperand", "operand_name": "x"},
            "operator": {"type": "Exists"},
        }
        step = {
            "type": "roboflow_core/continue_if@v1",
            "name": "gate",
            "condition_statement": {"type": "StatementGroup", "statements": [statement]},
            "evaluation_parameters": {"x": "$inputs.image"},
            "next_steps": [],
        }
        image = {"type": "WorkflowImage", "name": "image"}
        definition = {"version": "1.0", "inputs": [image], "steps": [step], "outputs": []}
        answer = client.post("/workflows/describe_workload", json={"specification": definition})
        assert answer.status_code == 200, answer.text

    def test_describes_steps_edges_and_models(self, client: TestClient) -> None:
        """Depths, models that are named, and models that are known only at run time."""
        definition = {
            "version": "1.0",
            "inputs": [
                {"type": "WorkflowImage", "name": "image"},
                {"type": "WorkflowParameter", "name": "model", "kind": ["roboflow_model_id"]},
            ],
            "steps": [
                {
                    "type": "roboflow_core/roboflow_instance_segmentation_model@v3",
                    "name": "one",
                    "images": "$inputs.image",
                    "model_id": "parts-seg/1",
                },
                {
                    "type": "roboflow_core/dynamic_crop@v1",
                    "name": "crop",
                    "images": "$inputs.image",
                    "predictions": "$steps.one.predictions",
                },
                {
                    "type": "roboflow_core/roboflow_instance_segmentation_model@v3",
                    "name": "two",
                    "images": "$steps.crop.crops",
                    "model_id": "$inputs.model",
                },
            ],
            "outputs": [{"type": "JsonField", "name": "p", "selector": "$steps.two.predictions"}],
        }
        answer = client.post("/workflows/describe_workload", json={"specification": definition})
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert body["summary"]["steps_by_dimensionality"] == {"1": ["one", "crop"], "2": ["two"]}
        assert body["summary"]["max_dimensionality"] == 2
        models = body["summary"]["models"]
        assert models["items"] == [{"type": "model", "model_id": "parts-seg/1"}]
        assert models["complete"] is False
        assert "$inputs.model" in models["unknown_reasons"][0]
        assert {"source": "$steps.crop", "target": "$steps.two"} in body["edges"]
        assert {"source": "$inputs.model", "target": "$steps.two"} in body["edges"]
        assert {"source": "$steps.two", "target": "$outputs.p"} in body["edges"]
        assert body["steps"]["crop"]["output_dimensionality"] == 2


class TestOpenApi:
    def test_documents_bodies_and_errors(self, client: TestClient) -> None:
        """The document has the schema of each body and the form of errors."""
        document = client.get("/openapi.json").json()
        operation = document["paths"]["/workflows/run"]["post"]
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert "specification" in schema["required"]
        assert "429" in operation["responses"]
