"""Shows operators what the bot does.

`metrics` counts; `health` knows which models fail or hang, and answers `/health`, `/ready` and
`/metrics`; `systemd_notify` reports to systemd; `open_telemetry` sends traces.
"""
