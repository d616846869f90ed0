import pytest
from shop.stock import count_items


@pytest.mark.stock
def test_the_warehouse_answers():
    assert count_items("tea") == 1
