"""How operators see the bot: `metrics` counts, `process_gauges` tells what
runs now, `model_health` knows failing models,
`health_endpoint` serves both, `systemd_notify` tells systemd."""
