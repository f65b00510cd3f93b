"""The program's log: lines with the ids of stream and turn, and every step at DEBUG.

    setup(settings.log_level, settings.log_format, secrets=settings.secrets(os.environ))
    services = TurnServices(..., observers=TurnObservers((StreamLogger(),)))

`log_lines` formats (`setup`), `stream_logging` follows the streams, `recent_warnings` keeps
the last warnings for the status page. Secrets are masked by `oshaberi.secret_redaction`.
"""

from oshaberi.bot.logs.log_lines import is_json, of_stream, set_level, setup, stream_id
from oshaberi.bot.logs.recent_warnings import LoggedWarning, RecentWarnings
from oshaberi.bot.logs.stream_logging import StreamLogger
from oshaberi.turn_tracing import TurnIds, of_turn

__all__ = [
    "LoggedWarning",
    "RecentWarnings",
    "StreamLogger",
    "TurnIds",
    "is_json",
    "of_stream",
    "of_turn",
    "set_level",
    "setup",
    "stream_id",
]
