import time

import pytest


@pytest.fixture
def sleepy():
    time.sleep(100_000)


def test_waits_for_its_fixture(sleepy):
    assert True
