"""One folder a server; none imports another."""

SERVERS: dict[str, str] = {
    "gmail": "faultless.servers.gmail",
    "obsidian": "faultless.servers.obsidian",
    "pytest": "faultless.servers.pytest",
    "symbolic": "faultless.servers.symbolic",
    "toolbox": "faultless.servers.toolbox",
}
"""The name on the command line, and the module whose `server` it is."""
