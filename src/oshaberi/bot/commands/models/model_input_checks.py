"""Checks what users type into `/model`: the provider, the model, its address, its key."""

from __future__ import annotations

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.command_answers import Choices, choices, plain
from oshaberi.bot.commands.command_context import CommandRefusedError, CommandUser
from oshaberi.errors import Sentence
from oshaberi.languages import said, translated
from oshaberi.providers.adapter_registry import families, unknown
from oshaberi.providers.provider_presets import PRESETS
from oshaberi.storage.stored_records import ModelRecord
from oshaberi.turns.generation.local_model_guard import LOCAL_MODEL, may_ask_model
from oshaberi.turns.generation.model_chain import key_needed
from oshaberi.turns.services.model_candidates import ModelCandidate, is_same_model

MODEL_LIMIT = 200
NOT_HERE = frozenset({"replay"})
"""Providers that admins cannot choose: `replay` reads files of the machine that the bot runs on."""


def provider_names() -> list[str]:
    """Return presets and plugged-in families, without the test provider."""
    plugged = set(families()) - {preset.family for preset in PRESETS.values()}
    return sorted((set(PRESETS) | plugged) - NOT_HERE)


def checked_provider(name: str) -> str:
    known = provider_names()
    if name.strip().lower() not in known:
        raise CommandRefusedError(unknown(Sentence("provider"), name.strip(), known))
    return name.strip().lower()


def provider_choices(typed: str) -> Choices:
    titles = {name: PRESETS[name].title if name in PRESETS else name for name in provider_names()}
    return choices(typed, ((title, name) for name, title in titles.items()))


async def checked_model(
    context: BotContext, asker: CommandUser, provider: str, model: str, base_url: str | None
) -> ModelRecord:
    name = model.strip()
    if not name or len(name) > MODEL_LIMIT or not name.isprintable():
        raise CommandRefusedError(translated("Give the model's name as its provider writes it."))
    if base_url is not None:
        _check_address(asker, base_url.strip())
        base_url = base_url.strip()
    record = ModelRecord(
        asker.server_id,
        checked_provider(provider),
        name,
        base_url,
        user_id=0 if asker.server_id else asker.person.id,
    )
    if not await may_ask_model(context.services, record):
        raise CommandRefusedError(LOCAL_MODEL)
    return record


def _check_address(asker: CommandUser, url: str) -> None:
    """Refuse everybody but the bot's owner: the bot would send keys to that address."""
    if not asker.is_owner:
        raise CommandRefusedError(
            translated("Only the bot's owner can choose another address: keys would be sent there.")
        )
    if not url.startswith(("http://", "https://")) or any(sign.isspace() for sign in url):
        raise CommandRefusedError(translated("The address must begin with https:// or http://."))


async def check_payer(context: BotContext, model: ModelRecord) -> None:
    """Refuse a model without a key. The operator's keys are for the operator's models only."""
    links = context.services.models
    if not ModelCandidate(model).lacks_key or any(is_same_model(model, link) for link in links):
        return
    if not await context.db.keys.of(model.server_id, model.provider, model.user_id):
        raise CommandRefusedError(plain(said(key_needed(model, links))))
