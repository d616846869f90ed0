"""Answers that somebody has read, kept in files."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from faultless.contract import Json


def golden(path: Path, value: Json) -> None:
    """Hold a value against a file; FAULTLESS_UPDATE_GOLDEN=1 writes it instead."""
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    if os.environ.get("FAULTLESS_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    if not path.exists():
        raise AssertionError(
            f"{path.name} does not exist; run with FAULTLESS_UPDATE_GOLDEN=1 and read what it wrote"
        )
    kept = path.read_text(encoding="utf-8")
    if text != kept:
        import difflib  # noqa: PLC0415 - only on failure

        difference = "".join(
            difflib.unified_diff(kept.splitlines(True), text.splitlines(True), "golden", "now")
        )
        raise AssertionError(
            f"{path.name} differs; FAULTLESS_UPDATE_GOLDEN=1 accepts the change\n{difference}"
        )
