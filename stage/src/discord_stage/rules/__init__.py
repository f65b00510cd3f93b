"""What Discord accepts:

`messages`, `mention_rules`, `embeds`, `components`, `webhook_names`, `image_data`, `field_types`.
Anything else is refused (`stage/refusals.py`).
"""
