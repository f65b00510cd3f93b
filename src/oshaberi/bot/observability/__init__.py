"""Shows operators what the bot does.

`metrics` counts, with `discord_request_metrics` and `process_gauges` (what runs now);
`model_health` knows which models fail; `health_endpoint` serves both over HTTP; `systemd_notify`
reports to systemd; `open_telemetry` sends traces.
"""
