"""What Discord accepts: `message_rules`, `embed_rules`, `component_rules`, `webhook_name_rules`,
`field_types`; `api_refusals` has its error answers.
"""
