"""One folder a server; none imports another."""
