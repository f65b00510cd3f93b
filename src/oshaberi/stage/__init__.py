"""A Discord on loopback: REST and gateway, as strict as the real one, that fails on demand.

The real, unmodified discord.py logs in to it. `testing` has what tests need (`pytest_fixtures`,
`client_runner`); `bot_runner` starts a bot in its own process, `discord_py_redirect` points
discord.py at the stage, `scaled_loop` makes its waits shorter.

Each part knows only those before it:

- `errors`, `refusals` (Discord's error answers), `json_bodies`;
- `world`: what exists; `request_schema` and `rules`: what Discord accepts; `payloads`: records
  as JSON; `requests`: log, rate limits and faults;
- `state`: what all parts share; `access_guard`: which requests are allowed;
- `world_changes`: what happens in the world; `interactions`; `people_actions`: what people do;
- `gateway`, `rest`, `cdn`, `control` (for tests and the page), `page`;
- `server`: puts them together. `demo_model` and `model_servers` are models for bots.
"""

from oshaberi.stage.errors import (
    StageError,
    StageProblemsError,
    StageTimeoutError,
    WorldError,
)
from oshaberi.stage.refusals import RefusalError
from oshaberi.stage.requests.injected_faults import EDIT, SEND, TYPING, WEBHOOK, Fault
from oshaberi.stage.server import Stage
from oshaberi.stage.state import Settings
from oshaberi.stage.world.records import StageMessage
from oshaberi.stage.world.world_state import World

__all__ = [
    "EDIT",
    "SEND",
    "TYPING",
    "WEBHOOK",
    "Fault",
    "RefusalError",
    "Settings",
    "Stage",
    "StageError",
    "StageMessage",
    "StageProblemsError",
    "StageTimeoutError",
    "World",
    "WorldError",
]
