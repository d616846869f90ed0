import pytest


@pytest.fixture
def snake(snake):
    return snake


def test_bites_its_tail(snake):
    assert snake
