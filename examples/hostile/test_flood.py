import os
import sys


def test_prints_50_megabytes_and_fails():
    line = "x" * 1023 + "\n"
    for _ in range(50 * 1024):
        sys.stdout.write(line)
    assert False, "after the flood"


def test_fails_with_a_megabyte():
    assert False, "y" * 1_000_000


def test_prints_bytes_that_are_no_text():
    os.write(1, b"\xff\xfe\x00 not text \xc3\x28\n")
    print("\ud800 half a character")
    assert "\udcff" == "", "a lone \udcff surrogate"
