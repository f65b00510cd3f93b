"""NovelAI's text completion over HTTP, in `novelai_adapter`."""
