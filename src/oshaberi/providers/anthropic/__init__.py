"""Anthropic's Messages API: `request` builds, `events` reads, `adapter` joins them."""
