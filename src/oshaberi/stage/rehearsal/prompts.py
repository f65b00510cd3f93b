"""What a visitor can click before they know what to ask: six prompts, one feature each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prompt:
    """`title` is on the button, `text` is what is sent."""

    title: str
    text: str


PROMPTS = (
    Prompt("Draw a table", "Compare three kinds of tea in a table"),
    Prompt("Write some code", "Write a long piece of Python code"),
    Prompt("Think first", "Think hard, then tell me a riddle"),
    Prompt("Change faces", "Show me all your faces"),
    Prompt("Use a tool", "What time is it? Ask a tool"),
    Prompt("Stop me", "Count as far as you can until I stop you"),
)


def page_prompts() -> list[dict[str, str]]:
    """As the page wants them at `/stage/prompts`: it puts a mention in the place of `{bot}`."""
    return [{"title": prompt.title, "text": f"{{bot}} {prompt.text}"} for prompt in PROMPTS]
