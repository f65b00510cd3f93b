"""Claude on Amazon Bedrock and on Vertex AI: the clients of Anthropic's SDK sign the requests.

The requests are those of the Messages API; the SDK puts the model into the path. Bedrock's answers
are in AWS's own framing, Vertex AI's are an event stream.
"""

from __future__ import annotations

from typing import Any

from oshaberi.providers.anthropic.adapter import AnthropicAdapter
from oshaberi.providers.anthropic.aws_event_stream import AwsEventDecoder
from oshaberi.providers.cloud_accounts import vertex_address
from oshaberi.providers.connections.sdk import load_sdk


class BedrockAdapter(AnthropicAdapter):
    """One model behind `POST {base_url}/model/NAME/invoke-with-response-stream`.

    A key is sent as a Bedrock API key; without one the request is signed (SigV4).
    """

    listed_as = "bedrock"
    decoder = AwsEventDecoder

    def _client_of(self, sdk: Any, common: dict[str, Any]) -> Any:
        if self.endpoint.api_key is None:
            load_sdk("boto3", "bedrock")
        region = self.endpoint.region
        common["base_url"] = common["base_url"] or f"https://bedrock-runtime.{region}.amazonaws.com"
        return sdk.AsyncAnthropicBedrock(aws_region=region, api_key=self.endpoint.api_key, **common)


class VertexClaudeAdapter(AnthropicAdapter):
    """One model behind `POST {base_url}/projects/…/models/NAME:streamRawPredict`.

    A key is sent as an access token; without one the SDK asks Google for tokens.
    """

    listed_as = "vertex-claude"

    def _client_of(self, sdk: Any, common: dict[str, Any]) -> Any:
        if self.endpoint.api_key is None:
            load_sdk("google.auth", "vertex")
        region = self.endpoint.region or ""
        common["base_url"] = common["base_url"] or f"{vertex_address(region)}/v1"
        return sdk.AsyncAnthropicVertex(
            region=region,
            project_id=self.endpoint.project,
            access_token=self.endpoint.api_key,
            **common,
        )
