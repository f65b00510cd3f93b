"""Your own tools: put this file next to oshaberi.toml and write `tools = ["own_tool"]` there.

python examples/own_tool.py     # prints what the model sees
"""

from __future__ import annotations

import json
import random
from typing import Literal

from oshaberi.bot.tools import ToolContext, ToolFailedError, tool

MOST_DICE = 20


@tool()
def roll_dice(sides: Literal[4, 6, 8, 10, 12, 20] = 6, count: int = 1) -> dict[str, object]:
    """Roll dice.

    Args:
        sides: How many sides each has.
        count: How many to roll.
    """
    if not 1 <= count <= MOST_DICE:
        raise ToolFailedError(f"one to {MOST_DICE} dice can be rolled at once")
    rolled = [random.randint(1, sides) for _ in range(count)]
    return {"rolled": rolled, "sum": sum(rolled)}


@tool(permission="manage_messages", timeout_ms=5000)
async def pin_up(context: ToolContext, text: str) -> str:
    """Put a note on the tea house's board. Only for those who manage messages.

    Args:
        text: What is on the note.
    """
    return f"{context.incoming.said.author.name} put it up: {text}"


def main() -> None:
    for one in (roll_dice, pin_up):
        print(f"{one.name} ({one.permission}): {one.description}")
        print(json.dumps(one.parameters, indent=2))


if __name__ == "__main__":
    main()
