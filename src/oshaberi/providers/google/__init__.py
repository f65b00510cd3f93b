"""Google Gemini: `body` builds a request, `events` reads the stream, `adapter` joins them."""
