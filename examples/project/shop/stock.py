"""What the warehouse says."""

import socket


def wait_for_answer():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        return ours.recv(1)


def count_items(name):
    answer = wait_for_answer()
    return len(answer)
