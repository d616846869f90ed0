"""What a Gmail server costs before its first answer, and on the disk, beside what others bring."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bench.figures import interleave, machine, medians, table
from bench.peers import ROOT, environment
from faultless.testing import WireClient
from tests.servers.gmail.conftest import gmail_command, write_login
from tests.servers.gmail.fake import FakeGmail

REQUIREMENTS = "requirements/bench-gmail.txt"
PAGE = ROOT / "docs" / "reference" / "gmail-figures.md"
STARTS = 7
LIMIT_SECONDS = 3.0
UNTIL = {
    "faultless[gmail]": "a passing health_check",
    "google-api-python-client": "the service object",
    "workspace-mcp": "the list of tools",
}
# What the library needs before it can make its first request.
LIBRARY = """
from googleapiclient.discovery import build
build("gmail", "v1", developerKey="x", static_discovery=True)
"""
CLOSURE = """
import re, sys
from importlib.metadata import PackageNotFoundError, distribution

def walk(name, extras, seen):
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return
    key = re.sub(r"[-_.]+", "-", found.name).lower()
    if key in seen and not extras:
        return
    seen[key] = found
    for line in found.requires or ():
        wanted = re.search(r"extra == ['\\"]([^'\\"]+)['\\"]", line)
        if wanted and wanted[1] not in extras:
            continue
        match = re.match(r"([\\w.-]+)(?:\\[([^]]*)\\])?", line)
        walk(match[1], tuple(filter(None, (match[2] or "").split(","))), seen)

seen = {}
root, _, extras = sys.argv[1].partition("[")
walk(root, tuple(filter(None, extras.rstrip("]").split(","))), seen)
files = [file.locate() for it in seen.values() for file in it.files or ()]
print(len(seen), sum(file.stat().st_size for file in files if file.is_file()))
"""


def start_ours(command: list[str]) -> None:
    with WireClient(command) as client:
        answer = client.open("handshake").call("health_check")
    if answer["result"]["structuredContent"]["status"] != "ok":
        raise ValueError(f"not healthy: {answer}")


def start_workspace(command: list[str]) -> None:
    """It has no health_check and needs no login to list its tools."""
    with WireClient(command) as client:
        client.open("handshake").request("tools/list")


def start_library() -> None:
    subprocess.run([sys.executable, "-c", LIBRARY], check=True)


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(start: Callable[[], None], clock: Callable[[], float]) -> Callable[[], float]:
    def timed() -> float:
        begun = clock()
        start()
        return clock() - begun

    return timed


def installed(python: Path | str, name: str) -> tuple[int, float]:
    """How many packages, and how many megabytes."""
    found = subprocess.run([python, "-c", CLOSURE, name], check=True, capture_output=True, text=True)
    count, size = found.stdout.split()
    return int(count), int(size) / 1e6


def main() -> None:
    peer = environment("workspace-mcp", REQUIREMENTS)
    with tempfile.TemporaryDirectory() as folder, FakeGmail() as gmail:
        home = Path(folder)
        write_login(home, gmail)
        ours = gmail_command(home, gmail)
        workspace = [str(peer.with_name("workspace-mcp")), "--tools", "gmail"]
        competitors: dict[str, Callable[[], None]] = {
            "faultless[gmail]": lambda: start_ours(ours),
            "google-api-python-client": start_library,
            "workspace-mcp": lambda: start_workspace(workspace),
        }
        walls, cpus = (
            medians(interleave({name: measure(it, clock) for name, it in competitors.items()}, STARTS))
            for clock in (time.perf_counter, cpu_seconds)
        )
    pythons = {"workspace-mcp": peer}
    sizes = {name: installed(pythons.get(name, sys.executable), name) for name in competitors}
    bare = installed(sys.executable, "faultless")
    rows = [
        [name, f"{walls[name]:.2f} s", f"{cpus[name]:.2f} s", UNTIL[name], *show(sizes[name])]
        for name in competitors
    ]
    ours = sizes["faultless[gmail]"]
    text = table("Start and weight", ["", "start", "processor", "until", "packages", "installed"], rows)
    text += f"\nThe extra adds {ours[0] - bare[0]} packages, {ours[1] - bare[1]:.1f} MB to faultless.\n"
    print(text)
    PAGE.write_text(f"# Gmail server: figures\n\n{introduce(peer)}\n\n{text}")
    if walls["faultless[gmail]"] > LIMIT_SECONDS:
        print(f"WARNING: a passing health_check took longer than {LIMIT_SECONDS:g} s")


def show(size: tuple[int, float]) -> list[str]:
    return [str(size[0]), f"{size[1]:.1f} MB"]


def introduce(peer: Path) -> str:
    versions = machine("faultless", "mcp", "google-auth", "google-api-python-client")
    asked = "from importlib.metadata import version; print(version('workspace-mcp'))"
    theirs = subprocess.run([peer, "-c", asked], check=True, capture_output=True, text=True).stdout.strip()
    return (
        "<!-- Written by `python -m bench gmail`; run that instead of editing. -->\n\n"
        f"Medians of {STARTS} starts each, in turn, on a warm file cache. Ours talks to a fake Gmail on\n"
        "this machine; the others need no account to come this far. Weight is every file of the package\n"
        "and of all it requires.\n\n"
        f"{datetime.now(UTC).date()}; {versions}, workspace-mcp {theirs}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
