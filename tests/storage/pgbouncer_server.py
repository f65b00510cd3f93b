"""A real PgBouncer in transaction mode before the PostgreSQL of the tests.

Where it is not installed a test is skipped; with CI=true that is a failure.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy.engine import URL, make_url

from tests.free_ports import free_port

START_S = 20.0
CONNECTIONS = 2
"""Fewer than the bot opens: its connections change between transactions all the time."""
SETTINGS = """
[databases]
* = host={host} port=5432 user={user}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pgbouncer.pid
ignore_startup_parameters = extra_float_digits
"""


@contextmanager
def pgbouncer(url: str) -> Iterator[str]:
    """The URL of the same database through PgBouncer, as the bot's operator would write it."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        _missing()
        return
    given, port = make_url(url), free_port()
    folder = Path(tempfile.mkdtemp(prefix="oshaberi-pgbouncer-", dir="/tmp"))
    folder.chmod(0o777)
    config = folder / "pgbouncer.ini"
    config.write_text(_settings(given, port, folder))
    process = subprocess.Popen(
        [program, "-q", *_user(given), str(config)], stderr=subprocess.DEVNULL
    )
    try:
        asyncio.run(_listening(process, port))
        there = given.set(host="127.0.0.1", port=port, query={"prepared_statement_cache_size": "0"})
        yield there.render_as_string(hide_password=False)
    finally:
        process.terminate()
        process.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


def _missing() -> None:
    if os.environ.get("CI") == "true":
        raise FileNotFoundError("PgBouncer is missing: apt-get install pgbouncer")
    pytest.skip("no PgBouncer here: apt-get install pgbouncer")


def _user(given: URL) -> list[str]:
    """It does not run as root: then as the server's user, who can reach the server's socket."""
    if os.geteuid() != 0:
        return []
    return ["-u", Path(str(given.query["host"])).owner()]


def _settings(given: URL, port: int, folder: Path) -> str:
    return SETTINGS.format(
        host=given.query["host"],
        user=given.username,
        port=port,
        connections=CONNECTIONS,
        folder=folder,
    )


async def _listening(process: subprocess.Popen[bytes], port: int) -> None:
    async with asyncio.timeout(START_S):
        while True:
            if process.poll() is not None:
                raise RuntimeError(f"PgBouncer ended at once with {process.returncode}")
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return
