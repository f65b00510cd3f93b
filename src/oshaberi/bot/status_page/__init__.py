"""The status page for operators, at `/` of the health port: what runs, what waits, what failed.

- `status_report`: everything that the page shows, as JSON.
- `usage_overview`: what models and servers used, from the database.
- `page_login`: the token, and who has given it.
- `page_routes`: the addresses of the page.

It only shows: nothing can be changed here.
"""
