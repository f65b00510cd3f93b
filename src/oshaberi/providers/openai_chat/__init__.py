"""OpenAI-compatible chat completions: `request` builds, `events` reads, `adapter` joins them."""
