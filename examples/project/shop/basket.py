"""What a customer is about to buy."""


class Basket:
    def __init__(self):
        self.lines = []

    def add(self, name, price, count=1):
        if price < 0 or count < 1:
            raise ValueError("a line needs a price and a count")
        self.lines.append((name, price, count))

    def total(self):
        return sum(price * count for _, price, count in self.lines)
