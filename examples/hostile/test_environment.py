import builtins
import os
import sys
import time


def test_closes_every_descriptor():
    os.closerange(3, 4096)


def test_replaces_what_reporters_use(monkeypatch):
    def fail(*_args, **_kwargs):
        raise RuntimeError("replaced")

    for name in ("write", "getpid", "fstat", "open"):
        monkeypatch.setattr(os, name, fail)
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    monkeypatch.setattr(builtins, "repr", fail)


def test_goes_elsewhere():
    os.chdir("/")
    os.environ.clear()
    sys.path.clear()


def test_closes_stdout_for_good():
    os.close(1)
    os.close(2)


def test_after():
    assert True
