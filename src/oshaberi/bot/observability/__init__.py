"""How operators see the bot: `metrics` counts, `health_endpoint` serves the figures."""
