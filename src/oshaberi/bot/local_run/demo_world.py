"""The demo world of the first visit: a server, its people, and the bot's personas.

If the settings have a persona, it is the only one, in another server, where it behaves as in any
server of Discord.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from discord_stage import World
from discord_stage.world.records import USERNAME_MOST
from oshaberi.bot.config import PersonaEntry
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import PersonaRecord, SpriteRecord

VISITOR = "you"
ATTENTION_MS = 120_000
"""In the demo world the bot keeps listening after somebody has addressed it."""
FOUNDED = datetime(2026, 1, 1, tzinfo=UTC)
"""Fixed, so that the server keeps its ids, and its settings still apply at the next start."""
FOUNDED_FOR_OWN = FOUNDED + timedelta(days=1)
MAIN = "Mochi"
OTHER_PERSONAS = frozenset({"Yuki"})
FACES = ("happy", "sad", "sleepy", "surprised", "mad")
PEOPLE = ({"name": "mika", "display_name": "Mika"}, {"name": "ren", "display_name": "Ren"})
EMOJIS = ("mochi_wave", "mochi_heart", "mochi_nap", "tea", "ramen", "snail")

MOCHI_PROMPT = (
    "You are Mochi, a small, cheerful rice cake who lives in a chat server. You answer in short "
    "lines, like somebody who types, and you like tea."
)
YUKI_PROMPT = (
    "You are Yuki, a laconic snow spirit. You answer in few words, politely, and a little coldly."
)


def world(own: PersonaEntry | None = None) -> World:
    """Return the world. `own` is the persona from the settings, if there is one."""
    name = MAIN if own is None else " ".join(own.name.split())[:USERNAME_MOST].strip()
    founded = FOUNDED if own is None else FOUNDED_FOR_OWN
    return World.described(_description(name), founded=founded)


def _description(bot: str) -> dict[str, object]:
    others = [person for person in PEOPLE if person["name"] != bot.lower()]
    guild = {
        "name": "Oshaberi",
        "owner": VISITOR,
        "members": [{"name": VISITOR, "display_name": "You"}, *others],
        "channels": [
            {"name": "general", "topic": f"{bot} answers everything here. Say something!"},
            {
                "name": "quiet",
                "topic": f"Mention {bot} here, or say its name.",
            },
            {
                "name": "thoughts",
                "topic": "What the model thought, after each answer.",
            },
        ],
        "emojis": list(EMOJIS),
    }
    allowed = ["manage_webhooks", "manage_threads", "manage_channels"]
    return {"bot": {"name": bot, "permissions": allowed}, "guilds": [guild]}


def face_url(stage_url: str, name: str, mood: str | None = None) -> str:
    query = "" if mood is None else f"?mood={mood}"
    return f"{stage_url}/cdn/faces/{name}.svg{query}"


async def settle_in(
    db: Database, stage_url: str, place: World, own: PersonaEntry | None = None
) -> None:
    """Store the server's personas on the first visit.

    Later only the picture URLs are updated: the stage serves them, and its port may change.
    """
    server = next(iter(place.guilds))
    known = {persona.name for persona in await db.personas.of(server)}
    for persona in _personas(server, stage_url) if own is None else ():
        if not known or persona.name in known:
            stored = await db.personas.get(server, persona.name)
            await db.personas.save(persona if stored is None else _with_new_faces(stored, persona))


def settings_of(place: World) -> dict[str, int]:
    """Return settings for the whole stage, which stay when those of a server are reset."""
    return {
        "auto_channels": place.channel("general").id,
        "thought_log_channel_id": place.channel("thoughts").id,
    }


def _personas(server: int, stage_url: str) -> tuple[PersonaRecord, ...]:
    def sprites(name: str, *moods: str) -> tuple[SpriteRecord, ...]:
        return tuple(SpriteRecord(mood, face_url(stage_url, name, mood)) for mood in moods)

    return (
        PersonaRecord(
            server,
            MAIN,
            MOCHI_PROMPT,
            triggers=("mochi",),
            sprites=sprites(MAIN, *FACES),
            is_default=True,
        ),
        PersonaRecord(
            server,
            "Yuki",
            YUKI_PROMPT,
            triggers=("yuki",),
            avatar_url=face_url(stage_url, "Yuki"),
            sprites=sprites("Yuki", "happy", "sad"),
        ),
    )


def _with_new_faces(stored: PersonaRecord, ours: PersonaRecord) -> PersonaRecord:
    fresh = {sprite.name: sprite for sprite in ours.sprites}
    sprites = tuple(
        fresh[sprite.name] if sprite.name in fresh and _is_local(sprite.avatar_url) else sprite
        for sprite in stored.sprites
    )
    avatar = ours.avatar_url if _is_local(stored.avatar_url) else stored.avatar_url
    return replace(stored, sprites=sprites, avatar_url=avatar)


def _is_local(url: str | None) -> bool:
    return url is not None and url.startswith("http://127.0.0.1:") and "/cdn/faces/" in url
