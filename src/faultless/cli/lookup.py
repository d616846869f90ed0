"""From the NAME on the command line to a server."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.contract.text import find_near
from faultless.servers import SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from faultless.kit.command import ServerKind
    from faultless.kit.toolset import Toolset
    from faultless.servers import Entry


def load(name: str) -> ServerKind:
    """One of our servers, or `module:attribute` for anybody's."""
    if ":" in name:
        return _load_foreign(name)
    if name not in SERVERS:
        raise _unknown(name)
    return _load_own(name, SERVERS[name])


def _load_own(name: str, entry: Entry) -> ServerKind:
    """Each module of the server's folder is imported when it is needed, and only here."""
    from faultless.kit.command import ServerKind  # noqa: PLC0415 - `faultless --help` needs none of it

    def part(module: str) -> ModuleType:
        return importlib.import_module(f"faultless.servers.{name}.{module}")

    def build_toolset(settings: object) -> Toolset:
        require_extra(name)
        toolset: Toolset = part("toolset").build_toolset(settings)
        return toolset

    return ServerKind(
        name=name,
        summary=entry.summary,
        settings=part("settings").Settings,
        build_toolset=build_toolset,
        is_bad_news=lambda tool, answer: part("rendering").is_bad_news(tool, answer),
        render=lambda tool, answer: part("rendering").render(tool, answer),
        diagnose=lambda root: part("doctor").diagnose(root),
        commands=lambda: part("commands").COMMANDS if entry.has_commands else {},
    )


def require_extra(name: str) -> None:
    entry = SERVERS[name]
    missing = entry.find_missing()
    if missing:
        raise Fault(
            FaultKind.UNSUPPORTED,  # waiting does not help
            f"the server {name} needs what is not installed: {', '.join(missing)}",
            hint=f"pip install 'faultless[{entry.extra}]'",
        )


def _load_foreign(name: str) -> ServerKind:
    from faultless.kit.command import ServerKind  # noqa: PLC0415 - as above
    from faultless.kit.toolset import Toolset  # noqa: PLC0415 - pydantic is slow to import

    module_name, attribute = split(name)
    folder = import_folder(name)
    if folder not in sys.path:
        sys.path.append(folder)  # last: a stranger's click.py must not become ours
    with _explained(name):
        module = _import_file(name) if module_name.endswith(".py") else importlib.import_module(module_name)
    found = _find(module, attribute, name)
    if isinstance(found, ServerKind):
        return found
    if isinstance(found, Toolset):
        return ServerKind(name=found.name, summary=found.instructions, build_toolset=lambda _settings: found)
    raise Fault(
        FaultKind.NOT_FOUND,
        f"{name} is a {type(found).__name__}, not a Toolset or a ServerKind",
        hint="name it as module:attribute, for example mypackage.tools:toolset",
    )


def _find(module: ModuleType, attribute: str, name: str) -> object:
    from faultless.kit.command import ServerKind  # noqa: PLC0415 - as above
    from faultless.kit.toolset import Toolset  # noqa: PLC0415 - as above

    found: object = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            servers = [key for key, value in vars(module).items() if isinstance(value, Toolset | ServerKind)]
            where = split(name)[0]
            listed = f"it has {', '.join(servers)}" if servers else "it defines no Toolset"
            raise Fault(
                FaultKind.NOT_FOUND,
                f"there is no {attribute!r} in {where}; {listed}",
                hint=f"write {where}:{servers[0]}"
                if servers
                else "define toolset = Toolset('name', version='1')",
            )
        found = getattr(found, part)
    return found


def split(name: str) -> tuple[str, str]:
    """`package.module:attribute`, or `folder/file.py:attribute`."""
    module_name, _, attribute = name.rpartition(":")
    return module_name, attribute


def import_folder(name: str) -> str:
    """Where a stranger's module is looked for after the installed ones."""
    module_name, _ = split(name)
    return str(Path(module_name).resolve().parent if module_name.endswith(".py") else Path.cwd())


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except Fault:
        raise
    except ImportError as missing:
        raise Fault(
            FaultKind.NOT_FOUND,
            f"the server {name} cannot be imported: {missing}",
            hint="run it where the module can be imported",
        ) from missing
    except SyntaxError as broken:
        raise Fault(
            FaultKind.PARSE_ERROR,
            f"the server {name} cannot be imported: {broken}",
            hint="correct the module",
        ) from broken
    except (Exception, SystemExit) as raised:  # noqa: BLE001 - a stranger's code may raise anything; it is not our bug
        fault = _blame(raised, name)
    else:
        return
    raise fault


def _blame(raised: BaseException, name: str) -> Fault:
    from faultless.kit.functions import DefinitionError  # noqa: PLC0415 - only on failure

    if isinstance(raised, DefinitionError):
        return Fault(FaultKind.USAGE_ERROR, str(raised), hint="correct it there and try again")
    frames = traceback.extract_tb(raised.__traceback__)
    module_name, _ = split(name)
    stem = Path(module_name).stem if module_name.endswith(".py") else module_name.rpartition(".")[2]
    last = next((frame for frame in reversed(frames) if Path(frame.filename).stem == stem), frames[-1])
    where = f"{type(raised).__name__} at {Path(last.filename).name}:{last.lineno}: {raised}"
    is_program = isinstance(raised, SystemExit)
    hint = "put what ends the program under if __name__ == '__main__'" if is_program else "correct the module"
    return Fault(FaultKind.TOOL_FAILED, f"the server {name} cannot be imported: {where}", hint=hint)


def _import_file(name: str) -> ModuleType:
    """Under a name of its own: a file called json.py is not the library."""
    path = Path(split(name)[0]).resolve()
    if not path.is_file():
        raise Fault(
            FaultKind.NOT_FOUND, f"there is no file {split(name)[0]}", hint="name it from where you are"
        )
    own_name = f"served_{path.stem}"
    spec = importlib.util.spec_from_file_location(own_name, path)
    assert spec is not None  # noqa: S101 - the name ends in .py, for which there is a loader
    assert spec.loader is not None  # noqa: S101 - as above
    module = sys.modules[own_name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _unknown(name: str) -> Fault:
    close = find_near(name, SERVERS, most=1)
    choices = ", ".join(sorted(SERVERS)) or "none"
    return Fault(
        FaultKind.NOT_FOUND,
        f"no server is called {name!r}; there are: {choices}",
        hint=f"did you mean {close[0]}?" if close else "name one of them, or module:attribute for your own",
    )
