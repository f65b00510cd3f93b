"""What the program tells about itself: lines with the stream's id, and at DEBUG every step of it.

setup(settings.log_level, settings.log_format, secrets=settings.secrets(os.environ))
services = TurnServices(..., observers=(StreamLogger(),))
"""

from oshaberi.logs.log_lines import of_stream, set_level, setup, stream_id
from oshaberi.logs.stream_logging import StreamLogger

__all__ = ["StreamLogger", "of_stream", "set_level", "setup", "stream_id"]
