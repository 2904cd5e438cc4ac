"""The reference of the HTTP interface, from the OpenAPI document of the service."""

import json
import tempfile
from pathlib import Path
from typing import Any

from rankloop import Index
from rankloop.serve import create_app

__all__ = ["document", "page"]


def document() -> dict[str, Any]:
    """What a running service gives at `/openapi.json`."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "shop.index"
        Index.create(where, fields={"title": "text"})
        app = create_app(where)
        try:
            return app.openapi()
        finally:
            app.state.service.close()


def page(api: dict[str, Any]) -> str:
    """The Markdown of all operations by tag, then of the schemas that they use."""
    tags: dict[str, list[str]] = {}
    for path, methods in api["paths"].items():
        for method, found in methods.items():
            tags.setdefault(found.get("tags", ["other"])[0], []).append(_operation(method, path, found))
    schemas = api["components"]["schemas"]
    return "\n\n".join(
        [
            "# HTTP",
            f"{api['info']['description']} A running service gives this document at `/openapi.json`.",
            *(text for tag, found in tags.items() for text in (f"## {tag.capitalize()}", *found)),
            "## Schemas",
            *(_schema(name, schema) for name, schema in sorted(schemas.items())),
        ]
    )


def _operation(method: str, path: str, found: dict[str, Any]) -> str:
    parts = [f"### `{method.upper()} {path}` {{#{found['operationId']}}}", found.get("description", "")]
    if found.get("parameters"):
        rows = [
            (f"`{one['name']}`", one["in"], _kind(one["schema"]), "yes" if one.get("required") else "no",
             one.get("description") or one["schema"].get("description", ""))
            for one in found["parameters"]
        ]  # fmt: skip
        parts.append(_table(("parameter", "in", "type", "required", "meaning"), rows))
    for media, content in found.get("requestBody", {}).get("content", {}).items():
        parts.append(f"Body (`{media}`): {_kind(content['schema'])}")
    rows = [
        (code, _answer(answer), answer.get("description", ""))
        for code, answer in sorted(found["responses"].items())
    ]
    return "\n\n".join([*parts, _table(("answer", "type", "meaning"), rows)])


def _answer(answer: dict[str, Any]) -> str:
    return ", ".join(_kind(content.get("schema", {})) for content in answer.get("content", {}).values())


def _schema(name: str, schema: dict[str, Any]) -> str:
    needed = schema.get("required", [])
    rows = [
        (f"`{key}`", _kind(one), "yes" if key in needed else "no", _default(one), one.get("description", ""))
        for key, one in schema.get("properties", {}).items()
    ]
    parts = [f"### {name} {{#schema-{name}}}", schema.get("description", "")]
    if rows:
        parts.append(_table(("field", "type", "required", "default", "meaning"), rows))
    else:
        parts.append(_kind(schema))
    return "\n\n".join(parts)


def _default(one: dict[str, Any]) -> str:
    return f"`{json.dumps(one['default'])}`" if "default" in one else ""


def _kind(one: dict[str, Any]) -> str:
    """A schema in a few words; names of schemas are links."""
    if "$ref" in one:
        name = one["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#schema-{name})"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in one:
            return " or ".join(dict.fromkeys(_kind(other) for other in one[key]))
    if "enum" in one or "const" in one:
        return " or ".join(f"`{json.dumps(value)}`" for value in one.get("enum", [one.get("const")]))
    if one.get("type") == "array":
        return f"array of {_kind(one.get('items', {}))}"
    if one.get("type") == "object" and isinstance(one.get("additionalProperties"), dict):
        return f"object of {_kind(one['additionalProperties'])}"
    return str(one.get("type", "any"))


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(text) for text in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
