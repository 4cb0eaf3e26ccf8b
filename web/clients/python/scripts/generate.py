"""Writes the types of the API, `src/referral_tracker/api.py`, from `docs/openapi.json`; with `--check`, only compares.

They are those of the tracking calls and of the webhooks.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent.parent
DESCRIPTION = PACKAGE.parent.parent.parent / "docs/openapi.json"
TYPES = PACKAGE / "src/referral_tracker/api.py"
TRACKING = "/api/v1/track/"
PREFIX = "#/components/schemas/"
HEAD = '"""The types of the API, as docs/openapi.json has them. Written by scripts/generate.py."""'


def referenced(part: Any) -> Iterator[str]:
    """The names of the schemas below this part of the description."""
    if isinstance(part, dict):
        reference = part.get("$ref")
        if isinstance(reference, str) and reference.startswith(PREFIX):
            yield reference.removeprefix(PREFIX)
        for value in part.values():
            yield from referenced(value)
    elif isinstance(part, list):
        for value in part:
            yield from referenced(value)


def part_of(api: dict[str, Any]) -> dict[str, Any]:
    """The schemas of the tracking calls, and those of the webhooks under names of their own."""
    events = {
        "".join(word.capitalize() for word in name.replace("_", ".").split(".")) + "Event": webhook["post"]["requestBody"][
            "content"
        ]["application/json"]["schema"]
        for name, webhook in api["webhooks"].items()
    }
    union = {"oneOf": [{"$ref": PREFIX + name} for name in events]}
    schemas: dict[str, Any] = {**events, "WebhookEvent": union}
    tracking = {path: item for path, item in api["paths"].items() if path.startswith(TRACKING)}
    wanted = [*referenced(tracking), *referenced(events)]
    while wanted:
        name = wanted.pop()
        if name not in schemas:
            schemas[name] = api["components"]["schemas"][name]
            wanted += referenced(schemas[name])
    return {
        "openapi": api["openapi"],
        "info": api["info"],
        "paths": {},
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


def generate(target: Path) -> None:
    api = json.loads(DESCRIPTION.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "openapi.json"
        source.write_text(json.dumps(part_of(api)), encoding="utf-8")
        options = {
            "--input": source,
            "--output": target,
            "--input-file-type": "openapi",
            "--output-model-type": "typing.TypedDict",
            "--target-python-version": "3.10",
            "--custom-file-header": HEAD,
            "--formatters": "builtin",
        }
        flags = [
            "--use-union-operator",
            "--use-standard-collections",
            "--use-schema-description",
            "--use-field-description",
            "--disable-timestamp",
        ]
        command = [sys.executable, "-m", "datamodel_code_generator", *flags]
        for name, value in options.items():
            command += [name, str(value)]
        subprocess.run(command, check=True)


def main() -> None:
    if "--check" not in sys.argv[1:]:
        generate(TYPES)
        return
    with tempfile.TemporaryDirectory() as directory:
        fresh = Path(directory) / "api.py"
        generate(fresh)
        if fresh.read_text(encoding="utf-8") != TYPES.read_text(encoding="utf-8"):
            sys.exit(f"{TYPES} is out of date: run `UPDATE_CLIENTS=1 cargo xtask test-clients`")


main()
