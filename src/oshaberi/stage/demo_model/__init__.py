"""The demo model: an OpenAI-compatible server on loopback that plays written scenes.

`async with DemoModel() as model:` and `model.url` is the base URL for any such client.
"""

from __future__ import annotations

from oshaberi.stage.demo_model.demo_server import MODEL, DemoModel
from oshaberi.stage.demo_model.page_prompts import PROMPTS, PagePrompt, page_prompts

__all__ = ["MODEL", "PROMPTS", "DemoModel", "PagePrompt", "page_prompts"]
