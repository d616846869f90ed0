"""Thirty programs that people have, each exposed in at most six lines."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.servers.toolbox.conftest import in_memory

MOST_LINES = 6


class Program(NamedTuple):
    name: str
    needs: str
    text: str
    arguments: dict[str, Any]
    answer: str
    """A part of it."""


def toml(name: str, command: str, arguments: dict[str, Any], answer: str, **more: str) -> Program:
    """A command that exists; every argument is a string unless `more` says otherwise."""
    types = {key: more.get(key, "string") for key in arguments}
    properties = ", ".join(
        f'{key} = {{ type = "string", format = "path" }}'
        if kind == "path"
        else f'{key} = {{ type = "{kind}" }}'
        for key, kind in types.items()
    )
    required = ", ".join(f'"{key}"' for key in arguments)
    lines = [f"[tools.{name}]", f'description = "{name}"', f"command = {command}"]
    if arguments:
        lines += [
            f'parameters = {{ type = "object", required = [{required}], properties = {{ {properties} }} }}'
        ]
    if "stdin" in more:
        lines += [f'stdin = "{more["stdin"]}"']
    needs = json.loads(command)[0]
    return Program(name, needs, "\n".join(lines), arguments, answer)


def script(name: str, interpreter: str, text: str, arguments: dict[str, Any], answer: str) -> Program:
    first = f"#!/usr/bin/env {interpreter}\n"
    return Program(name, name if name in {"awk", "sqlite3"} else interpreter, first + text, arguments, answer)


FILE = {"path": "notes.txt"}
PROGRAMS = [
    toml(
        "grep",
        '["grep", "-n", "--", "{pattern}", "{path}"]',
        {"pattern": "two", **FILE},
        "2:two",
        path="path",
    ),
    toml("wc", '["wc", "-l", "--", "{path}"]', FILE, "3", path="path"),
    toml(
        "head",
        '["head", "--lines={n}", "--", "{path}"]',
        {"n": -1, **FILE},
        "one\ntwo",
        n="integer",
        path="path",
    ),
    toml(
        "tail", '["tail", "--lines={n}", "--", "{path}"]', {"n": 1, **FILE}, "three", n="integer", path="path"
    ),
    toml("sort", '["sort", "-r"]', {"text": "a\nb\n"}, "b\na", stdin="text"),
    toml("uniq", '["uniq", "-c"]', {"text": "a\na\n"}, "2 a", stdin="text"),
    toml("cut", '["cut", "-d:", "--fields={f}"]', {"text": "a:b\n", "f": "2"}, "b", stdin="text"),
    toml("tr", '["tr", "a-z", "A-Z"]', {"text": "loud"}, "LOUD", stdin="text"),
    toml("sed", '["sed", "s/one/1/"]', {"text": "one"}, "1", stdin="text"),
    toml("sha256sum", '["sha256sum", "--", "{path}"]', FILE, "notes.txt", path="path"),
    toml("base64", '["base64"]', {"text": "hi"}, "aGk=", stdin="text"),
    toml("du", '["du", "-a", "--", "{path}"]', FILE, "notes.txt", path="path"),
    toml("stat", '["stat", "--format=%s", "--", "{path}"]', FILE, "14", path="path"),
    toml("find", '["find", ".", "-name", "{name}"]', {"name": "*.txt"}, "./notes.txt"),
    toml(
        "diff", '["diff", "--", "{a}", "{b}"]', {"a": "notes.txt", "b": "notes.txt"}, "", a="path", b="path"
    ),
    toml("jq", '["jq", "-c", "{filter}"]', {"filter": ".a", "text": '{"a":[1]}'}, "[1]", stdin="text"),
    toml("git_log", '["git", "log", "--oneline", "--max-count={n}"]', {"n": 1}, "first commit", n="integer"),
    toml("git_show", '["git", "show", "HEAD:{path}"]', FILE, "one", path="path"),
    toml("git_grep", '["git", "grep", "-e", "{pattern}"]', {"pattern": "three"}, "notes.txt:three"),
    toml("seq", '["seq", "--", "{a}", "{b}"]', {"a": -1, "b": 1}, "-1\n0\n1", a="integer", b="integer"),
    toml("factor", '["factor", "{n}"]', {"n": 12}, "12: 2 2 3", n="integer"),
    toml("date", '["date", "-u", "--date={when}", "+%F"]', {"when": "2020-02-29"}, "2020-02-29"),
    toml("tar", '["tar", "-tf", "{archive}"]', {"archive": "notes.tar"}, "notes.txt", archive="path"),
    toml("compiled", '["./_compiled", "{a}", "{b}"]', {"a": 2, "b": 3}, "5", a="integer", b="integer"),
    script(
        "shell",
        "sh",
        '# @tool Greet\n# @param who: string\necho "Hello, $ARG_WHO!"',
        {"who": "you"},
        "Hello, you!",
    ),
    script(
        "bash", "bash", '# @tool Reverse\n# @param text: string\nrev <<< "$ARG_TEXT"', {"text": "abc"}, "cba"
    ),
    script(
        "awk",
        "-S awk -f",
        '# @tool Sum numbers\n# @param numbers: number[]\n{ gsub(/[^0-9,]/, ""); n = split($0, a, ","); for (i = 1; i <= n; i++) s += a[i] }\nEND { print s }',
        {"numbers": [1, 2, 3]},
        "6",
    ),
    script(
        "perl",
        "perl",
        "# @tool Count vowels\n# @param text: string\nprint scalar(() = $ENV{ARG_TEXT} =~ /[aeiou]/g);",
        {"text": "queue"},
        "4",
    ),
    script(
        "node",
        "node",
        '// @tool Slug\n// @param title: string\nconsole.log(process.env.ARG_TITLE.toLowerCase().replaceAll(" ", "-"));',
        {"title": "A Title"},
        "a-title",
    ),
    script(
        "python_script",
        "python3",
        '# @tool Mean\n# @param numbers: number[]\nimport json, statistics, sys\nprint(statistics.mean(json.load(sys.stdin)["numbers"]))',
        {"numbers": [1, 2, 6]},
        "3",
    ),
    Program(
        "python_function",
        "python3",
        'def python_function(text: str, times: int = 2) -> str:\n    """Repeat a text."""\n    return text * times',
        {"text": "ab"},
        "abab",
    ),
    script(
        "sqlite3",
        "sh",
        '# @tool Ask a database\n# @param query: string\n# @output json\nsqlite3 -json :memory: "$ARG_QUERY"',
        {"query": "select 1 as one"},
        '[{"one":1}]',
    ),
]


def make_folder(root: Path) -> Path:
    (root / "notes.txt").write_text("one\ntwo\nthree\n")
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
    subprocess.run([*git, "add", "notes.txt"], cwd=root, check=True)
    subprocess.run([*git, "commit", "-qm", "first commit"], cwd=root, check=True)
    subprocess.run(["tar", "-cf", "notes.tar", "notes.txt"], cwd=root, check=True)
    folder = root / "tools"
    folder.mkdir()
    source = '#include <stdio.h>\n#include <stdlib.h>\nint main(int n, char **a) { printf("%d\\n", atoi(a[1]) + atoi(a[2])); }\n'
    if compiler := shutil.which("cc"):
        subprocess.run(
            [compiler, "-x", "c", "-", "-o", folder / "_compiled"], input=source, text=True, check=True
        )
    tables = []
    for program in PROGRAMS:
        if program.text.startswith("[tools."):
            tables.append(program.text)
        elif program.text.startswith("#!"):
            (folder / program.name).write_text(program.text + "\n")
            (folder / program.name).chmod(0o755)
        else:
            (folder / f"{program.name}.py").write_text(program.text + "\n")
    (folder / "tools.toml").write_text("\n".join(tables) + "\n")
    return folder


def test_none_takes_more_than_six_lines() -> None:
    assert len(PROGRAMS) >= 30
    assert [it.name for it in PROGRAMS if len(it.text.splitlines()) > MOST_LINES] == []


@pytest.mark.anyio
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
async def test_every_program_answers(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    async with in_memory(folder, tmp_path) as server:
        assert set(await server.names()) == {it.name for it in PROGRAMS}
        for program in PROGRAMS:
            needs = str(folder / program.needs) if program.needs.startswith("./") else program.needs
            if shutil.which(needs):
                assert program.answer in await server.say(program.name, program.arguments), program.name
