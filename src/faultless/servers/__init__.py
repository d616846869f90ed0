"""One folder a server; none imports another."""

SERVERS: dict[str, str] = {
    "pytest": "faultless.servers.pytest",
    "toolbox": "faultless.servers.toolbox",
}
"""The name on the command line, and the module whose `server` it is."""
