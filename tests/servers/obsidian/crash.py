"""Kills a writer and checks the vault after each kill: `python crash.py FOLDER SEED MOMENTS`, or `… FOLDER steps FIRST STRIDE`.

With a number, at that many random moments; with `steps`, before and after every single change a move, a write and a
patch make to the disk. A program of its own, because it forks: the parent imports once, each child is killed.
"""

import hashlib
import json
import os
import random
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from faultless.servers.obsidian import files
from faultless.servers.obsidian.inputs import MoveNote, Operation, PatchNote, ReadNote, TargetKind, WriteNote
from faultless.servers.obsidian.links import Lookup, links_in
from faultless.servers.obsidian.moving import move_note
from faultless.servers.obsidian.note import Note
from faultless.servers.obsidian.settings import Settings
from faultless.servers.obsidian.vault import Vault

NOTES = 6
LONGEST_WAIT_SECONDS = 0.2
MOST_STEPS = 200
START_DEADLINE_SECONDS = 120


def content(number: int, links: str, chance: random.Random) -> str:
    payload = "".join(chance.choices("abc\n", k=chance.choice([10, 1000, 60_000]))).strip()
    digest = hashlib.sha256(payload.encode()).hexdigest()
    return f"---\nid: {number}\ncount: 0\n---\n{payload}\nsum {digest}\n\n# Links\n{links}\n"


def links_of(body: str) -> str:
    return body.rpartition("# Links\n")[2].strip()


def start(root: Path) -> None:
    root.mkdir()
    chance = random.Random(0)
    for number in range(NOTES):
        links = " ".join(f"[[note {other}|{other}]]" for other in range(NOTES))
        (root / f"note {number}.md").write_text(content(number, links, chance))


def write_until_killed(root: Path, seed: int, started: int) -> None:
    chance = random.Random(seed)
    vault = Vault(Settings(root=root))
    with vault.index.fresh(text=True):
        pass
    while True:
        path = chance.choice(
            sorted(
                file.relative_to(root).as_posix()
                for file in root.rglob("[!.]*.md")
                if ".trash" not in file.parts
            )
        )
        note = vault.read(ReadNote(path=path))
        os.write(started, b".")
        act = chance.choice(["write", "patch", "move", "move"])
        if act == "write":
            text = content(int(str(note.frontmatter["id"])), links_of(note.body), chance)
            vault.write(WriteNote(path=path, body=Note.parse(text.encode()).body))
        elif act == "patch":
            count = int(str(note.frontmatter["count"])) + 1
            vault.patch(
                PatchNote(
                    path=path,
                    operation=Operation.REPLACE,
                    target_type=TargetKind.FRONTMATTER,
                    target="count",
                    content=count,
                )
            )
        else:
            folder = chance.choice(["", "a/", "a/b/", "c d/"])
            move_note(vault, MoveNote(source=path, destination=f"{folder}note {chance.randrange(10**9)}.md"))


def check(root: Path) -> list[str]:
    """What is wrong with the vault, once the next server has come up."""
    vault = Vault(Settings(root=root))
    vault.finish_recovery()
    with vault.index.fresh(text=True) as index:
        paths = sorted(index.catalog.notes)
    lookup = Lookup(paths)
    notes = {path: Note.parse(vault.store.read(path).data) for path in paths}
    notes.pop("new.md", None)
    ids = {path: note.fields.get("id") for path, note in notes.items()}
    wrong = [] if sorted(map(str, ids.values())) == [str(n) for n in range(NOTES)] else [f"ids are {ids}"]
    for path, note in notes.items():
        payload, _, rest = note.body.rpartition("\nsum ")
        if hashlib.sha256(payload.encode()).hexdigest() != rest.split("\n")[0]:
            wrong.append(f"{path} is torn")
        links = links_in(path, note.text)
        for link, shown in zip(links, links_of(note.body).split("|")[1:], strict=True):
            target = lookup.resolve(link, path)
            if target is None or str(ids[target]) != shown.split("]")[0]:
                wrong.append(f"{path}: {link.target} leads to {target}, not to note {shown.split(']')[0]}")
    first = "note 2.md" if "note 2.md" in paths else paths[0]
    vault.patch(
        PatchNote(
            path=first,
            operation=Operation.REPLACE,
            target_type=TargetKind.FRONTMATTER,
            target="count",
            content=0,
        )
    )
    wrong += [f"left behind: {file}" for file in root.rglob(".faultless-*") if ".trash" not in file.parts]
    wrong += ["the journal is left behind"] * (root / ".trash/faultless/journal.json").exists()
    vault.close()
    return wrong


