"""Tools a model may call: functions of ours, functions of others, MCP servers."""
