"""A vault: search over the wire beside ripgrep, mcpvault and a plain Python scan; start to a health_check."""

import functools
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bench import obsidian_vault
from bench.figures import machine, table
from bench.peers import PEERS, ROOT
from faultless.testing import WireClient

SIZES = (10_000, 50_000)
NPM = {"@vscode/ripgrep": "1.18.0", "@bitbonsai/mcpvault": "0.16.0"}
PAGE = ROOT / "docs" / "reference" / "obsidian-figures.md"
WARM_CALLS = 200
ROUNDS = 9
MCPVAULT_DEADLINE_SECONDS = 600.0
EDIT = "xylophone just now"
STARTS = 5
HEADER = ["notes", "program", "first search", "warm p50", "warm p99", "just after an edit", "memory"]


def main() -> None:
    peers = _install()
    measured = [(size, *_measure(size, peers)) for size in SIZES]
    searches = table("Searching", HEADER, [row for _, _, rows in measured for row in rows])
    starts = table(
        "Start to a passing health_check",
        ["notes", "median", "slowest", "processor time"],
        [start for _, start, _ in measured],
    )
    text = f"{starts}\n{searches}\n{_compare(measured[-1][2])}\n"
    print(text)
    versions = ", ".join(f"{name} {number}" for name, number in NPM.items())
    where = f"{machine('faultless', 'mcp')}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    intro = (
        "<!-- Written by `python -m bench obsidian`; run that instead of editing. -->\n\n"
        f"Notes of 2.5 kB in 500 folders; the query stands in {obsidian_vault.HOLDERS} of them. One run,\n"
        "all programs in turn, warm file cache; times in milliseconds, memory after the searches. Ours\n"
        "and mcpvault answer over MCP on stdio; ripgrep and the scan are a process and a function call\n"
        "for each query.\n\n"
        f"{datetime.now(UTC).date()}; {where}; {versions}"
    )
    PAGE.write_text(f"# Obsidian server: figures\n\n{intro}\n\n{text}")


def _compare(rows: list[list[str]]) -> str:
    """The targets, as factors of our warm median at the largest size."""
    medians = {row[1]: float(row[3].replace(",", "")) for row in rows}
    ours = medians.pop("faultless")
    told = ", ".join(f"{name} {median / ours:,.0f}" for name, median in medians.items())
    return f"Warm median at {rows[0][0]} notes as a multiple of ours: {told}."


def _install() -> Path | None:
    """The npm packages under .bench/, or None where there is no npm."""
    home = PEERS / "vault"
    if shutil.which("npm") is None:
        return None
    if not (home / "node_modules" / "@bitbonsai").exists():
        home.mkdir(parents=True, exist_ok=True)
        packages = [f"{name}@{number}" for name, number in NPM.items()]
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-save", "--no-package-lock"]
        done = subprocess.run([*command, "--prefix", str(home), *packages], check=False)
        if done.returncode != 0:
            return None
    return home / "node_modules"


def _measure(size: int, peers: Path | None) -> tuple[list[str], list[list[str]]]:
    """The row of starts, and the rows of searches."""
    root = obsidian_vault.make(PEERS / f"vault-{size}", size)
    _scan(root)  # every file in the cache
    searches: dict[str, Callable[[], int]] = {"plain Python scan": functools.partial(_scan, root)}
    ripgrep = _find_ripgrep(peers)
    if ripgrep is not None:
        searches["ripgrep"] = functools.partial(_ripgrep, ripgrep, root)
    command = [sys.executable, "-m", "faultless", "serve", "obsidian", "--root", str(root)]
    start = _measure_start(size, command)
    with WireClient(command) as ours:
        rows = [_measure_ours(size, root, ours.open("modern"), searches)]
        rows += [_measure_process(size, name, search) for name, search in searches.items()]
    if peers is not None:
        command = ["node", str(peers / ".bin" / "mcpvault"), str(root)]
        with WireClient(command, deadline_seconds=MCPVAULT_DEADLINE_SECONDS) as theirs:
            rows.append(_measure_mcpvault(size, root, theirs.open("handshake")))
    return start, rows


