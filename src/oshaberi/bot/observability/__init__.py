"""How operators see the bot.

`metrics` counts, with `discord_request_metrics` and `process_gauges` (what runs now);
`model_health` knows failing models; `health_endpoint` serves both; `systemd_notify` tells systemd;
`open_telemetry` sends traces.
"""
