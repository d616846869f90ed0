def test_before():
    assert True


def spin():
    while True:
        pass


def test_spins():
    spin()
