import pytest


@pytest.mark.parametrize("number", range(10_000))
def test_one_of_ten_thousand(number):
    assert number >= 0


@pytest.mark.parametrize("number", range(200))
def test_one_cause(number):
    found = {"status": 500, "id": number}
    assert found["status"] == 200
