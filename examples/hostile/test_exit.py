import os

import pytest


def test_before():
    assert True


def test_leaves_without_a_word():
    os._exit(7)


def test_leaves_pretending_success():
    os._exit(0)


def test_asks_pytest_to_stop_with_success():
    pytest.exit("enough", returncode=0)


def test_after():
    assert True
