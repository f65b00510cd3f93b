"""The status page for operators, at `/` of the health port: what runs, waits and failed.

- `status_report`: everything that the page shows, as JSON.
- `usage_overview`: what models and servers used, from the database.
- `page_login`: checks the token, and keeps the sessions.
- `page_routes`: the URLs of the page.

The page is read-only.
"""
