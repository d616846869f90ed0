"""Every client shows every verdict and every fault: message and next move, or the page and this test say otherwise."""

import os

import pytest

from tests.clients.cases import CASES, USAGE, Case
from tests.clients.matrix import CLIENTS, SILENT, Client, Shown, is_installed, watch
from tests.clients.page import PAGE, render_page

pytestmark = pytest.mark.heavy


def needs(client: Client) -> None:
    if not is_installed(client):
        reason = f"{client.name} is not installed: `make test-clients` does that, with npm and the registries"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shown]:
    installed = [client for client in (*CLIENTS, SILENT) if is_installed(client)]
    return watch(installed, tmp_path_factory.mktemp("clients"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_what_a_reader_needs_arrives(client: Client, case: Case, matrix: dict[str, Shown]) -> None:
    needs(client)
    how, text = matrix[client.name][case.name]
    words = [case.output] if case.output and client.first_block_only else [case.output, *case.words]
    assert [expected for expected in words if _plain(expected) not in _plain(text)] == [], text
    assert how == "answer" or case.fault, text


def _plain(text: str) -> str:
    """JSON reads the same with and without spaces, and inside a string."""
    return text.replace('\\"', '"').replace('": ', '":')


def test_openai_agents_hides_json_rpc_errors_unless_told_not_to(matrix: dict[str, Shown]) -> None:
    """The day this fails, the advice on the page can go."""
    needs(SILENT)
    assert (
        matrix[SILENT.name]["pytest: usage"][1]
        == "An error occurred while running the tool. Please try again."
    )
    assert USAGE[1] in matrix[SILENT.name]["pytest --faults result: usage"][1]


def test_the_page_says_what_was_seen(matrix: dict[str, Shown]) -> None:
    for client in CLIENTS:
        needs(client)
    page = render_page(matrix)
    if os.environ.get("FAULTLESS_UPDATE_GOLDEN"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page