def main(root: Path, seed: int, moments: int) -> dict[str, object]:
    start(root)
    chance = random.Random(seed)
    moves_cut = writes_cut = 0
    for moment in range(moments):
        problem = kill_one(root, chance)
        moves_cut += (root / ".trash/faultless/journal.json").exists()
        writes_cut += any(".trash" not in file.parts for file in root.rglob(".faultless-*"))
        wrong = [problem] if problem else check(root)
        if wrong:
            return {"moment": moment, "wrong": wrong}
    return {"moments": moments, "moves_cut": moves_cut, "writes_cut": writes_cut, "wrong": []}


def kill_one(root: Path, chance: random.Random) -> str | None:
    """Start a writer, let it write for a random while, kill it."""
    reading, started = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            write_until_killed(root, chance.randrange(10**9), started)
        finally:
            os._exit(1)  # only a failure gets here
    ready: list[int] = []
    for _ in range(chance.randint(1, 2)):
        ready, _, _ = select.select([reading], [], [], START_DEADLINE_SECONDS)
        if ready:
            os.read(reading, 1)
    select.select([], [], [], chance.uniform(0, LONGEST_WAIT_SECONDS))
    ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    chance.random()  # the next writer must not repeat this one
    os.close(reading)
    os.close(started)
    return f"the writer ended by itself: {status}" if ended or not ready else None


def every_step(folder: Path, first: int, stride: int) -> dict[str, object]:
    """For each act, kill at one of its changes to the disk, then at a later one, until it gets through."""
    cut: dict[str, int] = {}
    for act in ("write", "create", "patch", "move"):
        for step in range(first, MOST_STEPS, stride):
            root = folder / f"{act} {step}"
            start(root)
            before = {path.name: path.read_bytes() for path in root.iterdir()}
            child = os.fork()
            if child == 0:
                try:
                    _act_and_die(root, act, step)
                finally:
                    os._exit(0)
            _, status = os.waitpid(child, 0)
            wrong = check(root) + _half_done(root, act, before)
            if wrong:
                return {"act": act, "step": step, "wrong": wrong}
            if not os.WIFSIGNALED(status):
                break
            cut[act] = step + 1
    return {"cut": cut, "wrong": []}


def _half_done(root: Path, act: str, before: dict[str, bytes]) -> list[str]:
    """Whole and old or whole and new; `check` has since set a count to 0, which it was."""
    after = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*.md")
        if ".trash" not in path.parts
    }
    if act == "move":
        return (
            []
            if set(after) in ({*before}, {*before} - {"note 2.md"} | {"a/moved.md"})
            else [f"names are {sorted(after)}"]
        )
    changed = [name for name in after if after[name] != before.get(name)]
    return [] if set(changed) <= {"note 2.md", "new.md"} else [f"changed: {changed}"]


def _act_and_die(root: Path, act: str, step: int) -> None:
    left = [step]

    def counted(work: Callable[..., object]) -> Callable[..., object]:
        def dying(*given: object, **named: object) -> object:
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return work(*given, **named)

        return dying

    vault = Vault(Settings(root=root))
    for module, name in (
        (os, "rename"),
        (os, "unlink"),
        (os, "link"),
        (os, "mkdir"),
        (os, "fsync"),
        (files, "_renameat2"),
    ):
        setattr(module, name, counted(getattr(module, name)))
    if act == "write":
        text = content(2, links_of(vault.read(ReadNote(path="note 2.md")).body), random.Random(1))
        vault.write(WriteNote(path="note 2.md", body=Note.parse(text.encode()).body))
    elif act == "create":
        vault.write(WriteNote(path="new.md", body="x"))
        os.unlink(root / "new.md")  # noqa: PTH108 - counted like the rest
    elif act == "patch":
        vault.patch(
            PatchNote(
                path="note 2.md",
                operation=Operation.REPLACE,
                target_type=TargetKind.FRONTMATTER,
                target="count",
                content=7,
            )
        )
    else:
        move_note(vault, MoveNote(source="note 2.md", destination="a/moved.md"))


if __name__ == "__main__":
    home = Path(sys.argv[1])
    numbers = [int(word) for word in sys.argv[2:] if word != "steps"]
    report = (every_step if sys.argv[2] == "steps" else main)(home, numbers[0], numbers[1])
    sys.stdout.write(json.dumps(report))
