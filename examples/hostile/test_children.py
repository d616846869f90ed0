import os
import subprocess
import sys

SLEEP = [sys.executable, "-c", "import time; time.sleep(1000)"]


def test_leaves_a_daemon_that_holds_every_descriptor():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            import time

            time.sleep(1000)
        os._exit(0)
    os.wait()


def test_leaves_200_children():
    for _ in range(200):
        subprocess.Popen(["sleep", "1000"], start_new_session=True)


def test_forks_and_the_child_goes_on_as_if_it_were_pytest():
    os.fork()
