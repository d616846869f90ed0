"""Plugins and frameworks as projects use them: early from the second call on, and nothing of theirs in our house."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import faultless
from faultless.testing import WireClient
from tests.servers.pytest.conftest import LIGHT, WireServer, WriteProject, serving_command, start_of

pytestmark = pytest.mark.heavy
UV = Path(sys.executable).with_name("uv")
INSTALLED = {
    "django": ["pytest", "django", "pytest-django"],
    "reruns": ["pytest", "pytest-xdist", "pytest-rerunfailures"],
    "benchmark": ["pytest", "pytest-benchmark"],
    "reports": ["pytest", "pytest-html", "pytest-cov"],
    "warnings": ["pytest", "pytest-timeout", "pytest-mock", "anyio"],
}
DJANGO = {
    "pytest.ini": "[pytest]\nDJANGO_SETTINGS_MODULE = site_of_ours.settings\npythonpath = .",
    "site_of_ours/__init__.py": "",
    "site_of_ours/settings.py": """
        SECRET_KEY = "x"
        INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth"]
        DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
        USE_TZ = True
    """,
    "test_it.py": """
        import pytest
        from django.contrib.auth.models import User

        @pytest.mark.django_db
        def test_user():
            User.objects.create_user("somebody")
            assert User.objects.count() == 1

        def test_client(client):
            assert client.get("/").status_code == 404
    """,
    "site_of_ours/urls.py": "urlpatterns = []",
}
DJANGO["site_of_ours/settings.py"] += "    ROOT_URLCONF = 'site_of_ours.urls'\n"
RERUNS = {
    "pytest.ini": "[pytest]\naddopts = -n 2 --reruns 2",
    "test_it.py": """
        TRIES = []
        def test_flaky():
            TRIES.append(1)
            assert len(TRIES) == 2
        def test_steady(): pass
    """,
}
BENCHMARK = {
    "pytest.ini": "[pytest]",
    "test_it.py": "def test_it(benchmark): benchmark(abs, -1)\ndef test_b(): pass",
}
REPORTS = {
    "pytest.ini": "[pytest]\naddopts = --html=report.html --cov=product --cov-fail-under=100",
    "product.py": "def f():\n    return 1\n",
    "test_it.py": "import product\ndef test_it(): assert product.f() == 1\ndef test_b(): pass",
}
WARNINGS = {
    "pytest.ini": "[pytest]\nfilterwarnings = error\ntimeout = 60",
    "test_it.py": "def test_it(mocker): pass\ndef test_b(): pass",
}
PROJECTS = {
    "django": DJANGO,
    "reruns": RERUNS,
    "benchmark": BENCHMARK,
    "reports": REPORTS,
    "warnings": WARNINGS,
}


@pytest.fixture(params=PROJECTS)
def server(
    request: pytest.FixtureRequest, write_project: WriteProject, tmp_path: Path
) -> Iterator[WireServer]:
    python = tmp_path / "venv" / "bin" / "python"
    commands: list[list[str | Path]] = [
        [UV, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv"],
        [UV, "pip", "install", "--quiet", "--python", python, *INSTALLED[request.param]],
    ]
    for command in commands:
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            pytest.skip(made.stderr.strip())
    root = write_project(PROJECTS[request.param])
    env = {name: value for name, value in LIGHT.items() if name != "PYTEST_DISABLE_PLUGIN_AUTOLOAD"}
    with WireClient(serving_command(root, python=str(python)), env=env, deadline_seconds=180) as client:
        yield WireServer(client.open("handshake"))


def test_runs_begin_early_from_the_second_call_on_and_nothing_is_written_into_our_package(
    server: WireServer,
) -> None:
    house = Path(faultless.__file__).parent
    before = set(house.rglob("*"))
    ways = []
    for _ in range(4):
        response = server.call("execute_tests", {"verbosity": 1})
        rows = response["result"]["structuredContent"]["tests"]
        assert [row["outcome"] for row in rows] == ["passed"] * 2
        ways.append(start_of(response)["way"])
        server.let_begin()
    assert ways == ["cold", "early", "early", "early"]
    assert {path.name for path in set(house.rglob("*")) - before if "__pycache__" not in path.parts} == set()
