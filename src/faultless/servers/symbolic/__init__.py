"""Symbolic execution of Python: counterexamples that are real, proofs that are proofs."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

import click

from faultless.kit.toolset import Check, ServerKind, Toolset

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

_BAD_NEWS = {"counterexample", "found", "different"}
_OPTIONS = [
    click.Option(["--memory-mb", "memory_megabytes"], type=click.IntRange(256), default=2048,
                 show_default=True, help="Memory limit of each process that runs user code."),
    click.Option(["--max-code-kb", "code_kilobytes"], type=click.IntRange(1, 1024), default=64,
                 show_default=True, help="Largest code accepted."),
    click.Option(["--require-isolation", "isolation"], type=click.Choice(["none", "strict"]), default="none",
                 show_default=True, help="Refuse to run user code below this level."),
    click.Option(["--allow-import", "allow_imports"], multiple=True, metavar="MODULE",
                 help="A module user code may import besides the built-in list; repeatable."),
    click.Option(["--concurrent", "concurrent"], type=click.IntRange(0), default=0, show_default=True,
                 help="Requests analysed at once; 0 chooses by cores."),
]  # fmt: skip


def _build(_root: Path, options: dict[str, Any]) -> Toolset:
    from faultless.servers.symbolic.engine import Settings  # noqa: PLC0415 - `faultless --help` starts sooner without it
    from faultless.servers.symbolic.toolset import make_toolset  # noqa: PLC0415 - as above

    settings = Settings(
        memory_megabytes=options.get("memory_megabytes", 2048),
        code_kilobytes=options.get("code_kilobytes", 64),
        requires_strict=options.get("isolation", "none") == "strict",
        allow_imports=tuple(options.get("allow_imports", ())),
        concurrent=options.get("concurrent", 0),
    )
    return make_toolset(settings)


def _is_bad_news(_tool: str, answer: dict[str, Any]) -> bool:
    return answer.get("status") in _BAD_NEWS


def _render(_tool: str, answer: dict[str, Any]) -> RenderableType | None:
    from rich.syntax import Syntax  # noqa: PLC0415 - needed by `faultless call` only
    from rich.text import Text  # noqa: PLC0415 - as above

    if "message" not in answer:
        return None
    colour = (
        "red"
        if _is_bad_news(_tool, answer)
        else ("yellow" if answer["status"] in {"timeout", "partial"} else "green")
    )
    text = Text.assemble((f"{answer['status']}  ", f"bold {colour}"), answer["message"])
    shown = [*answer.get("counterexamples", []), *answer.get("triggering_inputs", [])]
    shown += [answer["distinguishing_input"]] if answer.get("distinguishing_input") else []
    from rich.console import Group  # noqa: PLC0415 - as above

    return Group(text, *(Syntax(item["reproduction"], "python") for item in shown))


def _diagnose(_root: Path) -> list[Check]:
    """Whether the engine is installed, and which isolation this system gives."""
    missing = [name for name in ("crosshair", "z3") if importlib.util.find_spec(name) is None]
    install = "pip install 'faultless[symbolic]'"
    checks = [
        Check(
            "engine", not missing, "crosshair and z3" if not missing else f"no {', '.join(missing)}", install
        )
    ]
    if not missing:
        checks.append(_diagnose_isolation())
    return checks


def _diagnose_isolation() -> Check:
    import json  # noqa: PLC0415 - doctor only
    import subprocess  # noqa: PLC0415 - as above

    from faultless.servers.symbolic.isolation import describe_layers  # noqa: PLC0415 - as above

    probe = (
        "import json; from faultless.servers.symbolic.worker.health import probe_isolation; "
        "print(json.dumps(probe_isolation()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False, timeout=60
    )
    layers = json.loads(done.stdout) if done.returncode == 0 else []
    told = describe_layers(layers)
    found = f"{told['level']} ({', '.join(layers) or 'no layers'})"
    fix = f"not here: {', '.join(told['missing'])}; user code is less contained" if told["missing"] else ""
    return Check("isolation", told["level"] == "strict", found, fix)


server = ServerKind(
    name="symbolic",
    summary="Execute Python symbolically: check contracts, find exceptions, compare functions, reach "
    "branches",
    build=_build,
    options=_OPTIONS,
    is_bad_news=_is_bad_news,
    render=_render,
    diagnose=_diagnose,
)
