"""Azure OpenAI, signed in with Entra ID (once Azure AD): `azure-identity` gets the tokens.

Everything else is the preset `azure`: Azure's v1 API, which wants no `api-version`.
"""

from __future__ import annotations

from typing import Any

from oshaberi.providers.connections.sdk import load_sdk
from oshaberi.providers.openai_responses.adapter import OpenAIResponsesAdapter
from oshaberi.providers.request.model_request import Endpoint

SCOPE = "https://cognitiveservices.azure.com/.default"


class AzureEntraAdapter(OpenAIResponsesAdapter):
    """One deployment of an Azure resource. A key is sent as a token."""

    listed_as = "azure-entra"

    def __init__(self, endpoint: Endpoint) -> None:
        self._credential: Any = None
        super().__init__(endpoint)

    def _key(self) -> Any:
        """Return a token, or a function that returns one that is still valid."""
        if self.endpoint.api_key:
            return self.endpoint.api_key
        identity = load_sdk("azure.identity.aio", "azure")
        self._credential = identity.DefaultAzureCredential()
        return identity.get_bearer_token_provider(self._credential, SCOPE)

    async def aclose(self) -> None:
        await super().aclose()
        if self._credential is not None:
            await self._credential.close()
