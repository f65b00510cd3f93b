"""`python -m bench.whole_bot.tls_token_server`: the same model over TLS, by HTTP/1.1 and HTTP/2.

Needs `hypercorn` and `trustme`. Its first words are its address and the certificate to trust, which
it writes into the current folder.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.tokens import chunk_json
from bench.whole_bot.numbered_answers import TOKENS_PER_SECOND, answer_tokens, newest_question
from bench.whole_bot.process_probe import ProcessProbe, tell

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


async def token_app(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
    """Answers every POST with the lines that its question asks for, at the model's pace."""
    if scope["type"] != "http":
        return
    tokens = answer_tokens(*newest_question(await _whole_body(receive)))
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    loop = asyncio.get_running_loop()
    began = loop.time()
    for number, token in enumerate(tokens, start=1):
        await asyncio.sleep(began + number / TOKENS_PER_SECOND - loop.time())
        await _send_event(send, chunk_json(token), more=True)
    await _send_event(send, "[DONE]", more=False)


async def _send_event(send: Send, data: str, *, more: bool) -> None:
    body = f"data: {data}\n\n".encode()
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def _whole_body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


def _certificates(folder: Path) -> tuple[Path, Path]:
    """Writes a certificate for localhost; returns the one to trust and the server's own."""
    authority = import_module("trustme").CA()
    trusted, own = folder / "authority.pem", folder / "server.pem"
    authority.cert_pem.write_to_path(trusted)
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(own)
    return trusted, own


async def serve() -> None:
    trusted, own = _certificates(Path.cwd())
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = import_module("hypercorn.config").Config()
    config.bind = [f"fd://{listening.fileno()}"]
    config.certfile = config.keyfile = str(own)
    config.alpn_protocols = ["h2", "http/1.1"]
    config.loglevel = "WARNING"
    running = asyncio.ensure_future(import_module("hypercorn.asyncio").serve(token_app, config))
    probe = ProcessProbe()
    probe.start()
    tell(f"READY https://localhost:{listening.getsockname()[1]}/v1 {trusted}")
    await probe.answer_on_stdin(lambda: None)
    running.cancel()


if __name__ == "__main__":
    asyncio.run(serve())
    os._exit(0)  # connections that are still open are nobody's any more
