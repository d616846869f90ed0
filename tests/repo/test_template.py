"""Every server is built to one template, so that whoever knows one knows them all."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from faultless.cli.lookup import load
from faultless.cli.options import settings_options
from faultless.kit.command import OPTION
from faultless.servers import SERVERS

NAMES = sorted(SERVERS)
MODULES = ("inputs", "outputs", "settings", "toolset", "faults", "rendering", "doctor")
COMMON_FLAGS = {
    "--timeout": "timeout_seconds",
    "--read-only": "read_only",
    "--concurrent": "concurrent",
    "--waiting": "waiting",
    "--python": "python",
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("module", MODULES)
def test_every_server_has_every_module_of_the_template(name: str, module: str) -> None:
    importlib.import_module(f"faultless.servers.{name}.{module}")


@pytest.mark.parametrize("name", NAMES)
def test_every_server_is_built_by_one_function_from_its_settings(name: str) -> None:
    build = importlib.import_module(f"faultless.servers.{name}.toolset").build_toolset
    assert build.__annotations__ == {"settings": "Settings", "return": "Toolset"}


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_frozen_and_begin_with_the_root(name: str) -> None:
    settings = importlib.import_module(f"faultless.servers.{name}.settings").Settings
    first, *others = dataclasses.fields(settings)
    assert first.name == "root"
    assert get_type_hints(settings)["root"] is Path
    assert settings.__dataclass_params__.frozen
    for field in others:
        assert OPTION in field.metadata, f"{name}: {field.name} cannot be set by anybody"
        assert field.default is not dataclasses.MISSING


@pytest.mark.parametrize("name", NAMES)
def test_common_flags_mean_the_same_everywhere(name: str) -> None:
    for option in settings_options(load(name)):
        for flag in option.opts:
            assert COMMON_FLAGS.get(flag, option.name) == option.name


@pytest.mark.parametrize("name", NAMES)
def test_rendering_and_doctor_have_one_signature(name: str) -> None:
    rendering = importlib.import_module(f"faultless.servers.{name}.rendering")
    doctor = importlib.import_module(f"faultless.servers.{name}.doctor")
    for function in (rendering.is_bad_news, rendering.render):
        assert len(inspect.signature(function).parameters) == 2
    assert list(inspect.signature(doctor.diagnose).parameters) == ["root"]
    assert doctor.diagnose.__annotations__["return"] == "list[Check]"


@pytest.mark.parametrize("name", NAMES)
def test_what_the_command_line_needs_of_a_server_loads_neither_its_engine_nor_the_sdk(name: str) -> None:
    heavy = sorted({need.split(".")[0] for entry in SERVERS.values() for need in entry.needs} | {"mcp"})
    program = (
        "import sys\n"
        "from faultless.cli.lookup import load\n"
        f"kind = load({name!r})\n"
        "kind.commands()\n"
        f"print([name for name in {heavy!r} if name in sys.modules])\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert finished.stdout.strip() == "[]"


@pytest.mark.parametrize("name", NAMES)
def test_the_tools_of_every_server_call_their_first_parameter_arguments(name: str) -> None:
    folder = Path(inspect.getfile(importlib.import_module(f"faultless.servers.{name}")))
    source = (folder.parent / "toolset.py").read_text(encoding="utf-8")
    assert "asked:" not in source
