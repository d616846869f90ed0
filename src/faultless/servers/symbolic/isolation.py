"""The isolation layers in words the server can use without loading the worker."""

from __future__ import annotations

from typing import Any

KERNEL_LAYERS = ("limits", "namespaces", "landlock", "seccomp")


def describe_layers(layers: list[str]) -> dict[str, Any]:
    missing = [name for name in (*KERNEL_LAYERS, "audit") if name not in layers]
    holds = all(name in layers for name in KERNEL_LAYERS)
    return {
        "level": "strict" if holds else ("partial" if layers else "none"),
        "layers": list(layers),
        "missing": missing,
    }
