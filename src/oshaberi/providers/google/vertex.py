"""Gemini on Vertex AI: the same requests and answers, in a project and a region of Google Cloud.

`google-genai` finds the credentials and asks for tokens. A key is sent as an access token.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from oshaberi.providers.cloud_accounts import vertex_address
from oshaberi.providers.google.adapter import GoogleAdapter


class VertexAdapter(GoogleAdapter):
    """One Gemini model in a project of Google Cloud."""

    listed_as = "vertex"
    api_version = "v1"

    def _base_url(self) -> str:
        return self.endpoint.base_url or vertex_address(self.endpoint.region or "")

    def _account(self) -> dict[str, Any]:
        token = self.endpoint.api_key
        account = {
            "vertexai": True,
            "project": self.endpoint.project,
            "location": self.endpoint.region,
        }
        if token is None:
            return account
        credentials = import_module("google.oauth2.credentials").Credentials(token)
        return {**account, "credentials": credentials}
