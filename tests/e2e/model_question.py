"""What a model was asked, as it stood on the wire: whatever the family, who said what."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discord_stage.model_servers import ReceivedRequest

_NOTE = re.compile(
    r'\(Now answer what (.+?) wrote: "(.*?)"\. What stands after it was said since\.'
)


@dataclass(frozen=True, slots=True)
class QuestionMessage:
    """One message of a request."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """A request to a model."""

    request: ReceivedRequest

    @property
    def turns(self) -> list[QuestionMessage]:
        body = self.request.json
        system = [QuestionMessage("system", _text(body["system"]))] if "system" in body else []
        return system + [
            QuestionMessage(one["role"], _text(one.get("content"))) for one in body["messages"]
        ]

    @property
    def text(self) -> str:
        """Everything the model reads."""
        return "\n".join(turn.text for turn in self.turns)

    @property
    def system(self) -> str:
        return "\n".join(turn.text for turn in self.turns if turn.role == "system")

    @property
    def last(self) -> str:
        """What stands at the end."""
        return self.turns[-1].text

    @property
    def question(self) -> str:
        """What is answered, also if something was said after it and a note names it."""
        named = _NOTE.search(self.last)
        return self.last if named is None else f"{named[1]}: {named[2]}"

    def of(self, role: str) -> list[str]:
        return [turn.text for turn in self.turns if turn.role == role]

    @property
    def tools(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.request.json.get("tools", ())]

    @property
    def key(self) -> str:
        headers = self.request.headers
        return headers.get("x-api-key") or headers["authorization"].removeprefix("Bearer ")


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(_parts(content or ()))


def _parts(content: Any) -> Iterator[str]:
    for part in content:
        text = part.get("text") if isinstance(part, Mapping) else part
        yield text if isinstance(text, str) else json.dumps(part)
