"""What an answer costs the model, in tokens of a real tokenizer; the client passes on structuredContent."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable

from tests.servers.pytest.conftest import Answer, Server

Serve = Callable[..., Server]

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # the package reads its vocabulary in an old way
    import bpe_openai  # type: ignore[import-untyped]  # it ships no types

    ENCODING = bpe_openai.get_encoding("o200k_base")

SUITE = {
    f"tests/test_module_{number:02}.py": "".join(
        f"def test_something_number_{test}():\n    pass\n\n\n" for test in range(12)
    )
    for number in range(13)
}

TYPICAL = {
    "tests/test_user.py": """
        def log_in(name, password):
            return {"status_code": 500, "name": name}


        def test_login_failure():
            response = log_in("ada", "wrong")
            print("asked for ada")
            assert response["status_code"] == 401, "a wrong password must be refused"
    """
}

ONE_CAUSE = {
    "tests/test_many.py": """
        import pytest


        def fetch(number):
            return {"status": 500, "id": number}


        @pytest.mark.parametrize("number", range(200))
        def test_fetch(number):
            assert fetch(number)["status"] == 200
    """
}


def count(answer: Answer) -> int:
    return len(ENCODING.encode(json.dumps(answer, separators=(",", ":"), ensure_ascii=False)))


def test_156_passing_tests_cost_at_most_200_tokens(serve: Serve) -> None:
    answer = serve(SUITE).run()
    assert answer["summary"]["passed"] == 156
    assert count(answer) <= 200


def test_a_passing_test_costs_at_most_120_tokens(serve: Serve) -> None:
    answer = serve(SUITE).run(node_ids=["tests/test_module_03.py::test_something_number_7"])
    assert answer["summary"]["passed"] == 1
    assert count(answer) <= 120


def test_a_typical_failure_costs_at_most_600_tokens(serve: Serve) -> None:
    answer = serve(TYPICAL).run()
    assert answer["summary"]["failed"] == 1
    assert "a wrong password must be refused" in answer["tests"][0]["message"]
    assert count(answer) <= 600


def test_200_failures_with_one_cause_cost_at_most_600_tokens(serve: Serve) -> None:
    answer = serve(ONE_CAUSE).run()
    assert answer["summary"]["failed"] == 200
    assert count(answer) <= 600


def test_discovery_of_156_tests_costs_at_most_2500_tokens_if_compact(serve: Serve) -> None:
    server = serve(SUITE)
    assert count(server.discover(compact=True)) <= 2_500
    assert count(server.discover()) <= 12_000
