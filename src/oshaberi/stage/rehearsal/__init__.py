"""The rehearsal model: an OpenAI-compatible server on loopback that plays written scenes.

`async with RehearsalModel() as model:` and `model.url` is the base URL for any such client.
"""

from __future__ import annotations

from oshaberi.stage.rehearsal.prompts import PROMPTS, Prompt, page_prompts
from oshaberi.stage.rehearsal.server import MODEL, RehearsalModel

__all__ = ["MODEL", "PROMPTS", "Prompt", "RehearsalModel", "page_prompts"]
