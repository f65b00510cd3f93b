"""A server with something of everything that moves, and much that stays."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from oshaberi.bot.characters.card_files import blank_png, read_card
from oshaberi.bot.characters.persona_cards import persona_of_card
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.picture_files import PictureFiles
from oshaberi.bot.storage.records import (
    Exchange,
    Fact,
    KeyRecord,
    LorebookRecord,
    ModelRecord,
    OwnFaceRecord,
    PersonaRecord,
    PictureRecord,
    SpriteRecord,
)
from tests.characters.made_cards import as_v3

SERVER, CHANNEL, USER = 234567890123456789, 345678901234567890, 123456789012345678
PICTURE = blank_png()
DIGEST = hashlib.sha256(PICTURE).hexdigest()[:32]
ADDRESS = f"https://cdn.discordapp.com/attachments/7/8/{DIGEST}.png"
BOOK = {"name": "Town", "extensions": {}, "entries": [{"keys": ["塔"], "content": "A tower."}]}


async def furnish(db: Database, data_dir: Path, server_id: int = SERVER) -> None:
    """Fill a server."""
    card = read_card(json.dumps(as_v3()).encode(), "mochi.json")
    mochi = persona_of_card(card, server_id, "Mochi", ())
    assert mochi.book is not None
    ren = PersonaRecord(
        server_id,
        "Ren",
        "Be brief. 簡潔に。",
        aliases=("レン",),
        triggers=("hey ren",),
        avatar_url=ADDRESS,
        samples=(("Hi", "Hello."),),
        sprites=(SpriteRecord("happy", ADDRESS), SpriteRecord("sad", None, True)),
        is_default=True,
        is_age_restricted=True,
        options={"humanizer_degree": 3, "memory": "own", "channels": [CHANNEL]},
    )
    ren = await db.personas.save(ren)
    saved = await db.personas.save(mochi.persona)
    await db.lorebooks.save(
        LorebookRecord(server_id, mochi.book.name, mochi.book.content, saved.id)
    )
    await db.lorebooks.save(LorebookRecord(server_id, "Town", BOOK, is_enabled=False))
    await db.lorebooks.save(LorebookRecord(server_id, "Harbour", BOOK, channel_id=CHANNEL))
    await PictureFiles(data_dir).write(server_id, DIGEST, "image/png", PICTURE)
    await db.pictures.save(
        PictureRecord(server_id, ADDRESS, ADDRESS, DIGEST, "image/png", CHANNEL, 99)
    )
    await db.pictures.save(PictureRecord(server_id, "https://example.org/lost.png"))
    await db.own_faces.save(OwnFaceRecord(server_id, True, "Hi!", ADDRESS, {"nick": "Ren"}))
    await db.servers.set_config(server_id, "language", "ja")
    await db.servers.set_config(server_id, "auto_channels", [CHANNEL])
    await db.servers.set_config(server_id, "humanizer_degree", 1, CHANNEL)
    hers = ModelRecord(server_id, "anthropic", "claude-haiku-4-5", params={"temperature": 0.5})
    local = ModelRecord(server_id, "openai", "llama", "http://192.168.1.5:8000/v1")
    await db.models.set_chain(server_id, (hers, local))
    await db.models.set_chain(server_id, (hers,), channel_id=CHANNEL)
    await db.keys.add(KeyRecord(server_id, "anthropic", "sk-ant-very-secret"))
    await db.facts.add(Fact(server_id, "likes tea", USER))
    await db.facts.add(Fact(server_id, "meets on Fridays"))
    await db.facts.add(Fact(server_id, "Ren alone knows this", USER, persona_id=ren.id))
    await db.memory.add(Exchange(CHANNEL, USER, "What?", "Tea."), keep=9, days=9)
