"""A play that uses every route of the stage once at least, and looks at each answer."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

import aiohttp

from discord_stage import Stage
from discord_stage.world.records import Interaction
from stage_server.described_answers import answer_differences
from stage_server.discord_description import FILE

WORLD: dict[str, object] = {
    "bot": {"permissions": ["administrator"]},
    "guilds": [
        {
            "name": "Guild",
            "members": ["mika", "ren", "aki"],
            "roles": [{"name": "helpers"}],
            "emojis": ["wave"],
            "channels": [
                {"name": "general", "threads": ["side"]},
                {"name": "posts", "type": "forum"},
                {"name": "news", "type": "news"},
                {"name": "talk", "type": "voice"},
            ],
        }
    ],
}
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class LongPlay:
    """`succeeded` has the routes that answered with a success, `differences` what was wrong."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.succeeded: set[tuple[str, str]] = set()
        self.differences: list[str] = []
        self._session: aiohttp.ClientSession
        world = stage.world
        self.ids: dict[str, Any] = {
            "application_id": world.application.id,
            "guild_id": world.guild("Guild").id,
            "channel_id": world.channel("general").id,
            "user_id": world.user("mika").id,
            "emoji": "🎉",
        }

    async def __aenter__(self) -> LongPlay:
        heads = {"Authorization": f"Bot {self._stage.token}"}
        self._session = aiohttp.ClientSession(headers=heads)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def ask(self, route: str, body: Any = None, query: str = "", **ids: object) -> Any:
        """`route` is `METHOD /path` as the stage has it. A refusal fails the test."""
        method, path = route.split(" ")
        url = f"{self._stage.url}/api/v10{path.format_map(self.ids | ids)}{query}"
        async with self._session.request(method, url, json=body) as answer:
            text = await answer.text()
        said = json.loads(text) if text else None
        assert answer.status < 400, (route, answer.status, text)
        self.succeeded.add((method, path))
        if FILE.is_file():
            found = answer_differences(method, path, answer.status, said)
            self.differences += [f"{route} {difference}" for difference in found]
        return said

    async def everything(self) -> None:
        await self._selves()
        await self._messages()
        await self._reactions()
        await self._threads()
        await self._channels()
        await self._webhooks()
        await self._commands()
        await self._interactions()
        await self._guild()
        await self._moderation()
        await self._roles()
        await self._emojis()
        await self._invites()
        await self._events()
        await self._settings()

    async def _selves(self) -> None:
        for path in ("/users/@me", "/oauth2/applications/@me", "/applications/@me"):
            await self.ask(f"GET {path}")
        await self.ask("GET /gateway/bot")
        await self.ask("GET /users/@me/guilds")
        await self.ask("GET /users/{user_id}")
        dm = await self.ask("POST /users/@me/channels", {"recipient_id": str(self.ids["user_id"])})
        await self.ask(
            "POST /channels/{channel_id}/messages", {"content": "x"}, channel_id=dm["id"]
        )
        await self.ask("GET /channels/{channel_id}", channel_id=dm["id"])

    async def _messages(self) -> None:
        base = "/channels/{channel_id}/messages"
        mika = self.ids["user_id"]
        rich = {
            "content": f"hi <@{mika}>",
            "embeds": [{"title": "T", "description": "D", "fields": [{"name": "a", "value": "b"}]}],
            "components": [
                {
                    "type": 1,
                    "components": [
                        {"type": 2, "style": 1, "label": "Go", "custom_id": "go"},
                        {"type": 2, "style": 5, "label": "L", "url": "https://example.com"},
                    ],
                },
                {"type": 1, "components": [{"type": 5, "custom_id": "who"}]},
            ],
        }
        first = await self.ask(f"POST {base}", rich)
        reply = {"content": "re", "message_reference": {"message_id": first["id"]}}
        second = await self.ask(f"POST {base}", reply)
        layout = {"flags": 1 << 15, "components": [{"type": 10, "content": "text"}]}
        await self.ask(f"POST {base}", layout)
        self.ids["message_id"] = first["id"]
        await self.ask(f"GET {base}", query="?limit=5")
        search = "GET /guilds/{guild_id}/messages/search"
        await self.ask(search, query="?content=e&limit=5&include_nsfw=true")
        await self.ask(f"GET {base}/{{message_id}}")
        await self.ask(f"PATCH {base}/{{message_id}}", {"content": "edited"})
        await self.ask(f"PUT {base}/pins/{{message_id}}")
        await self.ask(f"GET {base}/pins")
        await self.ask(f"DELETE {base}/pins/{{message_id}}")
        third = await self.ask(f"POST {base}", {"content": "c"})
        both = {"messages": [second["id"], third["id"]]}
        await self.ask(f"POST {base}/bulk-delete", both)
        gone = await self.ask(f"POST {base}", {"content": "d"})
        await self.ask(f"DELETE {base}/{{message_id}}", message_id=gone["id"])
        await self.ask("POST /channels/{channel_id}/typing")
        forward = {"message_reference": {"type": 1, "message_id": first["id"]}}
        await self.ask(f"POST {base}", forward)
        answers = [{"poll_media": {"text": text}} for text in ("yes", "no")]
        poll = {"poll": {"question": {"text": "ok?"}, "answers": answers}}
        asked = await self.ask(f"POST {base}", poll)
        self._stage.people.vote(int(asked["id"]), "yes", user="mika")
        polls, there = "/channels/{channel_id}/polls/{message_id}", {"message_id": asked["id"]}
        await self.ask(f"GET {polls}/answers/{{answer_id}}", answer_id=1, **there)
        await self.ask(f"POST {polls}/expire", **there)

    async def _reactions(self) -> None:
        base = "/channels/{channel_id}/messages/{message_id}/reactions"
        for path in (f"{base}/{{emoji}}/@me", f"{base}/{{emoji}}/{{user_id}}"):
            await self.ask(f"PUT {base}/{{emoji}}/@me")
            await self.ask(f"GET {base}/{{emoji}}")
            await self.ask(f"DELETE {path}")
        await self.ask("GET /channels/{channel_id}/messages/{message_id}")
        await self.ask(f"DELETE {base}/{{emoji}}")
        await self.ask(f"DELETE {base}")

    async def _threads(self) -> None:
        inside = "/channels/{channel_id}/thread-members"
        made = await self.ask(
            "POST /channels/{channel_id}/messages/{message_id}/threads", {"name": "t"}
        )
        await self.ask("GET /channels/{channel_id}/messages/{message_id}")
        alone = await self.ask("POST /channels/{channel_id}/threads", {"name": "u", "type": 12})
        forum = self._stage.world.channel("posts").id
        post = {"name": "p", "message": {"content": "first"}}
        await self.ask("POST /channels/{channel_id}/threads", post, channel_id=forum)
        there = {"channel_id": made["id"]}
        await self.ask(f"PUT {inside}/@me", **there)
        await self.ask(f"PUT {inside}/{{user_id}}", **there)
        await self.ask(f"GET {inside}", **there)
        await self.ask(f"GET {inside}/{{user_id}}", **there)
        await self.ask(f"DELETE {inside}/{{user_id}}", **there)
        await self.ask(f"DELETE {inside}/@me", **there)
        await self.ask("GET /guilds/{guild_id}/threads/active")
        for number in (made["id"], alone["id"]):
            await self.ask("PATCH /channels/{channel_id}", {"archived": True}, channel_id=number)
        base = "/channels/{channel_id}"
        for path in ("threads/archived/public", "threads/archived/private"):
            await self.ask(f"GET {base}/{path}")
        await self.ask(f"GET {base}/users/@me/threads/archived/private")

    async def _channels(self) -> None:
        made = await self.ask("POST /guilds/{guild_id}/channels", {"name": "new", "type": 0})
        there = {"channel_id": made["id"]}
        for kind in (2, 4, 5, 15):
            body = {"name": f"kind-{kind}", "type": kind}
            await self.ask("POST /guilds/{guild_id}/channels", body)
        await self.ask("PATCH /channels/{channel_id}", {"topic": "about"}, **there)
        one = {"type": 1, "allow": "1024", "deny": "0"}
        place = "/channels/{channel_id}/permissions/{target_id}"
        await self.ask(f"PUT {place}", one, target_id=self.ids["user_id"], **there)
        await self.ask("GET /channels/{channel_id}", **there)
        await self.ask(f"DELETE {place}", target_id=self.ids["user_id"], **there)
        await self.ask("DELETE /channels/{channel_id}", **there)

    async def _webhooks(self) -> None:
        made = await self.ask("POST /channels/{channel_id}/webhooks", {"name": "hook"})
        hook = {"webhook_id": made["id"], "token": made["token"]}
        by_token = "/webhooks/{webhook_id}/{token}"
        await self.ask("GET /channels/{channel_id}/webhooks")
        await self.ask("GET /guilds/{guild_id}/webhooks")
        await self.ask("GET /webhooks/{webhook_id}", **hook)
        await self.ask(f"GET {by_token}", **hook)
        await self.ask("PATCH /webhooks/{webhook_id}", {"name": "hook2", "avatar": PIXEL}, **hook)
        await self.ask(f"PATCH {by_token}", {"name": "hook3"}, **hook)
        body = {"content": "from a hook", "username": "Somebody"}
        sent = await self.ask(f"POST {by_token}", body, "?wait=true", **hook)
        message = {"message_id": sent["id"]}
        await self.ask(f"POST {by_token}", body, **hook)
        await self.ask(f"GET {by_token}/messages/{{message_id}}", **hook, **message)
        edit = {"content": "edited"}
        await self.ask(f"PATCH {by_token}/messages/{{message_id}}", edit, **hook, **message)
        await self.ask(f"DELETE {by_token}/messages/{{message_id}}", **hook, **message)
        await self.ask(f"DELETE {by_token}", **hook)
        second = await self.ask("POST /channels/{channel_id}/webhooks", {"name": "hook"})
        await self.ask("DELETE /webhooks/{webhook_id}", webhook_id=second["id"])

    async def _commands(self) -> None:
        everywhere = "/applications/{application_id}/commands"
        in_guild = "/applications/{application_id}/guilds/{guild_id}/commands"
        for base in (everywhere, in_guild):
            named = {"name": "go", "description": "Goes"}
            made = await self.ask(f"POST {base}", named)
            await self.ask(f"POST {base}", named)
            one = {"command_id": made["id"]}
            await self.ask(f"GET {base}")
            await self.ask(f"GET {base}/{{command_id}}", **one)
            await self.ask(f"PATCH {base}/{{command_id}}", {"description": "Gone"}, **one)
            await self.ask(f"DELETE {base}/{{command_id}}", **one)
        option = {"type": 3, "name": "text", "description": "What", "required": True}
        await self.ask(f"PUT {in_guild}", [named | {"name": "local"}])
        self.ids["command_id"] = self._stage.world.commands[max(self._stage.world.commands)].id
        await self.ask(f"PUT {everywhere}", [named | {"options": [option]}, MENU])

    async def _interactions(self) -> None:
        people = self._stage.people
        begun = people.run("go", {"text": "x"}, channel="general", user="mika")
        await self._answer(begun, {"type": 4, "data": {"content": "done"}}, "?with_response=1")
        hook = {"webhook_id": self.ids["application_id"], "token": begun.token}
        by_token = "/webhooks/{webhook_id}/{token}"
        await self.ask(f"GET {by_token}/messages/@original", **hook)
        await self.ask(f"PATCH {by_token}/messages/@original", {"content": "new"}, **hook)
        more = await self.ask(f"POST {by_token}", {"content": "more"}, "?wait=1", **hook)
        await self.ask(f"GET {by_token}/messages/{{message_id}}", message_id=more["id"], **hook)
        await self.ask(f"DELETE {by_token}/messages/@original", **hook)
        rows = {"type": 1, "components": [{"type": 2, "style": 1, "label": "P", "custom_id": "p"}]}
        sent = await self.ask(
            "POST /channels/{channel_id}/messages", {"content": "press", "components": [rows]}
        )
        pressed = people.press(int(sent["id"]), "P", user="mika")
        update = {"type": 7, "data": {"content": "pressed"}}
        await self._answer(pressed, update, "?with_response=1")

    async def _answer(self, begun: Interaction, body: Any, query: str = "") -> None:
        path = "/interactions/{interaction_id}/{token}/callback"
        ids = {"interaction_id": begun.id, "token": begun.token}
        await self.ask(f"POST {path}", body, query, **ids)

    async def _guild(self) -> None:
        base = "/guilds/{guild_id}"
        for path in ("", "/channels", "/members", "/members/{user_id}", "/roles", "/emojis"):
            await self.ask(f"GET {base}{path}")
        emoji = next(iter(self._stage.world.guild("Guild").emojis))
        await self.ask(f"GET {base}/emojis/{{emoji_id}}", emoji_id=emoji)
        await self.ask(f"PATCH {base}/members/@me", {"nick": "Bot"})

    async def _moderation(self) -> None:
        base, aki = "/guilds/{guild_id}", self._stage.world.user("aki").id
        await self.ask(f"GET {base}/members/search", query="?query=mi&limit=5")
        until = {"communication_disabled_until": "2030-01-01T00:00:00+00:00", "nick": "m"}
        await self.ask(f"PATCH {base}/members/{{user_id}}", until, user_id=aki)
        await self.ask(f"DELETE {base}/members/{{user_id}}", user_id=aki)
        self._stage.people.join("aki")
        ban = f"{base}/bans/{{user_id}}"
        await self.ask(f"PUT {ban}", {"delete_message_seconds": 60}, user_id=aki)
        await self.ask(f"GET {base}/bans")
        await self.ask(f"GET {ban}", user_id=aki)
        await self.ask(f"DELETE {ban}", user_id=aki)
        await self.ask(f"POST {base}/bulk-ban", {"user_ids": [str(aki)]})
        await self.ask(f"GET {base}/audit-logs", query="?limit=3")

    async def _roles(self) -> None:
        base = "/guilds/{guild_id}/roles"
        made = await self.ask(f"POST {base}", {"name": "new", "permissions": "1024", "color": 5})
        one = {"role_id": made["id"]}
        await self.ask(f"GET {base}/{{role_id}}", **one)
        await self.ask(f"GET {base}/member-counts")
        await self.ask(f"PATCH {base}/{{role_id}}", {"hoist": True}, **one)
        await self.ask(f"PATCH {base}", [{"id": made["id"], "position": 1}])
        ren = self._stage.world.user("ren").id
        held = "/guilds/{guild_id}/members/{user_id}/roles/{role_id}"
        await self.ask(f"PUT {held}", user_id=ren, **one)
        await self.ask(f"DELETE {held}", user_id=ren, **one)
        await self.ask(f"DELETE {base}/{{role_id}}", **one)

    async def _emojis(self) -> None:
        for base in ("/guilds/{guild_id}/emojis", "/applications/{application_id}/emojis"):
            made = await self.ask(f"POST {base}", {"name": "smile", "image": PIXEL})
            one = {"emoji_id": made["id"]}
            await self.ask(f"GET {base}")
            await self.ask(f"GET {base}/{{emoji_id}}", **one)
            await self.ask(f"PATCH {base}/{{emoji_id}}", {"name": "grin"}, **one)
            await self.ask(f"DELETE {base}/{{emoji_id}}", **one)

    async def _invites(self) -> None:
        made = await self.ask("POST /channels/{channel_id}/invites", {"max_age": 0})
        await self.ask("GET /channels/{channel_id}/invites")
        await self.ask("GET /guilds/{guild_id}/invites")
        one = {"code": made["code"]}
        await self.ask("GET /invites/{code}", query="?with_counts=true", **one)
        self._stage.people.join("kai", invite=made["code"])
        self._stage.people.leave("kai")
        await self.ask("DELETE /invites/{code}", **one)

    async def _events(self) -> None:
        base = "/guilds/{guild_id}/scheduled-events"
        event = {
            "name": "Party",
            "privacy_level": 2,
            "entity_type": 3,
            "entity_metadata": {"location": "here"},
            "scheduled_start_time": "2030-01-01T00:00:00+00:00",
            "scheduled_end_time": "2030-01-02T00:00:00+00:00",
        }
        made = await self.ask(f"POST {base}", event)
        one = {"event_id": made["id"]}
        await self.ask(f"GET {base}")
        await self.ask(f"GET {base}/{{event_id}}", **one)
        await self.ask(f"PATCH {base}/{{event_id}}", {"description": "fun"}, **one)
        await self.ask(f"GET {base}/{{event_id}}/users", **one)
        await self.ask(f"DELETE {base}/{{event_id}}", **one)
        rules = "/guilds/{guild_id}/auto-moderation/rules"
        for kind in (1, 3, 4, 5, 6):
            rule = {"name": "r", "event_type": 2 if kind == 6 else 1, "trigger_type": kind}
            made = await self.ask(f"POST {rules}", rule | METADATA.get(kind, {}))
        await self.ask(f"GET {rules}")
        one = {"rule_id": made["id"]}
        await self.ask(f"GET {rules}/{{rule_id}}", **one)
        await self.ask(f"PATCH {rules}/{{rule_id}}", {"enabled": True}, **one)
        await self.ask(f"DELETE {rules}/{{rule_id}}", **one)

    async def _settings(self) -> None:
        base, world = "/guilds/{guild_id}", self._stage.world
        await self.ask(f"PATCH {base}", {"description": "A guild", "afk_timeout": 60})
        await self.ask(f"GET {base}/preview")
        await self.ask(f"GET {base}", query="?with_counts=true")
        await self.ask(
            f"PATCH {base}/channels", [{"id": str(self.ids["channel_id"]), "position": 2}]
        )
        await self.ask("PATCH /users/@me", {"username": "Renamed", "avatar": PIXEL})
        await self.ask("GET /gateway")
        await self.ask("GET /voice/regions")
        await self.ask("GET /soundboard-default-sounds")
        await self.ask(f"GET {base}/regions")
        news: dict[str, Any] = {"channel_id": world.channel("news").id}
        told = await self.ask("POST /channels/{channel_id}/messages", {"content": "news"}, **news)
        one = {"message_id": told["id"]} | news
        await self.ask("POST /channels/{channel_id}/messages/{message_id}/crosspost", **one)
        await self.ask("PUT /channels/{channel_id}/pins/{message_id}", **one)
        await self.ask("GET /channels/{channel_id}/pins", **news)
        await self.ask("DELETE /channels/{channel_id}/pins/{message_id}", **one)
        commands = "/applications/{application_id}/guilds/{guild_id}/commands"
        allowed = [{"id": str(self.ids["user_id"]), "type": 2, "permission": True}]
        await self.ask(f"PUT {commands}/{{command_id}}/permissions", {"permissions": allowed})
        await self.ask(f"GET {commands}/{{command_id}}/permissions")
        await self.ask(f"GET {commands}/permissions")


METADATA: dict[int, dict[str, Any]] = {
    1: {"trigger_metadata": {"keyword_filter": ["rude"]}},
    4: {"trigger_metadata": {"presets": [1]}},
    6: {"trigger_metadata": {"keyword_filter": ["rude"]}},
}
MENU = {"name": "Look", "type": 3}
