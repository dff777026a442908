"""The server: HTTP, streams, keys, quotas, MCP and the APIs of other products over one library. No logic of its own."""
