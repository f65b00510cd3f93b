"""Models of clouds: the SDKs sign the requests, with credentials of this machine or a token.

The servers that give out tokens are scripted; the signature of AWS is computed again.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
from base64 import b64encode
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from discord_stage.model_servers import (
    ModelServer,
    OpenAIResponsesWire,
    ReceivedRequest,
    WireFormat,
)
from discord_stage.model_servers.anthropic_wire import VertexClaudeWire
from discord_stage.model_servers.bedrock_wire import BedrockWire, message_of
from discord_stage.model_servers.google_wire import VertexWire
from discord_stage.model_servers.scripts import Call, Refuse, Say, Status, Step
from oshaberi.chunks import Chunk
from oshaberi.errors import ConfigError
from oshaberi.providers import connect, said
from oshaberi.providers.anthropic.clouds import AwsEventDecoder
from oshaberi.providers.capabilities.known_models import capabilities_of
from oshaberi.providers.cloud_accounts import check_cloud, vertex_address
from oshaberi.providers.presets import PRESETS
from oshaberi.providers.request.model_request import Request, ToolDeclaration
from oshaberi.providers.wire.errors import StreamError
from tests.providers.adapter_runs import ASK, error, read, text

REGION, PROJECT = "eu-central-1", "tea-house-1"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
CLOUDS = [name for name, preset in PRESETS.items() if preset.cloud]
PLACE = {"region": REGION, "project": PROJECT}


@pytest.fixture(autouse=True)
def nobody_is_signed_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials of this machine, and no question to the address of a cloud's own network."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
    import_module("anthropic.lib.aws._auth")._get_session.cache_clear()


def installed(module: str) -> None:
    """Skip a test that needs a package of an extra; where CI is set, it must be there."""
    if not os.environ.get("CI"):
        pytest.importorskip(module, reason=f"{module} is not installed (make setup)")


def asked(
    provider: str,
    server: ModelServer,
    model: str,
    request: Request = ASK,
    **settings: Any,
) -> Callable[[], Any]:
    async def main() -> list[Chunk]:
        async with server:
            where = {} if provider == "azure-entra" else PLACE
            adapter = connect(provider, model, base_url=server.url, **where, **settings)
            try:
                return await read(adapter, request)
            finally:
                await adapter.aclose()
                await server.all_closed()

    return main


def answered(
    provider: str, wire: Any, *steps: Step, model: str = "model-1", **settings: Any
) -> tuple[list[Chunk], list[ReceivedRequest]]:
    server = ModelServer(wire, steps)
    found = asyncio.run(asked(provider, server, model, **settings)())
    return found, server.requests


# -- AWS -----------------------------------------------------------------------------------------


def signature_of(request: ReceivedRequest, secret_key: str) -> str:
    """Compute Signature Version 4 from what arrived, as AWS does."""
    _kind, _, rest = request.headers["authorization"].partition(" ")
    fields = dict(part.strip().split("=", 1) for part in rest.split(","))
    _key, day, region, service, _end = fields["Credential"].split("/")
    names = fields["SignedHeaders"].split(";")
    headers = "".join(f"{name}:{' '.join(request.headers[name].split())}\n" for name in names)
    path = quote(urlsplit(request.path).path, safe="/-_.~")
    body = hashlib.sha256(request.body).hexdigest()
    whole = "\n".join((request.method, path, "", headers, fields["SignedHeaders"], body))
    scope = f"{day}/{region}/{service}/aws4_request"
    digest = hashlib.sha256(whole.encode()).hexdigest()
    to_sign = "\n".join(("AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope, digest))
    key = f"AWS4{secret_key}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, to_sign.encode(), "sha256").hex()


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    installed("boto3")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    "model", ["eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "arn:aws:bedrock:eu:1:x/claude-1"]
)
def test_a_request_to_bedrock_is_signed_as_it_arrives(model: str) -> None:
    found, (request,) = answered("bedrock", BedrockWire(), Say("Hel", "lo"), model=model)
    assert text(found) == "Hello"
    signed = request.headers["authorization"]
    assert signed.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert f"/{REGION}/bedrock/aws4_request" in signed
    assert signed.rpartition("Signature=")[2] == signature_of(request, SECRET_KEY)
    assert not {"model", "stream"} & request.json.keys(), "the path says both"
    assert request.json["anthropic_version"]


@pytest.mark.usefixtures("aws")
def test_bedrock_gives_tools_and_their_calls() -> None:
    wire = BedrockWire()
    request = Request(ASK.items, tools=(ToolDeclaration("weather"),))
    call = Call("weather", '{"city": "Kyōto"}')
    found, (sent,) = answered("bedrock", wire, Say("One moment."), call, request=request)
    assert found[-1].calls[0].args == {"city": "Kyōto"}
    assert sent.json["tools"][0]["name"] == "weather"


def test_a_bedrock_api_key_is_a_bearer() -> None:
    _, (request,) = answered("bedrock", BedrockWire(), api_key="bedrock-api-key-1")
    assert request.headers["authorization"] == "Bearer bedrock-api-key-1"


def test_without_credentials_of_aws_it_says_so() -> None:
    installed("boto3")
    found, requests = answered("bedrock", BedrockWire())
    problem = error(found)
    assert (problem.type, problem.retryable, requests) == ("auth", False, [])
    assert problem.shown == "signing in at AWS failed"
    assert "AWS credentials" in problem.message
    assert "key was sent" not in problem.message


@pytest.mark.usefixtures("aws")
def test_a_model_that_bedrock_does_not_have_is_not_looked_for_without_a_signature() -> None:
    found, requests = answered("bedrock", BedrockWire(), Refuse("model_error"))
    assert (error(found).type, len(requests)) == ("model_error", 1)


def test_claude_has_the_same_abilities_under_the_names_of_bedrock() -> None:
    own = capabilities_of("anthropic", "claude-sonnet-4-5-20250929")
    for name in ("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5@20250929"):
        assert capabilities_of("anthropic", name) == own
    arn = "arn:aws:bedrock:eu-west-1:123:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929"
    assert capabilities_of("anthropic", arn) == own


EVENT = json.dumps({"bytes": b64encode(b'{"type": "ping"}').decode()}).encode()
CHUNK = {":event-type": "chunk", ":message-type": "event"}


def test_an_event_stream_is_read_as_botocore_reads_it() -> None:
    installed("botocore")
    buffer = import_module("botocore.eventstream").EventStreamBuffer()
    sent = message_of(EVENT, CHUNK) + message_of(b"{}", {":event-type": "x" * 300}) * 2
    buffer.add_data(sent)
    assert [json.loads(one.payload) for one in buffer] == [json.loads(EVENT), {}, {}]
    decoder = AwsEventDecoder()
    assert [one for byte in sent for one in decoder.feed(bytes([byte]))] == ['{"type": "ping"}']


@pytest.mark.parametrize("at", range(len(message_of(EVENT, CHUNK))))
def test_a_damaged_message_is_no_event(at: int) -> None:
    damaged = bytearray(message_of(EVENT, CHUNK))
    damaged[at] ^= 0x55
    with pytest.raises(StreamError, match="not a stream"):
        AwsEventDecoder().feed(bytes(damaged))


def test_a_message_of_any_length_is_not_waited_for() -> None:
    from struct import pack
    from zlib import crc32

    lengths = pack(">II", 0xFFFFFFF0, 16)
    with pytest.raises(StreamError, match="endless"):
        AwsEventDecoder().feed(lengths + pack(">I", crc32(lengths)))


# -- Google Cloud --------------------------------------------------------------------------------


class TokenServer:
    """Gives out tokens as Google's and Azure's token endpoints do."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str], dict[str, str]]] = []
        self.status = 200

    async def __aenter__(self) -> TokenServer:
        app = web.Application()
        app.router.add_route("*", "/token", self._answer)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/token"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.asked.append((request.query_string, headers, form))
        if self.status != 200:
            return web.json_response({"error": "invalid_grant"}, status=self.status)
        token = {"access_token": "token-of-a-cloud", "expires_in": 3600, "token_type": "Bearer"}
        return web.json_response({**token, "expires_on": "4000000000", "resource": "x"})


