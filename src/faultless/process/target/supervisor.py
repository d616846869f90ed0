"""One run at a time: start a command, end it at its deadline, kill its whole tree, tell how it ended."""

from __future__ import annotations

import errno
import os
import time

from . import tree, wire
from .system import signal, suppress

TYPE_CHECKING = False  # see system
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable, Mapping, Sequence

    from .system import System

_KILL_AGAIN_SECONDS = 0.002
_LOOK_AGAIN_SECONDS = 0.05  # where orphans are not adopted, nobody is told of their end
_OUTPUT = (1, 2)
_RESET = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Phase:
    RUNNING = "running"
    SETTLING = "settling"
    """The first process has ended, others may be about to."""
    ENDING = "ending"
    """All were asked to end."""
    KILLING = "killing"


class _Refused(Exception):  # noqa: N818 - the word of the wire
    def __init__(self, step: str, error: OSError) -> None:
        super().__init__(step)
        self.event = {"refused": step, "errno": error.errno}


class Spawner:
    """How the first process of a run comes to be. A warm parent has another one, which forks instead."""

    def __init__(self, system: System) -> None:
        self.system = system

    def prepare(self, control: _socket.socket) -> None:
        """Nothing is running: the time to get ready for the next run, until `control` has a request."""

    def spawn(
        self, path: str, command: list[str], env: Mapping[str, str], actions: Sequence[tuple[int, int, int]]
    ) -> int:
        return self.system.spawn(path, command, env, actions, _RESET)

    def close(self) -> None:
        """There will be no next run."""


class ForkedChild(BaseException):
    """Raised in a fork that goes on as the command itself; passes through everything the parent was doing."""

    def __init__(self, resume: Callable[[], None]) -> None:
        super().__init__()
        self.resume = resume


def serve(spawner: Spawner, control: _socket.socket) -> None:
    """Run one command after the other until the server hangs up."""
    system = spawner.system
    members = tree.make_tree(system)
    wake = open_wake(system)
    if not system.wait_for_input([control.fileno()], 0):
        wire.load_json()
    while True:
        spawner.prepare(control)
        request = wire.receive_request(system, control)
        if request is None:
            break
        run = Run(spawner, control, members, wake)
        try:
            run.start(request)
        except _Refused as refused:
            wire.report(system, control, refused.event)
        else:
            run.see_through()
        os.chdir("/")  # an idle supervisor keeps no folder busy
    spawner.close()


def open_wake(system: System) -> int:
    """A descriptor that becomes readable when a child ends."""
    read_end, write_end = system.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler nothing is written
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    return read_end


def clear_wake(descriptor: int) -> None:
    with suppress(BlockingIOError):
        os.read(descriptor, 4096)


