"""MCP servers, a client and a checker that agree on what an error is."""
