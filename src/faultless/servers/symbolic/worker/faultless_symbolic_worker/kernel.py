"""The two layers of the sandbox that are written by hand: Landlock and seccomp, by system call."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1
_READ = 1 | 4 | 8  # execute (shared libraries), read a file, list a directory
_ALL_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_NET_ABI, _SCOPE_ABI = 4, 6
_ALL_NET, _ALL_SCOPES = 3, 3
_libc = ctypes.CDLL(None, use_errno=True)


def _landlock_version() -> int:
    """The kernel's Landlock ABI; 0 where there is none."""
    try:
        return max(0, int(_libc.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION_FLAG)))
    except (AttributeError, OSError):
        return 0


def restrict_paths(readable: list[str]) -> bool:
    abi = _landlock_version()
    if abi < 1:
        return False
    handled = _ALL_BY_ABI[min(abi, max(_ALL_BY_ABI))]
    fields = [handled]
    if abi >= _NET_ABI:
        fields.append(_ALL_NET)
    if abi >= _SCOPE_ABI:
        # Signals and abstract sockets only inside the sandbox.
        fields.append(_ALL_SCOPES)
    attributes = struct.pack(f"{len(fields)}Q", *fields)
    ruleset = _libc.syscall(_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow(ruleset, path)
        return bool(_libc.syscall(_RESTRICT, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        _libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", _READ, folder), 0)
    finally:
        os.close(folder)


_LD, _JEQ, _JSET, _RET, _JGE = 0x20, 0x15, 0x45, 0x06, 0x35
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCH, _ARGS = 0, 4, 16
_PR_SET_SECCOMP, _FILTER = 22, 2
_CLONE_THREAD = 0x10000
_X32 = 0x40000000
_WRITING = (
    0o1 | 0o2 | 0o100 | 0o1000 | 0o2000 | 0o20000000
)  # O_WRONLY O_RDWR O_CREAT O_TRUNC O_APPEND O_TMPFILE's own bit


def _read_numbers(table: str) -> dict[str, int]:
    pairs = (entry.split("=") for entry in table.split())
    return {name: int(number) for name, number in pairs}


_X86_64 = _read_numbers(
    """
    read=0 write=1 open=2 close=3 stat=4 fstat=5 lstat=6 poll=7 lseek=8 mmap=9 mprotect=10 munmap=11
    brk=12 rt_sigaction=13 rt_sigprocmask=14 rt_sigreturn=15 pread64=17 access=21 select=23
    sched_yield=24 mremap=25 madvise=28 nanosleep=35 getitimer=36 setitimer=38 getpid=39 exit=60
    uname=63 fcntl=72 getcwd=79 readlink=89 gettimeofday=96 getrlimit=97 getrusage=98 sysinfo=99
    times=100 getuid=102 getgid=104 geteuid=107 getegid=108 getppid=110 sigaltstack=131 arch_prctl=158
    gettid=186 time=201 futex=202 sched_getaffinity=204 getdents64=217 set_tid_address=218
    restart_syscall=219 clock_gettime=228 clock_getres=229 clock_nanosleep=230 exit_group=231 openat=257
    newfstatat=262 readlinkat=267 faccessat=269 pselect6=270 ppoll=271 set_robust_list=273 getrandom=318
    membarrier=324 statx=332 rseq=334 faccessat2=439 clone=56 clone3=435
    """
)
_AARCH64 = _read_numbers(
    """
    read=63 write=64 close=57 fstat=80 ppoll=73 lseek=62 mmap=222 mprotect=226 munmap=215 brk=214
    rt_sigaction=134 rt_sigprocmask=135 rt_sigreturn=139 pread64=67 pselect6=72 sched_yield=124
    mremap=216 madvise=233 nanosleep=101 getitimer=102 setitimer=103 getpid=172 exit=93 uname=160
    fcntl=25 getcwd=17 readlinkat=78 gettimeofday=169 getrlimit=163 getrusage=165 sysinfo=179 times=153
    getuid=174 getgid=176 geteuid=175 getegid=177 getppid=173 sigaltstack=132 gettid=178 futex=98
    sched_getaffinity=123 getdents64=61 set_tid_address=96 restart_syscall=128 clock_gettime=113
    clock_getres=114 clock_nanosleep=115 exit_group=94 openat=56 newfstatat=79 faccessat=48
    set_robust_list=99 getrandom=278 membarrier=283 statx=291 rseq=293 faccessat2=439 clone=220
    clone3=435
    """
)
_MACHINES = {"x86_64": (0xC000003E, _X86_64), "aarch64": (0xC00000B7, _AARCH64)}
# Which argument holds the flags: openat(dir, path, FLAGS), open(path, FLAGS).
_OPENING = {"openat": 2, "open": 1}


def filter_system_calls() -> bool:
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    program = _write_program(*machine)
    memory = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(memory))
    return bool(_libc.prctl(_PR_SET_SECCOMP, _FILTER, header, 0, 0) == 0)


def _write_program(arch: int, numbers: dict[str, int]) -> bytes:
    refuse = _ERRNO | errno.EPERM
    steps = [
        _step(_LD, _ARCH),
        _step(_JEQ, arch, 1, 0),
        _step(_RET, _KILL),
        _step(_LD, _NUMBER),
        # x86-64's second table of the same calls would walk round the list.
        _step(_JGE, _X32, 0, 1),
        _step(_RET, refuse),
    ]
    for name, number in numbers.items():
        if name == "clone3":
            steps += [_step(_JEQ, number, 0, 1), _step(_RET, _ERRNO | errno.ENOSYS)]
        elif name == "clone":
            steps += _when(number, 0, _CLONE_THREAD, _ALLOW, refuse)
        elif name in _OPENING:
            steps += _when(number, _OPENING[name], _WRITING, refuse, _ALLOW)
        else:
            steps += [_step(_JEQ, number, 0, 1), _step(_RET, _ALLOW)]
    steps.append(_step(_RET, refuse))
    return b"".join(steps)


def _when(number: int, argument: int, bits: int, if_set: int, if_clear: int) -> list[bytes]:
    """For one system call: look at an argument's bits."""
    return [
        _step(_JEQ, number, 0, 5),
        _step(_LD, _ARGS + 8 * argument),
        _step(_JSET, bits, 0, 1),
        _step(_RET, if_set),
        _step(_RET, if_clear),
        _step(_LD, _NUMBER),
    ]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
