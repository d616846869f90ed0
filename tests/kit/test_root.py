"""Paths proved inside a folder: whatever is asked, the answer lies inside or is a fault."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from faultless.contract import Fault, FaultKind
from faultless.kit.root import Root

SECRET = "the secret outside"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """A vault beside an evil twin, with links of every sort in it."""
    vault = tmp_path / "vault"
    (vault / "notes").mkdir(parents=True)
    (vault / "notes" / "a.md").write_text("a")
    (vault / "-rf").write_text("dash")
    evil = tmp_path / "vault-evil"
    evil.mkdir()
    (evil / "x.md").write_text(SECRET)
    links: dict[str, str | Path] = {
        "out": evil,
        "out.md": evil / "x.md",
        "up": "..",
        "dangling": tmp_path / "nowhere",
        "inner": "notes",
        "inner.md": vault / "notes" / "a.md",
        "loop": "loop",
        "notes/back": "../notes",
        "etc": "/etc",
    }
    for name, target in links.items():
        (vault / name).symlink_to(target)
    return Root(vault)


def fault_of(root: Root, relative: str, *, must_exist: bool = False) -> Fault:
    with pytest.raises(Fault) as raised:
        root.resolve(relative, must_exist=must_exist)
    return raised.value


@pytest.mark.parametrize(
    ("relative", "inside"),
    [
        (".", "."),
        ("notes/a.md", "notes/a.md"),
        ("./notes//./a.md", "notes/a.md"),
        ("notes/../notes/a.md", "notes/a.md"),
        ("inner/a.md", "notes/a.md"),
        ("inner.md", "notes/a.md"),
        ("notes/back/back/a.md", "notes/a.md"),
        ("not/there/yet.md", "not/there/yet.md"),
        ("inner/new.md", "notes/new.md"),
        ("./-rf", "-rf"),
        ("notes/..", "."),
        ("...", "..."),
        ("~", "~"),
        ("notes/a.md\n", "notes/a.md\n"),
    ],
)
def test_a_path_inside_is_given_without_links(root: Root, relative: str, inside: str) -> None:
    assert root.resolve(relative) == root.path / inside


@pytest.mark.parametrize(
    "relative",
    [
        "..",
        "../vault-evil/x.md",
        "../vault/notes/a.md",
        "notes/../../vault-evil/x.md",
        "/",
        "//etc/passwd",
        "/etc/passwd",
        "/etc/passwd/below/a/file",
        "/nowhere/at/all",
        "out",
        "out/x.md",
        "out/not/there",
        "out.md",
        "out.md/below",
        "up",
        "up/vault-evil/x.md",
        "dangling",
        "dangling/below",
        "etc/passwd",
        "notes/back/../out/x.md",
        "../" * 200 + "etc/passwd",
    ],
)
def test_a_path_that_leads_outside_is_denied_and_what_is_there_stays_unknown(
    root: Root, relative: str
) -> None:
    fault = fault_of(root, relative)
    assert fault.kind is FaultKind.PERMISSION_DENIED
    assert "leads outside the root" in fault.message
    assert fault_of(root, relative, must_exist=True).message == fault.message
    assert str(root.path.parent) not in fault.message


def test_a_sibling_with_the_roots_name_as_prefix_is_outside(root: Root) -> None:
    assert fault_of(root, f"{root.path}-evil/x.md").kind is FaultKind.PERMISSION_DENIED


def test_an_absolute_path_inside_is_accepted(root: Root) -> None:
    assert root.resolve(f"{root.path}/notes/a.md") == root.path / "notes/a.md"


def test_a_root_named_by_a_link_is_followed_once_and_its_paths_are_known(root: Root, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root.path)
    alias = Root(tmp_path / "alias")
    assert alias.resolve(str(tmp_path / "alias" / "notes")) == root.path / "notes"
    assert alias.relative_name(tmp_path / "alias" / "notes" / "a.md") == "notes/a.md"


@pytest.mark.parametrize(
    ("relative", "says"),
    [
        ("", "empty"),
        ("a\0b", "NUL"),
        ("-rf", "looks like an option"),
        ("--config=x", "looks like an option"),
        ("n" * 256, "longer than 255 bytes"),
        ("ü" * 128, "longer than 255 bytes"),
        ("n/" * 2048, "longer than 4095 bytes"),
        ("n/" * 2047, "too long"),
        ("\ud800", "characters no file name can have"),
    ],
)
def test_a_malformed_path_is_refused_with_what_is_wrong(root: Root, relative: str, says: str) -> None:
    fault = fault_of(root, relative)
    assert fault.kind is FaultKind.INVALID_PARAMS
    assert says in fault.message
    assert fault.hint
    assert len(fault.message) < 400


@pytest.mark.parametrize("relative", ["loop", "loop/a", "notes/a.md/b"])
def test_a_path_that_cannot_be_walked_is_not_found(root: Root, relative: str) -> None:
    assert fault_of(root, relative).kind is FaultKind.NOT_FOUND


def test_a_path_that_must_exist_is_not_found_with_the_nearest_name(root: Root) -> None:
    fault = fault_of(root, "notes/b.md", must_exist=True)
    assert (fault.kind, fault.message) == (FaultKind.NOT_FOUND, "'notes/b.md' does not exist")
    assert fault.hint == "did you mean 'notes/a.md'?"
    assert fault_of(root, "note/a.md", must_exist=True).hint == "did you mean 'notes'?"
    assert fault_of(root, "zzz", must_exist=True).hint == "nothing like it is in '.'"


@pytest.fixture
def special_files(root: Root) -> Iterator[Root]:
    os.mkfifo(root.path / "fifo")
    here = Path.cwd()
    os.chdir(root.path)  # a socket's whole path is limited to about a hundred bytes
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        os.chdir(here)
        yield root


@pytest.mark.parametrize("name", ["fifo", "socket"])
def test_pipes_and_sockets_are_denied_without_being_opened(special_files: Root, name: str) -> None:
    assert fault_of(special_files, name).kind is FaultKind.PERMISSION_DENIED
    with pytest.raises(Fault):
        special_files.open(name)


def test_a_device_is_denied() -> None:
    assert fault_of(Root("/dev"), "null").kind is FaultKind.PERMISSION_DENIED


def test_a_path_made_long_by_links_is_not_taken_for_inside(tmp_path: Path) -> None:
    """The way os.path.realpath is led out: past PATH_MAX it stops noticing links."""
    folder = tmp_path / "root"
    folder.mkdir()
    name = "d" * 250
    deepest = os.open(folder, os.O_RDONLY)
    for _ in range(20):
        os.mkdir(name, dir_fd=deepest)
        inner = os.open(name, os.O_RDONLY, dir_fd=deepest)
        os.close(deepest)
        deepest = inner
    os.symlink("/etc", "way-out", dir_fd=deepest)
    os.close(deepest)
    for number in range(20):
        (folder / str(number)).symlink_to(f"{number - 1}/{name}" if number else name)
    led_out = os.path.realpath(folder / "19" / "way-out" / "passwd")
    assert led_out.startswith(str(folder)), "realpath no longer falls for it"
    fault = fault_of(Root(folder), "19/way-out/passwd")
    assert fault.kind in {FaultKind.INVALID_PARAMS, FaultKind.PERMISSION_DENIED}


names = st.sampled_from(
    [
        "..",
        ".",
        "",
        "notes",
        "out",
        "up",
        "loop",
        "etc",
        "inner",
        "back",
        "a.md",
        "vault-evil",
        "passwd",
        "-rf",
    ]
)
paths = st.one_of(
    st.lists(names, max_size=8).map("/".join),
    st.lists(names, max_size=8).map(lambda parts: "/" + "/".join(parts)),
    st.lists(st.one_of(names, st.text(max_size=8)), max_size=6).map("/".join),
    st.text(),
)


@given(relative=paths)
@example(relative="up/vault/up/vault/notes")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=400)
def test_whatever_is_asked_the_answer_lies_inside_or_is_a_fault(root: Root, relative: str) -> None:
    try:
        path = root.resolve(relative)
    except Fault:
        return
    # The kernel's own opinion, not ours again.
    assert Path(os.path.realpath(path)) == path
    assert os.path.commonpath([os.path.realpath(path), root.path]) == str(root.path)


@given(relative=paths)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=400)
def test_whatever_is_opened_is_a_file_inside(root: Root, relative: str) -> None:
    try:
        descriptor = root.open(relative)
    except Fault:
        return
    with os.fdopen(descriptor) as file:
        assert file.read() in {"a", "dash"}


def test_the_property_sees_a_planted_fault(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    """With links taken for plain names, the checks above turn red."""
    monkeypatch.setattr(Root, "_read_link", lambda *_: None)
    with pytest.raises(AssertionError):
        test_whatever_is_asked_the_answer_lies_inside_or_is_a_fault(root)
    assert root.resolve("out/x.md").read_text() == SECRET


def test_open_creates_reads_and_reports_in_typed_faults(root: Root) -> None:
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(root.open("notes/new.md", new), "w") as file:
        file.write("new")
    with os.fdopen(root.open("inner/new.md")) as file:
        assert file.read() == "new"
    kinds = {}
    for relative, flags in [
        ("notes/new.md", new),
        ("notes", os.O_RDONLY),
        (".", os.O_RDWR),
        ("no", os.O_RDONLY),
    ]:
        with pytest.raises(Fault) as raised:
            root.open(relative, flags)
        kinds[relative] = raised.value.kind
    assert kinds == {
        "notes/new.md": FaultKind.CONFLICT,
        "notes": FaultKind.INVALID_PARAMS,
        ".": FaultKind.INVALID_PARAMS,
        "no": FaultKind.NOT_FOUND,
    }


def test_a_folder_swapped_for_a_link_between_look_and_open_is_not_followed(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root.path / "notes" / "x.md").write_text("inside")
    honest = Root.resolve

    def resolve_then_swap(self: Root, relative: str, *, must_exist: bool = False) -> Path:
        path = honest(self, relative, must_exist=must_exist)
        (root.path / "notes").rename(root.path / "moved")
        (root.path / "notes").symlink_to(root.path.parent / "vault-evil")
        return path

    monkeypatch.setattr(Root, "resolve", resolve_then_swap)
    with pytest.raises(Fault) as raised:
        root.open("notes/x.md")
    assert raised.value.kind is FaultKind.PERMISSION_DENIED


def test_open_leaks_no_descriptor(root: Root) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are not needed

    before = count()
    for relative in ["notes/a.md", "notes", "no/where", "out/x.md", "notes/a.md/b"] * 20:
        try:
            os.close(root.open(relative))
        except Fault:
            continue
    assert (count(), threading.active_count()) == (before, threading.active_count())


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("notes/a.md", "notes/a.md"),
        ("", "."),
        ("-rf", "./-rf"),
        ("notes/../../vault-evil/x.md", "(outside the root)"),
        ("/etc/passwd", "(outside the root)"),
    ],
)
def test_the_name_for_messages_never_shows_what_lies_outside(root: Root, path: str, name: str) -> None:
    assert root.relative_name(path) == name
    assert root.relative_name(root.path / path) == name


def test_a_root_that_is_no_folder_is_a_fault(root: Root, tmp_path: Path) -> None:
    for path, kind in [(tmp_path / "no", FaultKind.NOT_FOUND), (root.path / "-rf", FaultKind.INVALID_PARAMS)]:
        with pytest.raises(Fault) as raised:
            Root(path)
        assert raised.value.kind is kind
