"""Databases as releases left them, as SQL. `scenario_database.KEY` reads their secrets."""