@pytest.fixture(scope="module")
def private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.PKCS8
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, plain).decode()


@pytest.fixture
def account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, private_key: str
) -> Callable[[str], None]:
    """Write the file of a service account whose tokens come from this address."""

    def written(token_uri: str) -> None:
        path = tmp_path / "account.json"
        about = {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "1",
            "private_key": private_key,
            "client_email": "bot@tea-house-1.iam.gserviceaccount.com",
            "token_uri": token_uri,
        }
        path.write_text(json.dumps(about))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))

    return written


GOOGLE: dict[str, Callable[[], WireFormat]] = {
    "vertex": VertexWire,
    "vertex-claude": VertexClaudeWire,
}


@pytest.mark.parametrize("provider", GOOGLE)
def test_google_gives_a_token_once_and_the_request_has_it(
    provider: str, account: Callable[[str], None]
) -> None:
    server = ModelServer(GOOGLE[provider](), (Say("Hello"),), (Say("again"),))

    async def main() -> TokenServer:
        async with TokenServer() as tokens, server:
            account(tokens.url)
            adapter = connect(provider, "claude-1", base_url=server.url, **PLACE)
            assert text(await read(adapter)) + text(await read(adapter)) == "Helloagain"
            await adapter.aclose()
        return tokens

    tokens = asyncio.run(main())
    assert len(tokens.asked) == 1
    assert tokens.asked[0][2]["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    for request in server.requests:
        assert request.headers["authorization"] == "Bearer token-of-a-cloud"
        assert f"/projects/{PROJECT}/locations/{REGION}/publishers/" in request.path
        assert "x-goog-api-key" not in request.headers


@pytest.mark.parametrize("provider", GOOGLE)
def test_a_refused_account_of_google_is_said(provider: str, account: Callable[[str], None]) -> None:
    server = ModelServer(GOOGLE[provider]())

    async def main() -> list[Chunk]:
        async with TokenServer() as tokens:
            tokens.status = 400
            account(tokens.url)
            return await asked(provider, server, "claude-1")()  # type: ignore[no-any-return]

    problem = error(asyncio.run(main()))
    assert (problem.type, problem.shown) == ("auth", "signing in at Google Cloud failed")
    assert server.requests == []


@pytest.mark.parametrize("provider", GOOGLE)
def test_without_credentials_of_google_it_says_so(provider: str) -> None:
    found, requests = answered(provider, GOOGLE[provider]())
    assert (error(found).type, requests) == ("auth", [])
    assert "credentials" in error(found).message


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
        ("europe-west1", "europe-west1-aiplatform.googleapis.com"),
    ],
)
def test_the_address_of_vertex(region: str, host: str) -> None:
    assert vertex_address(region) == f"https://{host}"
    own = connect("vertex-claude", "claude-1", api_key="t", region=region, project=PROJECT)
    assert str(own._client.base_url) == f"https://{host}/v1/"  # type: ignore[attr-defined]


