"""Tells of models that fail: a line when the first question fails, a count every minute, the end.

What a question itself causes (blocked, too long) is no outage, and neither is a rate limit.
"""

from __future__ import annotations

import logging
from collections import OrderedDict

from oshaberi.bot.storage.records import ModelRecord
from oshaberi.bot.turns.services.models import ModelCandidate
from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.outage_log import OutageLog
from oshaberi.secret_redaction import redact

log = logging.getLogger(__name__)

MOST_MODELS = 200
MOST_LOGGED = 500
NO_OUTAGE: frozenset[ErrorType] = frozenset({"content_blocked", "context_length", "rate_limit"})

ModelName = tuple[str, str]


class ModelOutages:
    """The models of a process that fail now, by provider and name."""

    def __init__(self) -> None:
        self._logs: OrderedDict[ModelName, OutageLog] = OrderedDict()

    def failing(self) -> frozenset[ModelName]:
        return frozenset(name for name, one in self._logs.items() if one.is_on)

    def failed(self, candidate: ModelCandidate, error: ProviderError) -> None:
        """Log a failure with the provider's words, or count it if the model is known to fail."""
        name, words = _name(candidate.model), _words(candidate, error)
        if error.type in NO_OUTAGE:
            log.info("%s/%s: %s", *name, words)
        else:
            self._log_of(name).begins(words)

    def answered(self, model: ModelRecord) -> None:
        """Note that a model has answered."""
        known = self._logs.get(_name(model))
        if known is not None:
            known.over()

    def _log_of(self, name: ModelName) -> OutageLog:
        if name not in self._logs:
            self._logs[name] = OutageLog(
                *("model", "/".join(name), log),
                level=logging.WARNING,
                words=("{what}: {reason}", "{what} still fails", "{what} answers again"),
                counts_only=True,
            )
            if len(self._logs) > MOST_MODELS:
                self._logs.popitem(last=False)[1].close()
        return self._logs[name]


def _name(model: ModelRecord) -> ModelName:
    return model.provider, model.model


def _words(candidate: ModelCandidate, error: ProviderError) -> str:
    key = candidate.key
    words = " ".join(redact(error.message).split())[:MOST_LOGGED] or "(no message)"
    return f"{error.type}: {words}" + (f" (key {key.id})" if key is not None and key.id else "")
