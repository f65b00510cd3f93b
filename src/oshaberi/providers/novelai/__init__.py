"""NovelAI's text completion over HTTP, in `adapter`."""
