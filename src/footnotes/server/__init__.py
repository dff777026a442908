"""The server: HTTP, streams, keys, quota, MCP and the dialects of others over one engine. Thin, no logic."""
