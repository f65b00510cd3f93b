"""Everybody is answered in their own language: commands, buttons, notices; and Discord knows it."""

from __future__ import annotations

from oshaberi.bot.commands import COMMANDS
from oshaberi.stage.model_servers.model_script import Refuse
from tests.bot.client_harness import MEMBER, OWNER, world
from tests.e2e.bot_harness import BotHarness, run_with_bot

BROKEN = Refuse("auth")
YUKI = "yuki"
JAPANESE = world()
JAPANESE["guilds"][0]["members"].append(  # type: ignore[index]
    {"name": YUKI, "display_name": "ゆき", "locale": "ja"}
)


def test_a_command_is_answered_in_the_language_of_who_uses_it() -> None:
    async def scenario(here: BotHarness) -> None:
        japanese = await here.run("memory list", user=YUKI)
        assert japanese.startswith("あなたについての記憶はありません。")
        english = await here.run("memory list", user=MEMBER)
        assert english.startswith("Nothing is remembered about you.")
        refused = await here.run("config reset", {"key": "all"}, user=YUKI)
        assert refused == "「サーバー管理」権限のあるメンバーだけが変更できます。"

    run_with_bot(scenario, described=JAPANESE)


def test_why_is_told_in_the_language_of_who_asks() -> None:
    async def scenario(here: BotHarness) -> None:
        quiet = here.post("nobody is asked")
        asked = here.ask("hello", user=YUKI)
        (hi,) = await here.says("Hi.")
        told = [await here.choose("Why this turn", one, user=YUKI) for one in (asked, hi.id, quiet)]
        mentioned = "理由：ボットがメンションされたため。"
        unaddressed = "誰にも宛てていないメッセージだったため：メンション、返信、トリガーワードなし"
        assert told == [mentioned, mentioned, f"理由：{unaddressed}。"]

    run_with_bot(scenario, "Hi.", described=JAPANESE)


def test_notices_are_in_the_language_of_the_server() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello", user=MEMBER)
        await here.wait_for(here.notices)
        assert here.notices() == ["モデル提供元がキーを受け付けません"]
        (notice,) = here.ours()
        assert "末尾が" in str(notice.embeds[0]["description"])

    described = world(locale="ja")
    run_with_bot(scenario, [BROKEN], described=described)


def test_a_server_chooses_its_language() -> None:
    async def scenario(here: BotHarness) -> None:
        told = await here.run("config set", {"key": "language", "value": "ja"}, user=OWNER)
        assert "`language` is now" in told
        here.ask("hello", user=MEMBER)
        await here.wait_for(here.notices)
        assert here.notices() == ["モデル提供元がキーを受け付けません"]

    run_with_bot(scenario, [BROKEN])


def test_what_is_wrong_with_a_setting_is_told_in_the_language_of_who_sets_it() -> None:
    described = world()
    described["guilds"][0]["members"].append(  # type: ignore[index]
        {"name": YUKI, "locale": "ja", "roles": ["admins"]}
    )

    async def scenario(here: BotHarness) -> None:
        wrong = {"key": "humanizer_degree", "value": "9"}
        told = await here.run("config set", wrong, user=YUKI)
        assert told == "humanizer_degree：9は使えません。使える値：0から3までの整数"
        told = await here.run("config show", {"key": "llm_stop_strings"}, user=YUKI)
        assert told.startswith("`llm_stop_strings`は`（なし）`です")
        assert "（設定元：組み込みの既定値）：モデルがこのいずれかを書いたところで止める。" in told
        told = await here.run("model key add", {"provider": "opnai"}, user=YUKI)
        assert told.startswith("提供元：'opnai'は見つかりません。'openai'")

    run_with_bot(scenario, described=described)


def test_discord_knows_the_descriptions_in_japanese() -> None:
    async def scenario(here: BotHarness) -> None:
        commands = {one.payload["name"]: one for one in here.stage.world.commands.values()}
        stop = commands["stop"].payload
        assert stop["description_localizations"]["ja"] == "このチャンネルの回答を止めます"
        assert not stop.get("name_localizations")
        described = [one for one in commands.values() if one.payload.get("description")]
        assert described
        assert all("ja" in one.payload["description_localizations"] for one in described)
        assert len(commands) == len(COMMANDS)

    run_with_bot(scenario)
