"""Google Gemini: `request` builds a body, `events` reads the stream, `adapter` joins them."""