# -- Azure ---------------------------------------------------------------------------------------


def test_azure_gives_a_token_and_the_request_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    installed("azure.identity")
    server = ModelServer(OpenAIResponsesWire(), (Say("Hello"),), (Say("again"),))

    async def main() -> TokenServer:
        async with TokenServer() as tokens, server:
            monkeypatch.setenv("IDENTITY_ENDPOINT", tokens.url)
            monkeypatch.setenv("IDENTITY_HEADER", "secret-of-the-machine")
            adapter = connect("azure-entra", "my-deployment", base_url=server.url)
            assert text(await read(adapter)) + text(await read(adapter)) == "Helloagain"
            await adapter.aclose()
        return tokens

    tokens = asyncio.run(main())
    ((query, headers, _form),) = tokens.asked
    assert headers["x-identity-header"] == "secret-of-the-machine"
    assert "cognitiveservices.azure.com" in query
    for request in server.requests:
        assert request.headers["authorization"] == "Bearer token-of-a-cloud"
        assert "api-key" not in request.headers
        assert request.json["model"] == "my-deployment"


def test_without_credentials_of_azure_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    installed("azure.identity")
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    found, requests = answered("azure-entra", OpenAIResponsesWire())
    problem = error(found)
    assert (problem.type, requests) == ("auth", [])
    assert problem.shown == "signing in at Azure failed"


