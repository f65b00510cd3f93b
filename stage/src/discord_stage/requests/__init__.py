"""What the stage knows about the requests that it gets, without HTTP.

`request_log` records them, `rate_limits` counts them, `injected_faults` decides which fail
(`rest.fault_effects` makes them fail).
"""
