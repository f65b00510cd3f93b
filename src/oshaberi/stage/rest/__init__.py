"""The REST side, one file per resource. Each has its table of routes; here they come together."""
