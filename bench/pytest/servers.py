"""The servers side by side: how each is started, asked, and read."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers import environment
from faultless.testing import WireClient

Response = Mapping[str, Any]


@dataclass(frozen=True)
class Competitor:
    name: str
    home: Path
    """Its own interpreter, which runs the tests where nothing else is asked for."""
    command: Callable[[Path, Path], list[str]]
    """From the project's root and interpreter to the server."""
    ask: Callable[[Sequence[str], int], tuple[str, dict[str, Any]]]
    """From node ids and a time-out to a tool and its arguments."""
    says_green: Callable[[Response], bool]
    selects: bool = True


def text_of(response: Response) -> str:
    """What reaches a model: structured content, else the text; of an error its message."""
    if "error" in response:
        return str(response["error"]["message"])
    result = response["result"]
    structured = result.get("structuredContent")
    if structured and not result.get("isError"):
        return json.dumps(structured, separators=(",", ":"), ensure_ascii=False)
    return "\n".join(part.get("text", "") for part in result["content"])


def _is_fault(response: Response) -> bool:
    return "error" in response or bool(response["result"].get("isError"))


def ours() -> Competitor:
    return Competitor(
        "faultless",
        Path(sys.executable),
        lambda root, python: [
            sys.executable,
            "-m",
            "faultless",
            "serve",
            "pytest",
            f"--root={root}",
            f"--python={python}",
        ],
        lambda ids, timeout: ("execute_tests", {"node_ids": list(ids), "timeout": timeout}),
        lambda response: (
            not _is_fault(response) and response["result"]["structuredContent"]["exit_code"] == 0
        ),
    )


def runner() -> Competitor | None:
    base = _find_python_312()
    if base is None:
        return None
    python = environment("peer-pytest-runner", "requirements/peer-pytest-runner.txt", base)
    return Competitor(
        "mcp-pytest-runner 0.2.1",
        python,
        lambda _root, _python: [str(python.with_name("mcp-pytest-runner"))],
        lambda ids, timeout: ("execute_tests", {"node_ids": list(ids), "timeout": timeout}),
        lambda response: not _is_fault(response) and '"exit_code": 0' in _spaced(text_of(response)),
    )


def tools_py() -> Competitor:
    home = environment("peer-tools-py", "requirements/peer-tools-py.txt")
    return Competitor(
        "mcp-tools-py 0.1.10",
        home,
        lambda root, python: [
            str(home.with_name("mcp-tools-py")),
            f"--project-dir={root}",
            f"--python-executable={python}",
            "--test-folder=.",
        ],
        lambda ids, _timeout: ("run_pytest_check", {"extra_args": list(ids)}),
        lambda response: "✅ Passed" in text_of(response) and "❌" not in text_of(response),
    )


def evidence() -> Competitor:
    python = environment("peer-pytest-evidence", "requirements/peer-pytest-evidence.txt")
    return Competitor(
        "pytest-evidence-mcp 0.1.0",
        python,
        lambda _root, _python: [str(python.with_name("pytest-evidence-mcp"))],
        lambda _ids, _timeout: ("list_failed_tests", {"path": "."}),
        lambda response: not _is_fault(response) and '"failed_tests": []' in _spaced(text_of(response)),
        selects=False,
    )


def every() -> list[Competitor]:
    return [found for found in (ours(), runner(), tools_py(), evidence()) if found is not None]


@contextmanager
def serving(
    competitor: Competitor,
    root: Path,
    python: Path | None = None,
    *,
    deadline_seconds: float,
    extra: Mapping[str, str] | None = None,
) -> Iterator[WireClient]:
    """The server on a project, told of its interpreter in every way that any of them listens to."""
    python = python or competitor.home
    path = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "VIRTUAL_ENV": str(python.parent.parent), **(extra or {})}
    link = root / ".venv"
    link.unlink(missing_ok=True)
    link.symlink_to(python.parent.parent)
    command = competitor.command(root, python)
    with WireClient(command, cwd=root, env=env, deadline_seconds=deadline_seconds) as client:
        yield client.open("handshake")


def _spaced(text: str) -> str:
    return text.replace('":', '": ').replace('":  ', '": ')


def _find_python_312() -> Path | None:
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [*sorted(pyenv.glob("versions/3.1[2-9].*/bin/python3.1?")), shutil.which("python3.12")]
    for candidate in filter(None, candidates):
        if subprocess.run([candidate, "--version"], capture_output=True, check=False).returncode == 0:
            return Path(candidate)
    return None
