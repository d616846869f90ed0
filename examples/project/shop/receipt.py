"""What a customer is shown."""


def print_receipt(basket, discount_percent=0):
    rows = [f"{count} x {name}: {price * count}" for name, price, count in basket.lines]
    return "\n".join([*rows, f"total: {basket.total()}"])
