"""The two tools: run tests, list tests."""

from __future__ import annotations

from importlib.metadata import version

from faultless import process
from faultless.contract import Dialect
from faultless.kit.root import Root
from faultless.kit.toolset import Call, Toolset
from faultless.process.warm import Pool
from faultless.servers.pytest.discovery import discover
from faultless.servers.pytest.execution import execute
from faultless.servers.pytest.inputs import DiscoverTests, ExecuteTests
from faultless.servers.pytest.outputs import Discovery, TestRun
from faultless.servers.pytest.project import Project
from faultless.servers.pytest.settings import Settings

INSTRUCTIONS = (
    "Runs this project's pytest in the project's own environment. "
    "Failing tests are results: read `summary`, then `tests`. "
    "An error means that pytest could not do its job and no verdict exists: read its message and hint."
)


def build_toolset(settings: Settings) -> Toolset:
    process.get_ready()
    project = Project(
        root=Root(settings.root),
        python=settings.python and settings.python.absolute(),
        timeout_seconds=settings.timeout_seconds,
        max_timeout_seconds=settings.max_timeout_seconds,
        pool=None if settings.cold else Pool(idle_seconds=60.0 * settings.idle_minutes),
    )
    return make_toolset(project)


def make_toolset(project: Project) -> Toolset:
    toolset = Toolset("faultless-pytest", version("faultless"), Dialect.JSONRPC, INSTRUCTIONS)

    @toolset.tool(read_only=False, idempotent=False, destructive=True, open_world=True)
    async def execute_tests(arguments: ExecuteTests, call: Call) -> TestRun:
        """Execute pytest tests with specified parameters. Returns structured results including pass/fail
        status, error messages, and stack traces. Test failures (exit code 1) return success responses with
        failure details; execution failures (exit codes 2-4) return error responses.
        """
        return await execute(project, arguments, call)

    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=True)
    async def discover_tests(arguments: DiscoverTests, call: Call) -> Discovery:
        """Discover pytest test structure without executing tests. Returns hierarchical test organization
        (modules, classes, functions) with node IDs for subsequent execution. Files that cannot be imported
        are listed in collection_errors beside the tests of the others.
        """
        return await discover(project, arguments, call)

    return toolset