class Run:
    """A command and its tree, from the first process to the last.

    RUNNING until the deadline or a stop order, ENDING (everybody got SIGTERM) until the grace is over,
    KILLING until nobody is left. When the first process ends by itself, its tree is SETTLING before that.
    """

    def __init__(self, spawner: Spawner, control: _socket.socket, members: tree.Tree, wake: int) -> None:
        self._spawner = spawner
        self._system = spawner.system
        self._control = control
        self._tree = members
        self._wake = wake
        self._orders = b""
        self._hung_up = False
        self._leader = 0
        self._started = 0.0
        self._grace_seconds = 0.0
        self._announces_start = False
        self._is_streaming = False
        self._phase = _Phase.RUNNING
        self._phase_ends = 0.0
        self._ended: dict[str, float] = {}
        self._timed_out = False
        self._leftovers = 0
        self._survivors = 0
        self._held: list[int] = []

    def start(self, request: wire.Request) -> None:
        try:
            os.chdir(request.cwd)
        except OSError as error:
            _close(request.descriptors)
            raise _Refused("cwd", error) from error
        self._started = time.monotonic()
        try:
            actions = plan_copies(self._system, request.descriptors, request.targets)
            path = _find_program(request.command[0], request.env)
            self._leader = self._spawner.spawn(path, request.command, request.env, actions)
        except OSError as error:
            _close(request.descriptors)
            raise _Refused("start", error) from error
        except BaseException:  # a fork that goes on as the command has its copies
            _close(request.descriptors)
            raise
        self._hold_output(request)
        self._announces_start = request.announces_start
        self._is_streaming = request.is_streaming
        self._grace_seconds = request.grace_seconds
        self._phase_ends = self._started + request.deadline_seconds
        self._tree.watch(self._leader)

    def _hold_output(self, request: wire.Request) -> None:
        """Stdout and stderr stay open here until the end is told: the server wakes once, not thrice."""
        pairs = list(zip(request.descriptors, request.targets))  # noqa: B905 - runs in Python 3.8 too
        held = () if request.is_streaming else _OUTPUT
        self._held = [source for source, target in pairs if target in held]
        _close([source for source, target in pairs if target not in held])

    def see_through(self) -> None:
        try:
            if self._announces_start:
                with suppress(BrokenPipeError):
                    wire.report_start(self._system, self._control, self._leader)
            wire.load_json()
            while not self._reap():
                if time.monotonic() >= self._phase_ends and not self._advance():
                    break
                if self._phase is _Phase.KILLING:
                    self._kill()
                self._wait()
        except OSError:
            self._kill()  # as far as it goes; the warden adopts and kills the rest
            raise
        self._report(
            {
                **self._ended,
                "timed_out": self._timed_out,
                "leftovers": self._leftovers,
                "survivors": self._survivors,
            }
        )
        _close(self._held)
        if self._survivors:
            raise OSError(errno.EBUSY, "some processes could not be killed")

    def _report(self, event: dict[str, object]) -> None:
        with suppress(BrokenPipeError):  # the server is gone: the socket's end will say so
            wire.report(self._system, self._control, event)

    def _reap(self) -> bool:
        """Take in every process that ended; whether the tree is gone."""
        while True:
            try:
                pid, status = self._system.reap()
            except ChildProcessError:
                return self._tree.is_empty()
            if pid == 0:
                return False
            if pid == self._leader:
                self._ended = {"ended": status, "seconds": time.monotonic() - self._started}
                if self._is_streaming:
                    self._report({"exited": status})
                if self._phase is _Phase.RUNNING:
                    self._enter(_Phase.SETTLING, wire.SETTLE_SECONDS)

    def _advance(self) -> bool:
        """The phase's time is over; false when there is nothing more to try."""
        if self._phase is _Phase.KILLING:
            self._survivors = max(1, len(self._tree.members()))
            return False
        if self._phase is _Phase.ENDING:
            self._enter(_Phase.KILLING, wire.KILL_SECONDS)
            return True
        self._timed_out = self._phase is _Phase.RUNNING
        count = self._ask_to_end(self._grace_seconds)
        if not self._timed_out:  # the command ended by itself: who is still there was left behind by it
            self._leftovers = max(1, count)  # even if it is too quick to be seen
        return True

    def _enter(self, phase: str, seconds: float) -> None:
        self._phase = phase
        self._phase_ends = time.monotonic() + seconds

    def _ask_to_end(self, grace_seconds: float) -> int:
        members = self._tree.members()
        parents = {*members, os.getpid()}
        for pid in members:
            tree.reach(self._system, pid, parents, signal.SIGTERM)
            tree.reach(self._system, pid, parents, signal.SIGCONT)  # a stopped process takes no other signal
        self._enter(_Phase.ENDING, grace_seconds)
        return len(members)

    def _kill(self) -> None:
        """Again and again until nobody is left: a process may fork while its tree is killed."""
        for pid in self._tree.nearest():
            with suppress(OSError):  # it may have ended; if it is not ours, it is counted later
                self._system.kill(pid, signal.SIGKILL)

    def _wait(self) -> None:
        """Until a child ended, an order came, the phase is over or it is time to look again."""
        seconds = self._phase_ends - time.monotonic()
        if self._phase is _Phase.KILLING:
            seconds = min(seconds, _KILL_AGAIN_SECONDS)
        elif self._phase is not _Phase.RUNNING:
            seconds = min(seconds, _LOOK_AGAIN_SECONDS)
        control = self._control.fileno()
        ready = self._system.wait_for_input([self._wake] if self._hung_up else [self._wake, control], seconds)
        if self._wake in ready:
            clear_wake(self._wake)
        if control in ready:
            self._obey()

    def _obey(self) -> None:
        try:
            data, _descriptors = self._system.receive(self._control, 4096)
        except ConnectionResetError:
            data = b""
        if not data:
            self._hung_up = True
            self._enter(_Phase.KILLING, wire.KILL_SECONDS)
        self._orders += data
        while len(self._orders) >= wire.FRAME.size:
            letter, number, _unused = wire.FRAME.unpack_from(self._orders)
            self._orders = self._orders[wire.FRAME.size :]
            if letter == wire.SIGNAL and not self._ended:
                with suppress(OSError):  # no such signal, or the command has become another user's
                    self._system.kill(self._leader, number)
            elif letter == wire.STOP and self._phase in {_Phase.RUNNING, _Phase.SETTLING}:
                self._ask_to_end(number / 1000)
            elif letter == wire.DEADLINE and self._phase is _Phase.RUNNING:
                self._started = time.monotonic()
                self._phase_ends = self._started + number / 1000
            elif letter == wire.STOP:
                self._phase_ends = min(self._phase_ends, time.monotonic() + number / 1000)


def plan_copies(system: System, descriptors: list[int], targets: list[int]) -> list[tuple[int, int, int]]:
    """How each gets to its target; those in the way of a target are moved first."""
    highest = max(targets)
    for index, descriptor in enumerate(descriptors):
        if descriptor <= highest:  # it could be overwritten before it is copied
            descriptors[index] = system.move(descriptor, highest + 1)
    pairs = zip(descriptors, targets)  # noqa: B905 - runs in Python 3.8 too
    return [(os.POSIX_SPAWN_DUP2, source, target) for source, target in pairs]


def _find_program(name: str, env: Mapping[str, str]) -> str:
    """Where the command's own PATH leads, as a shell in its folder would see it."""
    if "/" in name:
        return name
    failure = errno.ENOENT
    for folder in env.get("PATH", os.defpath).split(":"):
        path = os.path.join(folder or ".", name)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
        if os.path.isfile(path):
            failure = errno.EACCES
    raise OSError(failure, os.strerror(failure), name)


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
