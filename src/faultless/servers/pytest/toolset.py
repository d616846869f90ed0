"""The two tools: run tests, list tests."""

from __future__ import annotations

from importlib.metadata import version

from faultless import process
from faultless.contract import Dialect
from faultless.kit.toolset import Call, Toolset
from faultless.servers.pytest.execution import Project, discover, execute
from faultless.servers.pytest.inputs import DiscoverTests, ExecuteTests
from faultless.servers.pytest.outputs import Discovery, TestRun
from faultless.servers.pytest.settings import Settings

_INSTRUCTIONS = (
    "Runs this project's pytest in the project's own environment. "
    "Failing tests are results: read `summary`, then `tests`. "
    "An error means that pytest could not do its job and no verdict exists: read its message and hint."
)


def build_toolset(settings: Settings) -> Toolset:
    process.get_ready()
    return make_toolset(Project(settings))


def make_toolset(project: Project) -> Toolset:
    """Tests give a project with surroundings of their own."""
    toolset = Toolset("faultless-pytest", version("faultless"), Dialect.JSONRPC, _INSTRUCTIONS)

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
