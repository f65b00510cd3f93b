"""The demo model: an OpenAI-compatible server on loopback that plays written scenes.

`async with DemoModel() as model:` and `model.url` is the base URL for any such client.
`demo_server` serves, `request_reading` says who asks what. `scene_choice` finds one of the
`written_scenes`; `tool_requests` and `tool_arguments` make a call that was asked for; `small_talk`
answers the rest. `token_playback` turns it into tokens and pauses. `page_prompts` are what a
visitor can click.
"""

from __future__ import annotations

from oshaberi.stage.demo_model.demo_server import MODEL, DemoModel
from oshaberi.stage.demo_model.page_prompts import PROMPTS, PagePrompt, page_prompts

__all__ = ["MODEL", "PROMPTS", "DemoModel", "PagePrompt", "page_prompts"]
