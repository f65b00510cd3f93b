"""The status page for operators, at `/` of the health port: what runs, waits and failed.

- `report`: everything that the page shows, as JSON.
- `tool_switches`: the tools of a server, which are all that the page can change.
- `routes`: the URLs of the page, its login and its sessions.
"""