# -- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "module", "extra"),
    [
        ("bedrock", "boto3", "bedrock"),
        ("vertex", "google.genai", "google"),
        ("vertex-claude", "google.auth", "vertex"),
        ("azure-entra", "azure.identity.aio", "azure"),
    ],
)
def test_a_missing_package_is_one_line_with_its_extra(
    provider: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = import_module

    def imported(name: str) -> Any:
        if name == module:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name)

    monkeypatch.setattr("oshaberi.providers.connections.sdk.import_module", imported)
    where = {"base_url": "https://x.openai.azure.com"} if provider == "azure-entra" else PLACE
    with pytest.raises(ConfigError, match=rf'pip install "oshaberi\[{extra}\]"') as raised:
        connect(provider, "model-1", **where)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("provider", ["bedrock", "vertex", "vertex-claude"])
def test_a_missing_region_is_named(provider: str) -> None:
    with pytest.raises(ConfigError, match="region"):
        connect(provider, "model-1", project=PROJECT)


@pytest.mark.parametrize("provider", ["vertex", "vertex-claude"])
def test_a_missing_project_is_named(provider: str) -> None:
    with pytest.raises(ConfigError, match="project"):
        connect(provider, "model-1", region=REGION)


@pytest.mark.parametrize(
    "region", ["evil.example/", "x.evil.example#", "eu-west-1@evil.example", "a b", "..", "EU", ""]
)
def test_a_region_cannot_lead_elsewhere(region: str) -> None:
    with pytest.raises(ConfigError, match="region"):
        connect("bedrock", "model-1", region=region)


@pytest.mark.parametrize("project", ["a/../b", "x?y", "-", "p" * 200, "Ä"])
def test_a_project_cannot_lead_elsewhere(project: str) -> None:
    with pytest.raises(ConfigError, match="project"):
        connect("vertex-claude", "model-1", region="eu", project=project)


@pytest.mark.parametrize("provider", CLOUDS)
def test_a_token_is_not_sent_where_others_read_along(provider: str) -> None:
    with pytest.raises(ConfigError, match="https"):
        check_cloud(PRESETS[provider], "http://10.0.0.1/v1", PLACE)
    check_cloud(PRESETS[provider], "https://10.0.0.1/v1", PLACE)
    check_cloud(PRESETS[provider], "http://[::1]:8000/v1", PLACE)


def test_models_may_not_climb_out_of_the_path() -> None:
    for model in ("../../x", "..", "a?b=c", "a#b"):
        _found, requests = answered(
            "vertex-claude", VertexClaudeWire(), model=model, api_key="token", request=ASK
        )
        assert all(one.path.startswith(f"/v1/projects/{PROJECT}/") for one in requests), model


def test_a_page_of_a_gateway_is_no_answer() -> None:
    page = Status(200, "<!doctype html>" + "x" * 200, {"content-type": "text/html"})
    found, _ = answered("bedrock", BedrockWire(), page, api_key="k")
    assert error(found).type == "api_error"


def test_the_question_arrives() -> None:
    _, (request,) = answered(
        "vertex", VertexWire(), api_key="token", request=Request((said("user", "Tea?"),))
    )
    assert request.json["contents"][0]["parts"][0]["text"] == "Tea?"
    assert request.headers["authorization"] == "Bearer token"
