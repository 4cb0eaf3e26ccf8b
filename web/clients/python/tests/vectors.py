"""What both clients must do: `web/clients/vectors/vectors.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parent.parent.parent / "vectors/vectors.json"
VECTORS: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
ROOT = _FILE.parent.parent.parent.parent
