"""What the stage knows of the requests to it, without HTTP.

`request_log` writes them down, `rate_limits` counts them, `injected_faults` says which fail
(what then happens is in `rest.fault_effects`).
"""
