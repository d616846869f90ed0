"""The clients: how each is installed under .clients/, and what it showed of every case.

`python -m tests.clients.matrix` installs; what could not be installed is said, and its tests are skipped.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.clients.cases import ROOT, lay_out, plan_calls

HOME = ROOT / ".clients"
PACKAGES = Path(__file__).parent / "npm"
NODE_MODULES = HOME / "npm/node_modules"
OURS = "ours"
NPM = "npm"
DEADLINE_SECONDS = 540

Shown = dict[str, tuple[str, str]]
"""For each case how it arrived (`answer`, `error`, `raised`) and the text."""


@dataclass(frozen=True)
class Client:
    name: str
    package: str
    environment: str
    """`ours`, `npm`, or the name of a pinned file requirements/client-*.txt."""
    program: str
    options: tuple[str, ...] = ()
    first_block_only: bool = False
    """Of a result marked as an error it passes on the first text block: of a tool that ran and failed, its output."""
    cases: tuple[str, ...] = ()
    """Those it is asked for; all of them where none is named."""

    @property
    def version(self) -> str:
        if self.environment == NPM:
            found = re.search(rf'"{self.package}": "([^"]+)"', (PACKAGES / "package.json").read_text())
        else:
            name = "dev" if self.environment == OURS else f"client-{self.environment}"
            pinned = (ROOT / "requirements" / f"{name}.txt").read_text()
            found = re.search(rf"^{self.package}(?:\[\w+\])?==(\S+)", pinned, re.MULTILINE)
        assert found is not None
        return found[1]

    def command(self) -> list[str]:
        if self.program.endswith(".mjs"):
            return [str(NODE_MODULES / ".bin/node"), "--input-type=module", "-"]
        python = ROOT / ".venv" if self.environment in {OURS, NPM} else HOME / self.environment
        return [str(python / "bin/python"), "-m", f"tests.clients.programs.{self.program}"]


CLIENTS = [
    Client(
        "TypeScript SDK 1.x",
        "@modelcontextprotocol/sdk",
        NPM,
        "typescript.mjs",
        ("@modelcontextprotocol/sdk/client/index.js", "@modelcontextprotocol/sdk/client/stdio.js"),
    ),
    Client(
        "TypeScript client 2.x",
        "@modelcontextprotocol/client",
        NPM,
        "typescript.mjs",
        ("@modelcontextprotocol/client", "@modelcontextprotocol/client/stdio"),
    ),
    Client(
        "Inspector",
        "@modelcontextprotocol/inspector",
        NPM,
        "inspector",
        (str(NODE_MODULES / ".bin/mcp-inspector"),),
    ),
    Client("mcp, handshake era", "mcp", OURS, "mcp_sdk", ("legacy",)),
    Client("mcp, 2026-07-28", "mcp", OURS, "mcp_sdk", ("2026-07-28",)),
    Client("fastmcp", "fastmcp", "fastmcp", "fastmcp_client", first_block_only=True),
    Client("langchain-mcp-adapters", "langchain-mcp-adapters", "mcp1", "langchain_client"),
    Client("openai-agents", "openai-agents", "mcp1", "openai_agents_client", ("told",)),
    Client("pydantic-ai", "pydantic-ai-slim", "pydantic-ai", "pydantic_ai_client"),
]
SILENT = Client(
    "openai-agents, default",
    "openai-agents",
    "mcp1",
    "openai_agents_client",
    cases=("pytest: usage", "pytest --faults result: usage"),
)
"""Tells the model nothing of a JSON-RPC error unless the application asks it to."""


def watch(clients: list[Client], folder: Path) -> dict[str, Shown]:
    """What each client showed; two at a time, each with files of its own."""
    for client in clients:
        lay_out(_folder_of(client, folder))
    with ThreadPoolExecutor(2) as pool:
        shown = pool.map(lambda client: _watch_one(client, _folder_of(client, folder)), clients)
        return dict(zip((client.name for client in clients), shown, strict=True))


def _folder_of(client: Client, folder: Path) -> Path:
    return folder / re.sub(r"\W+", "-", client.name)


def _watch_one(client: Client, folder: Path) -> Shown:
    (folder / "plan.json").write_text(json.dumps(plan_calls(folder, client.cases)))
    node = client.environment == NPM
    done = subprocess.run(
        [*client.command(), str(folder / "plan.json"), str(folder / "shown.json"), *client.options],
        cwd=NODE_MODULES.parent if client.program.endswith(".mjs") else ROOT,
        env=os.environ | ({"PATH": f"{NODE_MODULES / '.bin'}:{os.environ['PATH']}"} if node else {}),
        input=_program_text(client),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{client.name} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    shown = json.loads((folder / "shown.json").read_text())
    return {case: (how, _without_places(text, folder)) for case, (how, text) in shown.items()}


def _program_text(client: Client) -> str:
    """Node finds packages from where a module lies; from standard input, that is where it was started."""
    if client.program.endswith(".mjs"):
        return (Path(__file__).parent / "programs" / client.program).read_text()
    return ""


def _without_places(text: str, folder: Path) -> str:
    return text.replace(str(folder), "…").replace(sys.executable, "python").replace(str(ROOT), "…")


def install() -> list[str]:
    """Install what is missing or outdated; the names of environments that are not there now."""
    HOME.mkdir(exist_ok=True)
    return [
        name for name in sorted({client.environment for client in CLIENTS} - {OURS}) if not _install_one(name)
    ]


def is_installed(client: Client) -> bool:
    return client.environment == OURS or _is_fresh(client.environment)


def _install_one(environment: str) -> bool:
    if _is_fresh(environment):
        return True
    target = HOME / environment
    shutil.rmtree(target, ignore_errors=True)
    if environment == NPM:
        if shutil.which("npm") is None:
            return False
        target.mkdir()
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(PACKAGES / name, target)
        commands = [["npm", "ci", "--prefix", str(target)]]
    else:
        uv = str(Path(sys.executable).with_name("uv"))
        pinned = str(ROOT / "requirements" / f"client-{environment}.txt")
        python = str(target / "bin/python")
        commands = [
            [uv, "venv", "--quiet", "--python", sys.executable, str(target)],
            [uv, "pip", "sync", "--quiet", "--require-hashes", "--python", python, pinned],
        ]
    if any(subprocess.run(command, check=False).returncode for command in commands):
        return False
    _stamp(environment).write_text(_fingerprint(environment))
    return True


def _is_fresh(environment: str) -> bool:
    return _stamp(environment).is_file() and _stamp(environment).read_text() == _fingerprint(environment)


def _stamp(environment: str) -> Path:
    return HOME / environment / "installed"


def _fingerprint(environment: str) -> str:
    lock = PACKAGES / "package-lock.json"
    pinned = lock if environment == NPM else ROOT / "requirements" / f"client-{environment}.txt"
    return hashlib.sha256(pinned.read_bytes()).hexdigest()


if __name__ == "__main__":
    for missing in install():
        sys.stderr.write(
            f"test-clients: {missing} could not be installed (npm or the network); its clients are skipped\n"
        )
