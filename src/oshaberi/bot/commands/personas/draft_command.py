"""A persona from one sentence: the model drafts it, and a person edits it before it is stored.

Discord opens a form only when something is pressed, so the draft is shown first, with a button.
What was typed into the form stays in the draft: if it cannot be stored, the form has it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import discord

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.characters.cards import Card, card_from
from oshaberi.bot.characters.macros import MacroValues, expanded
from oshaberi.bot.commands.answers import CommandForm, plain, speak_to_user, tell_error
from oshaberi.bot.commands.command_context import (
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
)
from oshaberi.bot.commands.personas.card_commands import import_card
from oshaberi.bot.commands.personas.persona_changes import check_room, checked_name, may_create
from oshaberi.bot.turns.generation.character_draft import (
    LONGEST,
    CharacterDraft,
    DraftFailure,
    draft_character,
)
from oshaberi.bot.turns.quotas import QuotaBook, QuotaPlace, RequestQuota, quota_words
from oshaberi.clocks import utc_now
from oshaberi.languages import translatable, translated

DRAFT_S = 600.0
"""How long a draft waits for its button; Discord forgets the command after 15 minutes."""
MOST_SHOWN = 700
MOST_GREETING = 150
"""How much of a draft is shown above its buttons: twice as many units must fit in a message."""
NO_DRAFT: Mapping[DraftFailure, str] = {
    DraftFailure.SILENT: translatable(
        "No model answered. Try again later, or write it yourself: `/persona create` with a name."
    ),
    DraftFailure.UNREADABLE: translatable(
        "The model wrote no draft that I can read. Try again with other words, or write it "
        "yourself: `/persona create` with a name."
    ),
}
FIELDS: Mapping[str, str] = {
    "name": translatable("Its name"),
    "description": translatable("Who it is, how it speaks"),
    "personality": translatable("A few words about its nature"),
    "first_mes": translatable("What it says when it is first called"),
    "mes_example": translatable("Sample dialogue"),
}
_SHORT = ("name", "personality")


async def drafted(
    context: BotContext, asker: CommandUser, name: str | None, idea: str
) -> CharacterDraft:
    """Let the first usable model draft a character. It counts towards the quotas of its user."""
    asker.must_manage()
    await check_room(context, asker.server_id)
    chosen = "" if name is None else await may_create(context, asker, name)
    services, path = context.services, asker.path
    settings = await services.settings(path)
    place = QuotaPlace(path.server_id, path.parent_id or path.channel_id, asker.person.id)
    book = QuotaBook(context.db, services.models.operator, services.clock)
    quota = RequestQuota(book, settings.turn, place)
    candidates = await services.models.chain(path, asker.person.id)
    refusal = await quota.refusal(candidates)
    if refusal is not None:
        raise CommandRefusedError(quota_words(refusal, place))
    with context.character_work.alone("draft", path.server_id):
        try:
            found = await draft_character(services.models, candidates, quota, idea, chosen)
        finally:
            quota.settle_soon()
    if isinstance(found, DraftFailure):
        raise CommandRefusedError(translated(NO_DRAFT[found]))
    return found


def shown_draft(draft: CharacterDraft, reader: str, *, is_open: bool = True) -> str:
    """Return the draft as the person reads it before the form, with their own name in it.

    `is_open`: it is not stored yet.
    """
    values = MacroValues(draft.name, reader, utc_now())
    lines = [translated("A draft of **{name}**:", name=plain(draft.name))]
    lines.append(_quoted(expanded(draft.description, values), MOST_SHOWN))
    if draft.first_mes:
        greeting = expanded(draft.first_mes, values)
        lines += [translated("It would greet with:"), _quoted(greeting, MOST_GREETING)]
    if is_open:
        lines.append(translated("Nothing is stored yet. You can change all of it in the form."))
    return "\n".join(lines)


def _quoted(text: str, most: int) -> str:
    shown = plain(text)
    return f"> {shown if len(shown) <= most else shown[:most] + '…'}"


@dataclass(slots=True)
class OpenDraft:
    """A draft that its person has not stored yet, as they left it."""

    context: BotContext
    draft: CharacterDraft

    def form(self, shown_in: Interaction) -> CommandForm:
        async def take(sender: CommandUser, values: dict[str, str]) -> str:
            self.draft = CharacterDraft(**values)
            told = await _stored(self.context, sender, self.draft)
            with suppress(discord.HTTPException):
                words = shown_draft(self.draft, sender.person.name, is_open=False)
                nobody = discord.AllowedMentions.none()
                await shown_in.edit_original_response(
                    content=words, view=None, allowed_mentions=nobody
                )
            return told

        title = translated("New persona: {name}", name=self.draft.name)
        texts = asdict(self.draft)
        return CommandForm(title, [_field(key, texts[key]) for key in FIELDS], take)


def _field(key: str, text: str) -> discord.ui.TextInput[Any]:
    is_short = key in _SHORT
    return discord.ui.TextInput(
        label=translated(FIELDS[key]),
        custom_id=key,
        style=discord.TextStyle.short if is_short else discord.TextStyle.paragraph,
        max_length=LONGEST[key],
        default=(text.replace("\n", " ") if is_short else text) or None,
        required=key in ("name", "description"),
    )


async def _stored(context: BotContext, sender: CommandUser, draft: CharacterDraft) -> str:
    name = checked_name(draft.name)
    told = await import_card(context, sender, _card(draft, name), name)
    return translated("{told} `/persona avatar` gives it a picture.", told=told)


def _card(draft: CharacterDraft, name: str) -> Card:
    data = {**asdict(draft), "name": name}
    return card_from({"spec": "chara_card_v2", "spec_version": "2.0", "data": data})


class DraftView(discord.ui.View):
    """The buttons under a draft. Only its person sees them; their rights are checked again."""

    def __init__(self, context: BotContext, draft: CharacterDraft, shown_in: Interaction) -> None:
        super().__init__(timeout=DRAFT_S)
        self._open = OpenDraft(context, draft)
        self._shown_in = shown_in
        self._add(translated("Edit and create"), discord.ButtonStyle.primary, self._edit)
        self._add(translated("Throw it away"), discord.ButtonStyle.secondary, self._drop)

    def _add(self, label: str, style: discord.ButtonStyle, pressed: Any) -> None:
        button: discord.ui.Button[Any] = discord.ui.Button(label=label, style=style)
        button.callback = pressed  # type: ignore[method-assign]  # as discord.py does it
        self.add_item(button)

    async def interaction_check(self, interaction: Interaction, /) -> bool:
        speak_to_user(interaction)
        return True

    async def _edit(self, interaction: Interaction) -> None:
        asker_of(interaction).must_manage()
        await interaction.response.send_modal(self._open.form(self._shown_in))

    async def _drop(self, interaction: Interaction) -> None:
        self.stop()
        await interaction.response.edit_message(
            content=translated("Nothing was changed."), embed=None, view=None
        )

    async def on_timeout(self) -> None:
        with suppress(discord.HTTPException):
            await self._shown_in.edit_original_response(view=None)

    async def on_error(
        self, interaction: Interaction, error: Exception, _item: discord.ui.Item[Any], /
    ) -> None:
        await tell_error(interaction, error)


async def show_draft(
    context: BotContext, interaction: Interaction, name: str | None, idea: str
) -> None:
    """Answer `/persona create` with an idea."""
    await interaction.response.defer(ephemeral=True, thinking=True)
    asker = asker_of(interaction)
    draft = await drafted(context, asker, name, idea)
    await interaction.edit_original_response(
        content=shown_draft(draft, asker.person.name),
        view=DraftView(context, draft, interaction),
        allowed_mentions=discord.AllowedMentions.none(),
    )
