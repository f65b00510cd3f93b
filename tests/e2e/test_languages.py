"""Everybody is answered in their own language: commands, buttons, notices; and Discord knows it."""

from __future__ import annotations

from discord_stage.model_servers.scripts import Refuse
from discord_stage.world.records import StageMessage
from oshaberi.bot.commands import COMMANDS
from tests.bot.client_harness import MEMBER, OWNER, world
from tests.e2e.bot_harness import BotHarness, run_with_bot

BROKEN = Refuse("auth")
BROKEN_JA = "モデル提供元がキーを受け付けません"
FAILED_JA = "理由：最初の言葉を送る前に回答が失敗したため。"
MENTIONED_JA = "理由：ボットがメンションされたため。"
YUKI = "yuki"
JAPANESE = world()
JAPANESE["guilds"][0]["members"].append(  # type: ignore[index]
    {"name": YUKI, "display_name": "ゆき", "locale": "ja"}
)


def labels(message: StageMessage) -> list[str]:
    """The buttons below a message."""
    return [one["label"] for row in message.components for one in row["components"]]


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
        unaddressed = "誰にも話しかけていない（メンション、返信、名前、トリガーワードのどれもない）"
        assert told == [mentioned, mentioned, f"理由：{unaddressed}。"]

    run_with_bot(scenario, "Hi.", described=JAPANESE)


def test_notices_are_in_the_language_of_the_server() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello", user=MEMBER)
        await here.wait_for(here.notices)
        assert here.notices() == [BROKEN_JA]
        (notice,) = here.ours()
        assert "末尾が" in str(notice.embeds[0]["description"])

    described = world(locale="ja")
    run_with_bot(scenario, [BROKEN], described=described)


def test_a_notice_in_a_channel_is_for_everybody_there() -> None:
    """Not for the one who asked: a Japanese reader on an English server."""

    async def scenario(here: BotHarness) -> None:
        await here.run("memory list", user=YUKI)
        asked = here.ask("hello", user=YUKI)
        await here.wait_for(here.notices)
        await here.idle()
        (notice,) = here.ours()
        assert here.notices() == ["The model's provider does not accept our key"]
        assert labels(notice) == ["Try again"]
        told = [await here.choose("Why this turn", one, user=YUKI) for one in (asked, notice.id)]
        assert told == [FAILED_JA, MENTIONED_JA]
        await here.run("config set", {"key": "language", "value": "ja", "in": "logs"})
        here.ask("hello", channel="logs")
        await here.wait_for(lambda: here.notices("logs"))
        assert here.notices("logs") == [BROKEN_JA]
        assert labels(here.ours("logs")[0]) == ["もう一度試す"]

    run_with_bot(scenario, [BROKEN], [BROKEN], described=JAPANESE)


def test_a_direct_message_has_the_language_of_its_reader_once_it_is_known() -> None:
    async def scenario(here: BotHarness) -> None:
        place = f"@{YUKI}"
        here.stage.people.dm("hello", user=YUKI)
        await here.wait_for(lambda: here.notices(place))
        await here.idle()
        await here.run("memory list", user=YUKI)
        here.stage.people.dm("and now?", user=YUKI)
        await here.wait_for(lambda: len(here.notices(place)) == 2)
        await here.idle()
        here.stage.people.press(here.ours(place)[-1], "もう一度試す", user=YUKI)
        await here.asked_times(3)
        await here.idle()
        english, japanese = "The model's provider does not accept our key", BROKEN_JA
        assert here.notices(place) == [english, japanese]

    run_with_bot(scenario, [BROKEN], [BROKEN], [BROKEN], described=JAPANESE)


def test_a_server_chooses_its_language() -> None:
    async def scenario(here: BotHarness) -> None:
        told = await here.run("config set", {"key": "language", "value": "ja"}, user=OWNER)
        assert "`language` is now" in told
        here.ask("hello", user=MEMBER)
        await here.wait_for(here.notices)
        assert here.notices() == [BROKEN_JA]

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
