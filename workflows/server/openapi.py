"""What routes add to the OpenAPI document by hand: their bodies are read without the framework, so
it does not know them.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_ERROR_STATUSES = {
    "400": "The request, the definition or its inputs are wrong.",
    "401": "There is no valid API key.",
    "403": "The API key does not permit this.",
    "404": "There is no such workflow or model.",
    "413": "The body is too large.",
    "429": "The queue is full; `Retry-After` says when to try again.",
    "500": "A step or the server failed.",
    "503": "The server is being stopped.",
    "504": "The request did not finish within its deadline.",
}
_ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["message", "error_type", "context", "request_id"],
    "properties": {
        "message": {"type": "string"},
        "error_type": {"type": "string"},
        "context": {"type": "string"},
        "inner_error_type": {"type": "string"},
        "inner_error_message": {"type": "string"},
        "blocks_errors": {"type": "array", "items": {"type": "object"}},
        "errors": {"type": "array", "items": {"type": "object"}},
        "request_id": {"type": "string"},
    },
}


def takes(model: type[BaseModel]) -> dict[str, Any]:
    """The part of an operation that documents a JSON body and the errors."""
    return {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": inlined(model.model_json_schema())}},
        },
        **errors(),
    }


def errors() -> dict[str, Any]:
    """The part of an operation that documents the errors every route may answer with."""
    content = {"application/json": {"schema": _ERROR_SCHEMA}}
    return {
        "responses": {
            status: {"description": text, "content": content}
            for status, text in _ERROR_STATUSES.items()
        }
    }


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without a table of definitions of its own.

    Raises:
        ValueError: it has one, which a document with many schemas has no place for.
    """
    if "$defs" in schema:
        raise ValueError(f"the schema of {schema.get('title')} refers to definitions of its own")
    return schema
