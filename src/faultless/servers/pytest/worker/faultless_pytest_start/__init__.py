"""Begins a run, and holds one that begins before it is asked: no test, no effect on the world until then.

It watches by audit events, which nobody else can see, and imports nothing that a bare interpreter has not
loaded: the run finds `sys.modules`, `sys.meta_path` and its own stack as they always are. A pause comes
before the first import of a file that was edited recently, before the first effect, before the first test,
before the session ends, whichever is first. Asked to go on, it first looks again at every file it opened and
every folder it listed; if one has changed it says so and waits for its end. Bytecode that somebody else wrote
meanwhile is no change: its source is what counts.

Some calls act, or read a clock, without an audit event. A run is held before the modules whose only use that
is are imported, and before code of the project that names one of the others. What would go on while the run
is held, a thread or an alarm clock, makes it unfit to be held at all.

Standard library only, Python >= 3.8: it runs in the project's interpreter.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` is made of
import _thread
import os
import sys
import time

TYPE_CHECKING = False  # type checkers know better
if TYPE_CHECKING:
    from typing import Any

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_WORKER = "faultless_pytest_worker"
_HOLD_VARIABLE = "FAULTLESS_PYTEST_HOLD"
_PATH_VARIABLE = "FAULTLESS_PYTEST_PATH"
_MOVING_PLACES = ("/proc/", "/sys/", "/dev/")  # what is read there is different every time
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FRAMES_TO_CALLER = 10
_FLEETING = ("TemporaryFile", "_get_default_tempdir")  # their files are gone before they return
_ASKING_UNAME = ("from_subprocess", "_syscmd_uname")
_EFFECTS = (
    "_thread.start",  # it would go on while the run is held; before Python 3.12 nothing tells of it
    "ctypes.dlsym",  # whatever is called then, nothing tells of it
    "fcntl.flock",
    "fcntl.lockf",
    "os.ch",
    "os.exec",
    "os.fork",
    "os.kill",
    "os.lchown",
    "os.link",
    "os.lockf",
    "os.mkdir",
    "os.posix_spawn",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.setxattr",
    "os.spawn",
    "os.symlink",
    "os.system",
    "os.truncate",
    "os.utime",
    "pty.spawn",
    "signal.pthread_kill",
    "socket.",
    "sqlite3.connect",
    "subprocess.Popen",
    "syslog.",
    "webbrowser.open",
)
_NO_EFFECTS = frozenset({"os.chdir", "os.fchdir", "socket.__new__", "socket.gethostname"})
_SILENT_MODULES = frozenset(
    {
        "_dbm",
        "_gdbm",
        "_interpreters",
        "_posixshmem",
        "_xxsubinterpreters",
        "multiprocessing.forkserver",
        "multiprocessing.popen_forkserver",
        "multiprocessing.popen_spawn_posix",
        "multiprocessing.resource_tracker",
    }
)
"""They act on the world and no event tells of it."""
_SILENT_NAMES = frozenset(
    {
        "append_history_file",
        "dump_traceback_later",
        "fork_exec",
        "mkfifo",
        "mknod",
        "pidfd_send_signal",
        "setpriority",
        "spawnv_passfds",
        "write_history_file",
    }
)
"""Functions of other modules that do."""
_CLOCKS = frozenset({"now", "utcnow", "today", "time_ns", "monotonic", "perf_counter", "localtime", "gmtime"})
"""What is read from them while a file is imported would be older than the call."""
_CONFTEST = "conftest.py"  # its functions run before the first test
_LOOKS = frozenset({"stat", "lstat", "fstat", "getsize", "getmtime", "getctime"})
"""They tell a file that was edited from the one before without opening it, and no event tells of it."""
_IS_FUNCTION = 1  # CO_OPTIMIZED: not the code of a module or a class, which runs when it is imported
_FILE_TYPE, _ORDINARY_FILES = 0o170000, (0o100000, 0o040000)
_LONGEST_REASON = 300


def begin() -> None:
    """Put the real pytest in the place of its stand-in, and have our worker ready for it."""
    shown = os.environ.pop(_PATH_VARIABLE, None)
    if shown is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = shown
    held = os.environ.pop(_HOLD_VARIABLE, None)
    _leave_path()
    del sys.modules["pytest"], sys.modules[__name__]
    watch = None if held is None else Watch(int(held))
    import pytest  # noqa: F401, PLC0415 - the real one: it has to be loaded under the watch

    sys.path.insert(0, _FOLDER)
    worker: Any = __import__(_WORKER)
    _leave_path()
    worker.watch, worker.can_be_held = watch, True


def _leave_path() -> None:
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _FOLDER]
    sys.path_importer_cache.pop(_FOLDER, None)


class Watch:
    """What the run has consumed so far, and where it is held."""

    def __init__(self, line: int) -> None:
        self._line = line
        self._read, self._write, self._close, self._leave = os.read, os.write, os.close, os._exit
        self._stat, self._list, self._here = os.stat, os.listdir, os.getcwd
        self._clock, self._now = time.monotonic, time.time
        self._decode, self._encode, self._spell = os.fsdecode, os.fsencode, os.fspath
        self._alarm, self._count_threads = _signal.getitimer, _thread._count  # noqa: SLF001 - as `threading` does
        self._lock = _thread.RLock()
        self._files: dict[str, tuple[int, int, int, int] | None] = {}
        self._folders: dict[str, list[str] | None] = {}
        self.held_at, self.held_seconds = 0.0, 0.0
        self._edited = frozenset(self._receive())
        self._has_looked = False
        self._active = [True]
        self._is_looking = False
        active, take = self._active, self._take

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            if active:
                try:
                    take(event, arguments)
                except Exception as error:  # noqa: BLE001 - the run must not see it
                    self.pause("{} could not be followed: {}".format(event, type(error).__name__))

        sys.addaudithook(hook)

    # ---- what happens

    def _take(self, event: str, arguments: tuple[object, ...]) -> None:
        if self._is_looking:
            return
        if event == "open":
            self._take_open(*arguments[:3])  # type: ignore[arg-type]  # as the interpreter gives them
        elif event == "import":
            self._take_import(*arguments[:2])  # type: ignore[arg-type]  # as above
        elif event == "exec":
            self._take_code(arguments[0])
        elif event in ("os.listdir", "os.scandir"):
            self._take_folder(arguments[0])
        elif event.startswith(_EFFECTS) and event not in _NO_EFFECTS:
            if event == "os.mkdir" and self._exists(arguments[0]):
                return  # it will be refused
            if event == "os.remove" and _is_nameless():
                return
            if event == "subprocess.Popen" and _is_within("platform", _ASKING_UNAME):
                return  # it prints the processor's name, for plugins that tell on what machine they ran
            self.pause("its first effect: {} {}".format(event, _show(arguments)))

    def _take_open(self, name: object, mode: str | None, flags: int) -> None:
        if isinstance(name, int):
            return
        path = self._resolve(name)
        if path is None or (mode is None and not os.path.isabs(self._decode(self._spell(name)))):  # type: ignore[call-overload]  # a path
            self.pause("a file opened in a way that does not say which")
        elif flags & _WRITES or (mode and set(mode) & set("wax+")):
            if path != os.devnull and not _is_nameless():
                self.pause("its first effect: open {} for writing".format(path))
        elif not path.startswith(_MOVING_PLACES):
            if self._is_strange(path):
                self.pause("the opening of {}, which is no ordinary file".format(path))
            source = _find_source(path)
            if source in self._edited and "-pytest-" in os.path.basename(path):
                # Pytest's own loader opens the bytecode before it looks at the source.
                self.pause("{}, edited recently".format(source))
            if self._active:
                self._consume(source)
                if self._files.get(source) is None:
                    self._consume(path)  # else the source decides what the bytecode may be

    def _take_import(self, module: str, file: object) -> None:
        if isinstance(file, str):
            self._consume(os.path.join(self._here(), file))
        elif module in _SILENT_MODULES:
            self.pause("its first effect: the import of {}".format(module))
        elif self._is_edited(module):
            self.pause("the import of {}, edited recently".format(module))

    def _take_code(self, code: object) -> None:
        """Code of the project that is about to run."""
        file = getattr(code, "co_filename", "")
        if not file or file.startswith((sys.prefix, sys.base_prefix, _FOLDER, "<")):
            return
        names = _list_names(code)
        if _SILENT_NAMES & names:
            self.pause("{}, which may act in ways that nothing tells of".format(file))
        elif _CLOCKS & (names if file.endswith(_CONFTEST) else _list_names(code, only_at_import=True)):
            self.pause("{}, which reads a clock".format(file))
        self._has_looked = self._has_looked or bool(_LOOKS & names)

    def _is_edited(self, module: str) -> bool:
        place = "/" + module.replace(".", "/")
        return any(path.endswith((place + ".py", place + "/__init__.py")) for path in self._edited)

    def _take_folder(self, name: object) -> None:
        path = None if isinstance(name, int) else self._resolve("." if name is None else name)
        if path is None:
            self.pause("a folder listed in a way that does not say which")
        elif path not in self._folders and not path.startswith(_MOVING_PLACES):
            self._folders[path] = self._list_names(path)

    def _consume(self, path: str) -> None:
        if path not in self._files and not path.startswith(_FOLDER):
            self._files[path] = self._stamp(path)

    def _resolve(self, name: object) -> str | None:
        try:
            return os.path.join(self._here(), self._decode(self._spell(name)))  # type: ignore[call-overload]  # or TypeError
        except (TypeError, ValueError, OSError):
            return None

    def _is_strange(self, path: str) -> bool:
        try:
            return self._stat(path).st_mode & _FILE_TYPE not in _ORDINARY_FILES
        except (OSError, ValueError):
            return False

    def _exists(self, name: object) -> bool:
        path = self._resolve(name)
        return path is not None and self._stamp(path) is not None

    def _stamp(self, path: str) -> tuple[int, int, int, int] | None:
        try:
            status = self._stat(path)
        except (OSError, ValueError):
            return None
        # A link made or removed elsewhere, as uv does for every environment, changes the last of these.
        changed = status.st_ctime_ns if status.st_nlink == 1 else 0
        return status.st_mtime_ns, status.st_size, status.st_ino, changed

    def _list_names(self, path: str) -> list[str] | None:
        self._is_looking = True
        try:
            return sorted(name for name in self._list(path) if name != "__pycache__")
        except OSError:
            return None
        finally:
            self._is_looking = False

    # ---- held

    def pause(self, before: str) -> None:
        """Until somebody asks for this run; for good if what it consumed has changed by then."""
        with self._lock:
            if not self._active:
                return
            goes_on = self._find_what_goes_on()
            if goes_on is not None:
                self._tell("unfit " + goes_on)
                self._leave(1)
            started, self.held_at = self._clock(), self._now()
            self._tell("paused " + before)
            while True:
                change = self._find_change(self._receive())
                if change is None:
                    break
                self._tell("changed " + change)
            self._active.clear()
            self._tell("going on")
            self._close(self._line)
            self._files.clear()
            self._folders.clear()
            self.held_seconds = self._clock() - started

    def _find_change(self, edited: list[str]) -> str | None:
        """`edited` are files known to have changed; that is well as long as nobody had looked at them."""
        for path in edited:
            if self._has_looked or path in self._files:
                return path
        for path, stamp in self._files.items():
            if self._stamp(path) != stamp:
                return path
        for path, names in self._folders.items():
            if self._list_names(path) != names:
                return path
        return None

    def _find_what_goes_on(self) -> str | None:
        """While the run is held, and would not wait for it."""
        if any(self._alarm(clock)[0] for clock in (_signal.ITIMER_REAL, _signal.ITIMER_PROF)):
            return "an alarm clock was set"
        return "a thread was running" if self._count_threads() else None

    def _tell(self, text: str) -> None:
        line = self._encode(text.replace("\n", " ")[:_LONGEST_REASON]) + b"\n"
        try:
            while line:
                line = line[self._write(self._line, line) :]
        except OSError:
            self._leave(1)

    def _receive(self) -> list[str]:
        """Paths: how many bytes follow, then each with a NUL at its end."""
        size = int.from_bytes(self._read_exactly(4), "big")
        return [self._decode(path) for path in self._read_exactly(size).split(b"\0") if path]

    def _read_exactly(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            data = self._read(self._line, size - len(received))
            if not data:
                self._leave(1)  # nobody will ever ask
            received += data
        return received


def _list_names(code: Any, *, only_at_import: bool = False) -> set[str]:
    """Everything that the code names; or what runs of it as soon as it is imported."""
    names, waiting = set(), [code]
    while waiting:
        here = waiting.pop()
        names.update(here.co_names)
        waiting += [
            inner
            for inner in here.co_consts
            if type(inner) is type(code) and not (only_at_import and inner.co_flags & _IS_FUNCTION)
        ]
    return names


def _find_source(path: str) -> str:
    """Of a bytecode file, the file that decides whether it is used; of any other, itself."""
    if not path.endswith(".pyc"):
        return path
    folder, name = os.path.split(path)
    prefix = getattr(sys, "pycache_prefix", None)
    if prefix and folder.startswith(prefix):
        folder = folder[len(prefix) :]
    elif os.path.basename(folder) == "__pycache__":
        folder = os.path.dirname(folder)
    return os.path.join(
        folder, name[: -len(".pyc")].split("." + str(sys.implementation.cache_tag))[0] + ".py"
    )


def _is_within(module: str, functions: tuple[str, ...]) -> bool:
    """Whether one of these functions of the standard library is at work."""
    frame: Any = sys._getframe(1)  # noqa: SLF001 - who is calling
    for _ in range(_FRAMES_TO_CALLER):
        if frame is None:
            break
        if frame.f_code.co_name in functions and frame.f_globals.get("__name__") == module:
            return True
        frame = frame.f_back
    return False


def _is_nameless() -> bool:
    """Whether it is a temporary file without a name, or with one for a moment: pytest's capture needs it."""
    return _is_within("tempfile", _FLEETING)


def _show(arguments: tuple[object, ...]) -> str:
    return " ".join(argument for argument in arguments if isinstance(argument, str))
