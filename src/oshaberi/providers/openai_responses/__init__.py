"""OpenAI's Responses API: `request` builds, `events` reads, `adapter` joins them."""
