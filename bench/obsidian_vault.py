"""A generated vault: folders, frontmatter, links, tags, 2.5 kB a note; the same for the same seed."""

import random
from pathlib import Path

AREAS, TOPICS, WORDS = 25, 20, 20_000
# A handful of notes holds this; it stands in for what people search for.
NEEDLE = "zanzibar quartz"
HOLDERS = 12


def make(root: Path, notes: int, seed: int = 1) -> Path:
    if (root / ".complete").exists():
        return root
    chance = random.Random(seed)
    words = [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(WORDS)
    ]
    pool = chance.choices(words, [1 / (rank + 10) for rank in range(WORDS)], k=400_000)
    for area in range(AREAS):
        for topic in range(TOPICS):
            (root / f"area {area}" / f"topic {topic}").mkdir(parents=True, exist_ok=True)
    for number in range(notes):
        folder = root / f"area {number % AREAS}" / f"topic {number // AREAS % TOPICS}"
        (folder / f"Note {number}.md").write_text(_note(number, notes, pool, chance))
    (root / ".complete").touch()
    return root


def _note(number: int, notes: int, pool: list[str], chance: random.Random) -> str:
    start = chance.randrange(len(pool) - 400)
    text = " ".join(pool[start : start + 370])
    lines = [text[place : place + 90] for place in range(0, len(text), 90)]
    holder = f"\n{NEEDLE} here\n" if number % (notes // HOLDERS) == 0 else ""
    others = [f"[[Note {chance.randrange(notes)}]]" for _ in range(2)]
    day = f"2024-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    status = chance.choice(["draft", "done", "open"])
    tags = f"tags:\n  - {pool[start]}\n  - area/{number % AREAS}"
    fields = (
        f"title: Note {number}\ncreated: {day}\n{tags}\nstatus: {status}\npriority: {chance.randint(1, 5)}"
    )
    links = f"see {others[0]} and {others[1]} #tag{chance.randint(1, 30)}"
    head = ["---", fields, "---", f"# Note {number} {pool[start]}", ""]
    return "\n".join([*head, *lines[:8], holder, "## Details", "", links, *lines[8:], ""])
