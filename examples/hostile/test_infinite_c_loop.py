import collections
import itertools


def test_never_gives_the_lock_back():
    collections.deque(itertools.repeat(0), maxlen=0)
