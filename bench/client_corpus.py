"""Real answers of public servers, as they came off the wire, and how the reader did on them.

`python -m bench client_corpus` installs every server of client_corpus.toml, makes its calls, and writes what
came back below .bench/corpus/answers/. An answer that has stayed the same keeps its label; any other has
`reads: null` until a person has written what it is, and only then goes into spec/vectors/corpus-*.jsonl.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.peers import PEERS, ROOT
from faultless.testing import INITIALIZE, WireClient

PLAN = Path(__file__).with_suffix(".toml")
HOME = PEERS / "corpus"
VECTORS = ROOT / "spec" / "vectors"
DEADLINE_SECONDS = 60.0
LONGEST_ANSWER = 20_000
CORPORA = ("first", "second", "third")
"""In the order in which they were collected."""
FOLDER, PROGRAMS = "/data", "/opt/server"
"""What stands in an answer for the working folder and for where the server is installed."""


@dataclass(frozen=True, slots=True)
class Specimen:
    """A public server and what it is asked."""

    package: str
    """As its registry has it, with its version."""
    command: list[str]
    """A program of the package, and its words."""
    corpus: str
    """One of CORPORA."""
    calls: list[list[Any]]
    """A name for the call, the tool, its arguments."""
    files: dict[str, str] = field(default_factory=dict)
    before: list[list[str]] = field(default_factory=list)
    """Commands that prepare the working folder."""
    environment: dict[str, str] = field(default_factory=dict)
    beside: list[str] = field(default_factory=list)
    """What it was written for and does not say."""

    @property
    def is_npm(self) -> bool:
        return "==" not in self.package

    @property
    def name(self) -> str:
        return self.package.split("==")[0].rsplit("@", 1 if self.is_npm else 0)[0]

    @property
    def home(self) -> Path:
        return HOME / self.name.lstrip("@").replace("/", "-")

    @property
    def programs(self) -> Path:
        return self.home / ("node_modules/.bin" if self.is_npm else "bin")


def load_specimens() -> list[Specimen]:
    return [Specimen(**row) for row in tomllib.loads(PLAN.read_text(encoding="utf-8"))["server"]]


def install(specimen: Specimen) -> None:
    stamp = specimen.home / ".done"
    if stamp.exists():
        return
    shutil.rmtree(specimen.home, ignore_errors=True)
    specimen.home.mkdir(parents=True)
    if specimen.is_npm:
        options = ["--silent", "--no-audit", "--no-fund", "--no-package-lock", "--prefix", str(specimen.home)]
        skipped = {"PUPPETEER_SKIP_DOWNLOAD": "1", "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"}
        command = ["npm", "install", *options, specimen.package, *specimen.beside]
        subprocess.run(command, check=True, env=os.environ | skipped)
    else:
        uv = str(Path(sys.executable).with_name("uv"))
        subprocess.run(
            [uv, "venv", "--quiet", "--clear", "--python", sys.executable, specimen.home], check=True
        )
        python = str(specimen.programs / "python")
        packages = [specimen.package, *specimen.beside]
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *packages], check=True)
    stamp.touch()


class Conversation(WireClient):
    """Reads past the lines that are no frames, and offers a server nothing."""

    def receive(self) -> dict[str, Any]:
        while line := self.receive_line():
            try:
                frame = json.loads(line)
            except ValueError:
                continue
            if isinstance(frame, dict) and "method" not in frame:
                return frame
            if isinstance(frame, dict) and "id" in frame:
                refusal = {"code": -32601, "message": "Method not found"}
                self.send({"jsonrpc": "2.0", "id": frame["id"], "error": refusal})
        raise EOFError(self.stderr()[-2000:])


def collect(specimen: Specimen) -> list[dict[str, Any]]:
    """Every answer that came, in the form of a vector without a label."""
    with tempfile.TemporaryDirectory(prefix="faultless-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        answers = []
        with start(specimen, folder) as conversation:
            for case, tool, arguments in specimen.calls:
                try:
                    answer = conversation.call(tool, _place(arguments, folder))
                except (EOFError, TimeoutError, BrokenPipeError) as error:
                    print(f"{specimen.name}/{case}: no answer: {error!r:.300}", file=sys.stderr)
                    break
                answers.append(_describe(specimen, case, tool, _anonymise(answer, specimen, folder)))
    return [answer for answer in answers if len(json.dumps(answer)) <= LONGEST_ANSWER]


def start(specimen: Specimen, folder: Path) -> Conversation:
    """Run the server in a folder of its own, which is its home as well."""
    path = f"{specimen.programs}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8"}
    environment |= {key: _place(value, folder) for key, value in specimen.environment.items()}
    for relative, text in specimen.files.items():
        (folder / relative).parent.mkdir(parents=True, exist_ok=True)
        (folder / relative).write_text(text, encoding="utf-8")
    for words in specimen.before:
        subprocess.run(_place(words, folder), check=True, cwd=folder, env=environment, capture_output=True)
    command = [str(specimen.programs / specimen.command[0]), *_place(specimen.command[1:], folder)]
    conversation = Conversation(command, cwd=folder, env=environment, deadline_seconds=DEADLINE_SECONDS)
    conversation.request("initialize", INITIALIZE | {"protocolVersion": "2025-06-18"})
    conversation.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return conversation


def _place(value: Any, folder: Path) -> Any:
    """Say where the working folder is, wherever the plan speaks of it."""
    return json.loads(json.dumps(value).replace("FOLDER", str(folder)))


def _anonymise(answer: dict[str, Any], specimen: Specimen, folder: Path) -> dict[str, Any]:
    text = json.dumps(answer, ensure_ascii=False)
    for path, word in ((specimen.home, PROGRAMS), (folder, FOLDER), (Path(sys.base_prefix), "/usr")):
        text = text.replace(str(path.resolve()), word).replace(str(path), word)
    return {name: value for name, value in json.loads(text).items() if name in {"result", "error"}}


def _describe(specimen: Specimen, case: str, tool: str, wire: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"{specimen.name}/{case}",
        "author": "maintainers",
        "server": specimen.package,
        "tool": tool,
        "wire": wire,
        "reads": None,
    }


def load_vectors(corpus: str) -> list[dict[str, Any]]:
    path = VECTORS / f"corpus-{corpus}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def summarise(corpus: str) -> list[str]:
    """A row of the table of figures: what came out right when the set was first read, and what does now."""
    vectors = load_vectors(corpus)
    servers = len({vector["server"] for vector in vectors})
    good = sum(vector["reads"] == "verdict" for vector in vectors)
    figures = [sum(mark not in vector for vector in vectors) / len(vectors) for mark in ("first_read", "gap")]
    return [corpus, f"{len(vectors)} of {servers}", str(good), *(f"{figure:.1%}" for figure in figures)]


def main() -> None:
    for corpus in CORPORA:
        labelled = {vector["id"]: vector for vector in load_vectors(corpus)}
        answers = []
        for specimen in load_specimens():
            if specimen.corpus == corpus:
                install(specimen)
                answers += collect(specimen)
        for answer in answers:
            known = labelled.get(answer["id"], answer)
            if known["wire"] == answer["wire"]:
                answer.update(known)
        changed = [answer["id"] for answer in answers if answer["reads"] is None]
        path = HOME / "answers" / f"corpus-{corpus}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers))
        print(f"{path}: {len(answers)} answers, {len(changed)} new or different: {', '.join(changed)}")
