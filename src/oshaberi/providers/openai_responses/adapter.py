"""Adapters for OpenAI's Responses API, which xAI, Azure and OpenRouter offer too.

They inherit transport, authentication, errors and the retries after a refusal from the adapter for
chat completions; the request body and the reading of the stream are their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.connections.sdk import load_sdk
from oshaberi.providers.error_classification import named_parameter
from oshaberi.providers.openai_chat.adapter import Mend, OpenAIChatAdapter
from oshaberi.providers.openai_responses.events import Event, Repetitions, read
from oshaberi.providers.openai_responses.request import (
    FAMILY,
    body,
    without_reasoning_items,
    without_summary,
)
from oshaberi.providers.refusals.named_fields import Body
from oshaberi.providers.request.model_request import Endpoint, Request
from oshaberi.providers.wire.errors import read_failure

_OWN = frozenset({"model", "input", "stream", "store"})
_FOREIGN_REASONING = re.compile(r"invalid_encrypted_content|encrypted content .*verified|'rs_")
_NO_SUMMARY = re.compile(r"reasoning[ ._]summar")


class OpenAIResponsesAdapter(OpenAIChatAdapter):
    """One model behind `POST {base_url}/responses`."""

    family = FAMILY
    mandatory = _OWN
    route = "/responses"
    read = staticmethod(read)

    def takes_prefill(self, _request: Request) -> bool:
        return False

    def local_stops(self, request: Request) -> Sequence[str]:
        return [text for text in request.stop_strings if text.strip()]

    def _body(self, request: Request, capabilities: ModelCapabilities) -> Body:
        return body(request, self.endpoint, capabilities)

    def _event_reader(self) -> Callable[[str], Event]:
        return Repetitions().read_event

    def _mend(self, wanted: Body, error: Exception) -> Mend | None:
        """Return a function that removes foreign encrypted reasoning, or the summary."""
        failure = read_failure(error)
        said = " ".join((*failure.codes, failure.message, named_parameter(failure.body)))
        known = ((_FOREIGN_REASONING, without_reasoning_items), (_NO_SUMMARY, without_summary))
        mend = next((mend for pattern, mend in known if pattern.search(said)), None)
        return mend if mend and mend(wanted) is not None else None


# Azure OpenAI, signed in with Entra ID (once Azure AD): `azure-identity` gets the tokens.
#
# Everything else is the preset `azure`: Azure's v1 API, which wants no `api-version`.


SCOPE = "https://cognitiveservices.azure.com/.default"


class AzureEntraAdapter(OpenAIResponsesAdapter):
    """One deployment of an Azure resource. A key is sent as a token."""

    listed_as = "azure-entra"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._credential: Any = None
        self._new_token: Any = None
        if not endpoint.api_key:
            identity = load_sdk("azure.identity.aio", "azure")
            self._credential = identity.DefaultAzureCredential()
            self._new_token = identity.get_bearer_token_provider(self._credential, SCOPE)

    async def _token(self) -> str | None:
        """Return the key, or a token that is still valid."""
        return self.endpoint.api_key or await self._new_token()

    async def aclose(self) -> None:
        await super().aclose()
        if self._credential is not None:
            await self._credential.close()
