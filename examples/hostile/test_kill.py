import os
import signal


def test_kills_itself():
    os.kill(os.getpid(), signal.SIGKILL)


def test_kills_its_parent():
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()


def test_interrupts_itself():
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()
