import pytest
from shop.basket import Basket


@pytest.fixture
def basket():
    return Basket()


def test_an_empty_basket_costs_nothing(basket):
    assert basket.total() == 0


class TestTotals:
    @pytest.mark.parametrize("count", [1, 2, 10])
    def test_counts_multiply(self, basket, count):
        basket.add("tea", 4, count)
        assert basket.total() == 4 * count

    class TestRefusals:
        def test_a_negative_price_is_refused(self, basket):
            with pytest.raises(ValueError):
                basket.add("tea", -4)


@pytest.mark.slow
def test_many_lines_add_up(basket):
    for number in range(1000):
        basket.add(f"item {number}", number)
    assert basket.total() == 499500
