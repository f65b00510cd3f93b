"""What Discord accepts: `message_rules`, `mention_rules`, `embed_rules`, `component_rules`,
`webhook_name_rules`, `field_types`. Anything else is refused (`stage/api_refusals.py`)."""
