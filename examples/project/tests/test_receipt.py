import pytest
from shop.basket import Basket
from shop.receipt import print_receipt


def fill():
    basket = Basket()
    basket.add("tea", 4, 2)
    basket.add("cup", 12)
    return basket


def test_lines_are_shown():
    assert "2 x tea: 8" in print_receipt(fill())


def test_a_discount_is_taken_off():
    print("printing a receipt")
    receipt = print_receipt(fill(), discount_percent=10)
    assert receipt.splitlines()[-1] == "total: 18"


@pytest.mark.skip(reason="the printer is out of paper")
def test_paper_comes_out():
    raise AssertionError


@pytest.mark.xfail(reason="nobody asked for it yet")
def test_prices_have_a_currency():
    assert "€" in print_receipt(fill())