def _measure_start(size: int, command: list[str]) -> list[str]:
    times, used = [], []
    for _ in range(STARTS):
        before = _cpu_seconds()
        started = time.perf_counter()
        with WireClient(command) as client:
            answer = client.open("handshake").call("health_check")["result"]["structuredContent"]
            times.append(time.perf_counter() - started)
        used.append(_cpu_seconds() - before)
        _require(answer["note_count"], size)
    figures = [statistics.median(times), max(times), statistics.median(used)]
    return [f"{size:,}", *(f"{figure * 1000:,.0f}" for figure in figures)]


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _measure_ours(
    size: int, root: Path, client: WireClient, others: dict[str, Callable[[], int]]
) -> list[str]:
    """Warm calls are taken in groups between the others' runs, so that noise hits all alike."""

    def search(query: str) -> int:
        answer = client.call("search_notes", {"query": query})
        return int(answer["result"]["structuredContent"]["count"])

    client.call("health_check")
    before = _memory(client)
    first = _timed(lambda: _require(search(obsidian_vault.NEEDLE)))
    warm = []
    for _ in range(ROUNDS):
        warm += [_timed(lambda: _require(search(obsidian_vault.NEEDLE))) for _ in range(WARM_CALLS // ROUNDS)]
        for other in others.values():
            TIMES.setdefault((size, other), []).append(_timed(functools.partial(_require_run, other)))
    edits = [_after_edit(root, search, number) for number in range(15)]
    after = _memory(client)
    memory = f"{after:.0f} MB (+{after - before:.0f})"
    return _row(size, "faultless", first=first, warm=warm, edit=statistics.median(edits), memory=memory)


TIMES: dict[tuple[int, Callable[[], int]], list[float]] = {}


def _after_edit(root: Path, search: Callable[[str], int], number: int) -> float:
    """From the outside edit's end to the answer that holds it."""
    note = next((root / "area 3" / "topic 4").glob("*.md"))
    old = note.read_bytes()
    note.write_bytes(old + f"\n{EDIT} {number}\n".encode())
    try:
        return _timed(lambda: _require(search(f"{EDIT} {number}"), 1))
    finally:
        note.write_bytes(old)


def _measure_process(size: int, name: str, search: Callable[[], int]) -> list[str]:
    times = TIMES[size, search]
    return _row(size, name, first=times[0], warm=times, edit=statistics.median(times), memory="-")


def _measure_mcpvault(size: int, root: Path, client: WireClient) -> list[str]:
    def search(query: str) -> int:
        answer = client.call("search_notes", {"query": query, "limit": 20})
        return str(answer["result"]["content"][0]["text"]).count('"p":')

    times = [_timed(lambda: search(obsidian_vault.NEEDLE)) for _ in range(4)]
    edited = _after_edit(root, lambda query: min(search(query), 1), 0)
    return _row(
        size, "mcpvault", first=times[0], warm=times[1:], edit=edited, memory=f"{_memory(client):.0f} MB"
    )


def _row(size: int, name: str, *, first: float, warm: list[float], edit: float, memory: str) -> list[str]:
    ordered = sorted(warm)
    p99 = ordered[min(len(ordered) - 1, round(len(ordered) * 0.99))]
    figures = [first, statistics.median(warm), p99, edit]
    return [f"{size:,}", name, *(f"{figure * 1000:,.1f}" for figure in figures), memory]


def _scan(root: Path) -> int:
    needle = obsidian_vault.NEEDLE.encode()
    return sum(needle in path.read_bytes().lower() for path in root.rglob("*.md"))


def _ripgrep(program: str, root: Path) -> int:
    command = [
        program,
        "--ignore-case",
        "--fixed-strings",
        "--files-with-matches",
        obsidian_vault.NEEDLE,
        str(root),
    ]
    done = subprocess.run(command, capture_output=True, check=False)
    return len(done.stdout.splitlines())


def _find_ripgrep(peers: Path | None) -> str | None:
    shipped = next(peers.glob("@vscode/ripgrep-*/bin/rg"), None) if peers is not None else None
    return str(shipped) if shipped is not None else shutil.which("rg")


def _require(found: int, wanted: int = obsidian_vault.HOLDERS) -> None:
    """A fast wrong answer is no figure."""
    if not wanted <= found <= wanted + 1:
        raise ValueError(f"found {found} notes, expected {wanted}")


def _require_run(search: Callable[[], int]) -> None:
    _require(search())


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _memory(client: WireClient) -> float:
    status = Path(f"/proc/{client.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
