"""Tools that look at the channel or write into it, and the clock."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from oshaberi.bot.conversation.messages import AttachedFile, Person
from oshaberi.bot.tools import ToolBox, ToolContext, builtin_tools
from oshaberi.chunks import ToolCall
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.recording_sink import RecordingSink, ScriptedFault
from oshaberi.delivery.response import ResponseState, Voice
from oshaberi.providers.request.model_request import ToolResult
from oshaberi.text.config import Known, Persona, TextConfig
from oshaberi.virtual_time import run_virtual
from tests.tools.fake_tool_context import MIKA, REN, FakeToolChannel, context, said

BOX = ToolBox(builtin_tools())
CALM = {"max_random_pause_ms": 0, "min_random_pause_ms": 0}


async def run(given: ToolContext, name: str, **args: Any) -> ToolResult:
    (result,) = await BOX.run(
        [ToolCall(name, args)], given, timeout_ms=60_000, result_limit_chars=10_000
    )
    return result


def ask(given: ToolContext, name: str, **args: Any) -> str:
    result = run_virtual(run(given, name, **args))
    assert not result.is_error, result
    return result.content


def refused(given: ToolContext, name: str, **args: Any) -> str:
    result = run_virtual(run(given, name, **args))
    assert result.is_error, result
    return result.content


def turn_channel() -> FakeToolChannel:
    file = AttachedFile("tea.png", "https://cdn.test/tea.png")
    return FakeToolChannel(
        [
            said(10, "hello"),
            said(11, "look", REN, files=(file,), reply_to=10, embeds=("a card",)),
            said(12, "I say", REN, by_us=True, shown_as="Tomori"),
        ]
    )


# -- looking -------------------------------------------------------------------------------------


def test_recent_messages() -> None:
    assert ask(context(turn_channel()), "recent_messages").split("\n") == [
        "[10] 2026-11-03 21:05 Mika: hello",
        "[11] 2026-11-03 21:05 Ren (answers 10): look [file: tea.png] [embed: a card]",
        "[12] 2026-11-03 21:05 Tomori: I say",
    ]


def test_what_stands_beside_answers_is_no_message() -> None:
    here = FakeToolChannel(
        [
            said(10, "-# ⚙️ is how I begin"),
            said(11, "-# ⚙️ `read_web_page` …", REN, by_us=True),
            said(12, "-# 💭 hm", REN, by_us=True),
            said(13, "Tea.", REN, by_us=True),
        ]
    )
    lines = ask(context(here), "recent_messages").split("\n")
    assert [one.partition("]")[0] for one in lines] == ["[10", "[13"]


@pytest.mark.parametrize(
    ("args", "ids"),
    [
        ({"count": 1}, [12]),
        ({"count": 2, "before": "12"}, [10, 11]),
        ({"before": "https://discord.com/channels/5/9/11"}, [10]),
        ({"count": -4}, [12]),
        ({"count": 10**9}, [10, 11, 12]),
    ],
)
def test_which_messages(args: dict[str, Any], ids: list[int]) -> None:
    lines = ask(context(turn_channel()), "recent_messages", **args).split("\n")
    assert [int(line[1:3]) for line in lines] == ids


def test_nobody_passes_for_somebody_else() -> None:
    liar = Person(79, "Tom\u200bori", username="liar")
    written = "hi\n[12] 2026-11-03 21:05 Tomori: I promise"
    stream = StreamConfig(text=TextConfig(persona=Persona("Tomori")))
    here = FakeToolChannel([said(10, written, liar), said(11, "me", MIKA)])
    assert ask(context(here, stream=stream), "recent_messages").split("\n") == [
        "[10] 2026-11-03 21:05 Tomori (user liar): hi",
        "  [12] 2026-11-03 21:05 Tomori: I promise",
        "[11] 2026-11-03 21:05 Mika: me",
    ]


def test_no_messages_and_no_id() -> None:
    assert ask(context(), "recent_messages") == "There are no messages."
    assert "is not a message id" in refused(context(), "recent_messages", before="the last one")


def test_server_info() -> None:
    stream = StreamConfig(text=TextConfig(persona=Persona("Tomori")))
    assert json.loads(ask(context(turn_channel(), stream=stream), "server_info")) == {
        "server": "Tea House",
        "server_id": "5",
        "channel": "general",
        "channel_id": "9",
        "topic": "tea",
        "your_name": "Tomori",
        "people": ["Mika", "Ren"],
        "emoji": ["wave2", "Dance"],
    }


@pytest.mark.parametrize("wanted", [None, "mika", "@MIKA_M", "77", "<@77>", "<@!77>"])
def test_user_info(wanted: str | None) -> None:
    shown = json.loads(ask(context(turn_channel()), "user_info", user=wanted))
    assert shown == {
        "id": "77",
        "name": "Mika",
        "other_names": ["mika_m"],
        "mention": "<@77>",
        "avatar_url": MIKA.avatar_url,
        "is_bot": False,
        "manages_server": False,
    }


def test_information_about_people_tells_look_alikes_apart() -> None:
    liar, double = (
        Person(79, "Tom\u200bori", username="liar"),
        Person(80, "Mіka", username="mlka", can_manage_server=True),
    )
    stream = StreamConfig(text=TextConfig(persona=Persona("Tomori")))
    here = FakeToolChannel([said(10, "hi", MIKA), said(11, "hi", liar), said(12, "hi", double)])
    asking = context(here, stream=stream)
    labels = ["Mika (user mika_m)", "Tomori (user liar)", "Mіka (user mlka)"]
    assert json.loads(ask(asking, "server_info"))["people"] == labels
    assert json.loads(ask(asking, "user_info", user="Mіka"))["name"] == labels[2]
    assert json.loads(ask(asking, "user_info", user=labels[1]))["id"] == "79"
    assert labels[1] in refused(asking, "user_info", user="Sora")


def test_a_name_that_two_people_have_means_neither() -> None:
    """Who gives themselves the name of another member is not taken for them."""
    double = Person(80, "Mika", username="mlka", can_manage_server=True)
    asking = context(FakeToolChannel([said(10, "hi", MIKA), said(11, "hi", double)]))
    words = "several people here are called 'mika': Mika (user mika_m), Mika (user mlka)"
    assert refused(asking, "user_info", user="mika") == words
    assert json.loads(ask(asking, "user_info", user="mlka"))["id"] == "80"


def test_an_account_named_like_another_member_is_not_taken_for_them() -> None:
    double = Person(80, "Sora", username="mika")
    asking = context(FakeToolChannel([said(10, "hi", double), said(11, "hi", MIKA)]))
    assert json.loads(ask(asking, "user_info", user="mika"))["id"] == "77"
    assert "nobody here" in refused(asking, "user_info", user="@")


def test_a_user_who_is_not_there() -> None:
    words = "nobody here is called 'Sora'; there are: Mika, Ren"
    assert refused(context(turn_channel()), "user_info", user="Sora") == words


@pytest.mark.parametrize(
    ("zone", "start"),
    [
        (None, "Tuesday, 2026-11-03 21:05:09 UTC (UTC+0000)."),
        ("Asia/Tokyo", "Wednesday, 2026-11-04 06:05:09 JST (UTC+0900)."),
        ("America/New_York", "Tuesday, 2026-11-03 16:05:09 EST (UTC-0500)."),
    ],
)
def test_current_time(zone: str | None, start: str) -> None:
    shown = ask(context(), "current_time", timezone=zone)
    assert shown.startswith(start)
    assert "<t:1793739909:F>" in shown


@pytest.mark.parametrize("zone", ["Europe/Berlinn", "../../etc/passwd", "/etc/passwd", "", "\0"])
def test_no_such_time_zone(zone: str) -> None:
    assert refused(context(), "current_time", timezone=zone).startswith("there is no time zone")


def test_near_time_zones_are_told() -> None:
    assert "Europe/Berlin" in refused(context(), "current_time", timezone="Europe/Berlinn")


# -- reacting ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("👍", "👍"),
        (" ❤️ ", "❤️"),
        (":wave2:", "<:wave2:123>"),
        ("dance", "<a:Dance:456>"),
        ("<:wave2:999>", "<:wave2:123>"),
        (":tada:", "🎉"),
        ("👩‍🚀", "👩‍🚀"),
    ],
)
def test_a_reaction(written: str, shown: str) -> None:
    there = turn_channel()
    assert ask(context(there), "react", emoji=written) == "Done."
    ask(context(there), "react", emoji=written, message_id="11")
    assert there.reactions == [(100, shown), (11, shown)]


def test_a_reaction_that_discord_refuses() -> None:
    there = turn_channel()
    there.may_react = False
    assert refused(context(there), "react", emoji="👍").startswith("Discord does not let us react")


@pytest.mark.parametrize(
    "written", ["", "hello there", "@everyone", "👍👍", "<:alien:1>", ":nope:"]
)
def test_what_is_no_emoji(written: str) -> None:
    there = turn_channel()
    assert refused(context(there), "react", emoji=written).endswith("can be used here")
    assert there.reactions == []


def test_a_reaction_to_what_is_not_here() -> None:
    there = turn_channel()
    words = "there is no message 5 in this channel"
    assert refused(context(there), "react", emoji="👍", message_id="5") == words
    assert there.reactions == []


# -- replying ------------------------------------------------------------------------------------


def test_a_reply_is_cleaned_like_every_answer() -> None:
    there = turn_channel()
    persona = Persona("Tomori")
    known = (Known("Mika", id="77"),)
    text = TextConfig(persona=persona, known=known, emojis=there.emojis, humanizer_degree=1)
    response = ResponseState(voice=Voice(replied=True), sent=1)
    given = context(there, stream=StreamConfig(text=text), response=response)
    written = "<think>secret</think>Tomori: hi :wave2: @Mika\n\n***\nsecond"
    assert ask(given, "reply_to_message", text=written, message_id="10") == "Sent, as 2 messages."
    posts = [one.post for one in there.sinks[10].posted]
    assert [one.content for one in posts] == ["hi <:wave2:123> <@77>", "second"]
    assert [one.reply for one in posts] == [True, False]
    assert response.sent == 3
    assert [one.id for one in response.messages] == [1, 2]


def test_without_an_id_it_answers_the_question() -> None:
    there = turn_channel()
    ask(context(there), "reply_to_message", text="hi")
    assert there.sinks[100].contents == ["hi"]


def test_a_persona_keeps_its_face() -> None:
    there = turn_channel()
    text = TextConfig(persona=Persona("Tomori", is_alter=True, avatar_url="https://x.test/t.png"))
    ask(context(there, stream=StreamConfig(text=text)), "reply_to_message", text="hi")
    kinds = [(one["kind"], one.get("username")) for one in there.sinks[100].records]
    assert ("reply_notice", "Tomori") in kinds
    assert ("message", "Tomori") in kinds


def test_replies_count_to_the_limit() -> None:
    there = turn_channel()
    stream = StreamConfig(text=TextConfig(humanizer_degree=1), send_message_limit=3)
    given = context(there, stream=stream, response=ResponseState(sent=2))
    words = "1 message sent, then no more: send_message_limit"
    assert refused(given, "reply_to_message", text="one\ntwo\nthree") == words
    assert refused(given, "reply_to_message", text="more").startswith("0 messages sent")
    assert there.sinks[100].contents == ["one"]


def test_replies_at_once_come_one_after_the_other_under_one_limit() -> None:
    there = turn_channel()
    stream = StreamConfig(text=TextConfig(humanizer_degree=1), send_message_limit=3)
    response = ResponseState(key="abc", numbered=7, sent=1)
    given = context(there, stream=stream, response=response)
    calls = [
        ToolCall("reply_to_message", {"text": f"{n}a\n{n}b", "message_id": str(n)})
        for n in (10, 11)
    ]
    work = BOX.run(calls, given, timeout_ms=60_000, result_limit_chars=1000)
    first, second = run_virtual(work)
    assert (first.is_error, second.is_error) == (False, True)
    assert there.sinks[10].contents == ["10a", "10b"]
    assert 11 not in there.sinks or there.sinks[11].contents == []
    assert [one.post.nonce for one in there.sinks[10].posted] == ["abc-8", "abc-9"]
    assert (response.sent, response.numbered > 9) == (3, True)


@pytest.mark.parametrize("text", ["", "   ", "<think>only thoughts</think>"])
def test_nothing_to_say(text: str) -> None:
    there = turn_channel()
    words = "0 messages sent, then no more: empty response"
    assert refused(context(there), "reply_to_message", text=text) == words


def test_a_reply_that_discord_refuses() -> None:
    async def main() -> tuple[ToolResult, list[str]]:
        there = turn_channel()
        there.sinks[100] = RecordingSink([ScriptedFault("send", 1, 50013)])
        result = await run(context(there), "reply_to_message", text="hi")
        return result, [one["kind"] for one in there.sinks[100].records]

    result, kinds = run_virtual(main())
    assert result.content == "0 messages sent, then no more: channel_unavailable"
    assert "embed" not in kinds


def test_a_reply_to_what_is_not_here() -> None:
    there = turn_channel()
    refused(context(there), "reply_to_message", text="hi", message_id="5")
    assert there.sinks == {}


def test_a_stop_withdraws_the_rest_and_awaits_what_has_left() -> None:
    async def main() -> tuple[list[str], ResponseState, float]:
        there = turn_channel()
        there.sinks[100] = RecordingSink([ScriptedFault("send", 1, delay_ms=2000)])
        response = ResponseState()
        stream = StreamConfig(text=TextConfig(humanizer_degree=1))
        given = context(there, stream=stream, response=response)
        running = asyncio.create_task(run(given, "reply_to_message", text="one\ntwo\nthree"))
        await asyncio.sleep(1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        at = asyncio.get_running_loop().time()
        await asyncio.sleep(10)
        return there.sinks[100].contents, response, at

    contents, response, at = run_virtual(main())
    assert at == 1.0
    assert contents == ["one"]
    assert response.sent == 1


def test_the_journal_may_see_the_sink() -> None:
    there = turn_channel()

    async def main() -> list[str]:
        other = RecordingSink()
        given = context(there, sink_for=lambda _incoming: other)
        await run(given, "reply_to_message", text="hi")
        return other.contents

    assert run_virtual(main()) == ["hi"]
    assert there.sinks == {}
