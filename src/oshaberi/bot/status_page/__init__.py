"""The status page for operators, at `/` of the health port: what runs, waits and failed.

- `report`: everything that the page shows, as JSON.
- `routes`: the URLs of the page, its login and its sessions.

The page is read-only.
"""
