"""A live stream becomes a scene, and the scene does what the stream did. Without its secrets."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.chunks import Chunk, ProviderError, ThoughtPart, ToolCall
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.recording import (
    HeardStream,
    SceneFrame,
    SecretMasker,
    StreamRecorder,
    file_name,
    record_into,
    scene_of,
    secrets_in,
    write_scene,
)
from oshaberi.recording.recording_redaction import IMAGE, LONGEST_ARGUMENT
from oshaberi.recording.scene_writing import encode
from oshaberi.scenes import Scene, find_scenes, load_scene, parse_scene
from oshaberi.scenes.playback import perform
from oshaberi.stream import ScriptedProvider, Silence, Step, StreamContext, stream_to_sink
from oshaberi.stream.provider_protocol import FollowUp, Stop
from oshaberi.text.config import Known, Persona, Sprite, TextConfig
from oshaberi.virtual_time import run_virtual

SCENES = find_scenes([str(Path(__file__).parent / "scenes")])
KEY = "sk-proj-Zk3v9Qp7LmX2aWbN"
PLANTED = {
    "openai": KEY,
    "google": "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "discord": "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs0abcd",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "ours": "correct-horse-battery",
    "header": "q8Zt5vNwLr2s",
    "query": "9f86d081884c7d65",
    "userinfo": "admin:hunter2hunter2",
}
SAYINGS = [
    f"Your key {PLANTED['openai']} works.",
    f'{{"k":"{PLANTED["google"]}"}}',
    f"The bot token is {PLANTED['discord']}, keep it.",
    f"Cookie: session={PLANTED['jwt']}",
    f"I was told {PLANTED['ours']}!",
    f"Authorization: Bearer {PLANTED['header']}",
    f"https://cdn.test/a.png?size=64&X-Amz-Signature={PLANTED['query']}&v=1",
    f"https://{PLANTED['userinfo']}@db.test/x",
]


def frame(**fields: Any) -> SceneFrame:
    return SceneFrame("a stream", StreamConfig(text=TextConfig(**fields)))


def heard(*chunks: Chunk) -> list[HeardStream]:
    return [HeardStream(0, chunk) for chunk in chunks]


def documented(*chunks: Chunk, secrets: Sequence[str] = (), **fields: Any) -> dict[str, Any]:
    return scene_of(heard(*chunks), frame(**fields), SecretMasker(secrets))


async def listened(
    steps: Sequence[Step], config: StreamConfig, *, reemits: bool = False, reply_to: bool = False
) -> tuple[list[HeardStream], RecordingSink]:
    tapes: list[Sequence[HeardStream]] = []
    provider = StreamRecorder(ScriptedProvider(steps, reemits=reemits), tapes.append)
    sink = RecordingSink(())
    context = StreamContext(channel="general", reply_to=reply_to)
    await stream_to_sink(provider, None, config, context, sink)
    (tape,) = tapes
    return list(tape), sink


# -- the same again ------------------------------------------------------------------------------


def rerun(scene: Scene) -> tuple[list[Any], list[Any]]:
    """What a live stream sent, and what the scene made from it sends."""
    tape, sink = run_virtual(
        listened(scene.steps, scene.config, reemits=scene.reemits, reply_to=scene.reply_to)
    )
    played = SceneFrame(scene.name, scene.config, scene.reply_to, scene.reemits)
    document = json.loads(encode(scene_of(tape, played, SecretMasker())))
    return sink.records, perform(parse_scene(document, "recorded")).records


def is_live(path: str) -> bool:
    """Whether only the model acts in it."""
    scene = load_scene(path)
    return not scene.faults and not any(isinstance(s, Stop | FollowUp) for s in scene.steps)


@pytest.mark.parametrize(
    "path", [path for path in SCENES if is_live(path)], ids=lambda path: Path(path).stem
)
def test_a_recorded_stream_does_the_same_again(path: str) -> None:
    live, again = rerun(load_scene(path))
    assert again == live


def test_there_is_something_to_record() -> None:
    assert sum(map(is_live, SCENES)) > 20


def test_every_kind_of_chunk_is_kept() -> None:
    document = documented(
        Chunk("text", thoughts=(ThoughtPart("hm", "summary", signature="opaque"),)),
        Chunk("text", "one"),
        Chunk("text", "two", thoughts=(ThoughtPart("so"),)),
        Chunk("function_call", "look: ", calls=(ToolCall("a", {"x": 1}, "id"), ToolCall("b"))),
        Chunk("done", finish_reason="length"),
        Chunk("error", error=ProviderError("rate_limit", "slow down", 429)),
        Chunk("error"),
    )
    assert document["chunks"] == [
        {"type": "thought", "content": "hm", "kind": "summary"},
        "one",
        {"type": "thought", "content": "so", "kind": "raw"},
        "two",
        "look: ",
        {"type": "function_call", "name": "a", "args": {"x": 1}},
        {"type": "function_call", "name": "b", "args": {}},
        {"type": "done", "finish_reason": "length"},
        {"type": "error", "error": {"type": "rate_limit", "message": "slow down"}},
        {"type": "error", "error": {"type": "api_error", "message": ""}},
    ]
    assert len(parse_scene(document, "recorded").steps) == 10


def test_silences_add_up() -> None:
    """Each is rounded from the beginning, so that many small ones are not lost."""
    tape = [HeardStream(0.4, Chunk("text", "x")) for _ in range(10)]
    chunks = scene_of(tape, frame(), SecretMasker())["chunks"]
    assert sum(item["ms"] for item in chunks if isinstance(item, dict)) == 4


def test_what_a_stream_depends_on_is_kept() -> None:
    config = StreamConfig(
        text=TextConfig(
            humanizer_degree=3,
            persona=Persona("Tomori", ("Lilya",), sprites=(Sprite("mad", "https://x.test/m.png"),)),
            known=(Known("Ren", "persona"), Known("alice", id="123", aliases=("al",))),
            emojis=("<:soup:111111111111111111>",),
            output_prefill="Well, ",
            starts_in_thought=True,
            seed=7,
        ),
        send_message_limit=4,
    )
    document = scene_of(
        heard(Chunk("text", "hi")), SceneFrame("n", config, True, True), SecretMasker()
    )
    scene = parse_scene(json.loads(encode(document)), "recorded")
    assert (scene.config, scene.reply_to, scene.reemits) == (config, True, True)


def test_defaults_are_not_written() -> None:
    assert documented(Chunk("text", "hi")) == {"name": "a stream", "chunks": ["hi"]}


# -- however it ends -----------------------------------------------------------------------------


class Failing(ScriptedProvider):
    """Breaks after its script."""

    async def open(self, request: Any = None) -> AsyncIterator[Chunk]:
        async for chunk in super().open(request):
            yield chunk
        raise OSError(f"reset by {KEY}")


def test_an_exception_is_recorded_and_passed_on() -> None:
    tapes: list[Sequence[HeardStream]] = []

    async def main() -> None:
        recorder = StreamRecorder(Failing([Chunk("text", "hi")]), tapes.append)
        with pytest.raises(OSError, match="reset"):
            async for _ in recorder.open(None):
                pass

    run_virtual(main())
    document = scene_of(tapes[0], frame(), SecretMasker())
    assert document["chunks"] == [
        "hi",
        {"type": "error", "error": {"type": "api_error", "message": "reset by [secret]"}},
    ]


def test_a_reader_who_leaves_closes_the_provider_and_keeps_what_came() -> None:
    tapes: list[Sequence[HeardStream]] = []
    script = ScriptedProvider([Chunk("text", "a"), Chunk("text", "b")])

    async def main() -> None:
        stream = StreamRecorder(script, tapes.append).open(None)
        assert await anext(stream) == Chunk("text", "a")
        await stream.aclose()  # type: ignore[attr-defined]

    run_virtual(main())
    assert script.closed
    assert [one.chunk for one in tapes[0]] == [Chunk("text", "a")]


def test_a_slow_reader_is_not_the_model_s_silence() -> None:
    tapes: list[Sequence[HeardStream]] = []

    async def main() -> None:
        steps: list[Step] = [Chunk("text", "a"), Silence(300), Chunk("text", "b")]
        async for _ in StreamRecorder(ScriptedProvider(steps), tapes.append).open(None):
            await asyncio.sleep(10)

    run_virtual(main())
    assert [round(one.silence_ms) for one in tapes[0]] == [0, 300, 0]


def test_a_silence_that_nobody_waited_out_is_longer_than_their_patience() -> None:
    """Else a scene of a stream that timed out might just not time out."""
    tapes: list[Sequence[HeardStream]] = []

    async def main() -> None:
        steps: list[Step] = [Chunk("text", "a"), Silence(500_000)]
        stream = StreamRecorder(ScriptedProvider(steps), tapes.append).open(None)
        await anext(stream)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2):
                await anext(stream)

    run_virtual(main())
    assert [round(one.silence_ms) for one in tapes[0]] == [0, 3000]


def test_it_is_the_provider_that_it_records() -> None:
    script = ScriptedProvider([], reemits=True)
    recorder = StreamRecorder(script, lambda _heard: None)
    assert (recorder.name, recorder.model, recorder.reemits) == ("script", "script", True)
    assert recorder.normalise(object()) is None
    assert recorder.classify(ValueError("x")).message == "x"


# -- secrets -------------------------------------------------------------------------------------


def leaks(document: dict[str, Any]) -> list[str]:
    """The names of the planted secrets that can still be read, chunks put together or not."""
    said = "".join(item for item in document["chunks"] if isinstance(item, str))
    items = [item for item in document["chunks"] if isinstance(item, dict)]
    thought = "".join(item.get("content", "") for item in items)
    written = encode(document).decode() + said + thought
    return [name for name, secret in PLANTED.items() if secret in written]


@pytest.mark.parametrize("saying", SAYINGS)
def test_planted_secrets_do_not_reach_the_scene(saying: str) -> None:
    ours = [PLANTED["ours"]]
    message = documented(Chunk("error", error=ProviderError("auth", saying)), secrets=ours)
    call = documented(
        Chunk("function_call", calls=(ToolCall("post", {"body": [saying]}),)), secrets=ours
    )
    avatar = Persona("x", avatar_url=saying)
    texts = documented(Chunk("text", saying), output_prefill=saying, persona=avatar, secrets=ours)
    assert [leaks(one) for one in (message, call, texts)] == [[], [], []]


@given(st.data())
def test_no_cut_through_a_secret_lets_it_pass(data: st.DataObject) -> None:
    text = "\n".join(SAYINGS)
    places = st.lists(st.integers(0, len(text)), max_size=60)
    cuts = [0, *sorted(data.draw(places)), len(text)]
    pieces = [text[a:b] for a, b in pairwise(cuts)]
    thoughts = [Chunk("text", thoughts=(ThoughtPart(piece),)) for piece in pieces]
    said = [Chunk("text", piece) for piece in pieces]
    mixed = [chunk for both in zip(said, thoughts, strict=True) for chunk in both]
    document = documented(*mixed, secrets=[PLANTED["ours"]])
    assert leaks(document) == []
    masked = SecretMasker([PLANTED["ours"]]).text(text)
    assert "".join(item for item in document["chunks"] if isinstance(item, str)) == masked


def test_a_secret_in_a_text_without_spaces_leaves_the_rest_in_its_pieces() -> None:
    pieces = ["これは、", "「", KEY[:7], KEY[7:], "」です。", "では。"]
    assert SecretMasker().pieces(pieces) == ["これは、", "「", "[secret]", "", "」です。", "では。"]


def test_a_secret_far_into_a_long_word_is_masked_whole() -> None:
    """It was masked slice by slice, so half of a secret could stay. tests/attacks has the time."""
    for start in range(4096 - len(KEY), 4097):
        word = "、" * start + KEY + "。"
        assert SecretMasker().text(word) == "、" * start + "[secret]。"


PROSE = [
    "The key is patience, the token: gratitude. Passwords bore me.",
    "see https://example.com/watch?v=dQw4w9WgXcQ&t=42s and a+b=c",
    "`const key = value` and Basic understanding of tokens (secret: none!)",
    "https://ja.wikipedia.org/wiki/%E3%81%8A%E3%81%97%E3%82%83%E3%81%B9%E3%82%8A",
]


@pytest.mark.parametrize("text", PROSE)
def test_talk_about_keys_is_no_secret(text: str) -> None:
    assert SecretMasker().text(text) == text


def test_fields_with_telling_names_are_masked_whatever_they_hold() -> None:
    args = {"api_key": "abc", "password": "x", "keyword": "cats", "nested": {"accessToken": "y"}}
    assert SecretMasker().value(args) == {
        "api_key": "[secret]",
        "password": "[secret]",
        "keyword": "cats",
        "nested": {"accessToken": "[secret]"},
    }


def test_the_environment_knows_what_is_secret() -> None:
    environ = {"OPENAI_API_KEY": "aaaa", "DISCORD_TOKEN": "bbbb", "DB_PASSWORD": "c", "PATH": "d"}
    assert secrets_in(environ) == ("aaaa", "bbbb", "c")


def test_short_values_are_not_searched_for() -> None:
    assert SecretMasker(["false", None, ""]).text("false and truthful") == "false and truthful"


# -- what is too much ----------------------------------------------------------------------------


def test_images_and_long_arguments_are_cut_out() -> None:
    picture = "data:image/png;base64," + "iVBORw0KGgo" * 500
    call = ToolCall("draw", {"image": picture, "prompt": "x" * (LONGEST_ARGUMENT + 5)})
    document = documented(Chunk("text", f"![]({picture})"), Chunk("function_call", calls=(call,)))
    text, item = document["chunks"]
    assert text == f"![]({IMAGE})"
    assert item["args"]["image"] == IMAGE
    assert item["args"]["prompt"].endswith("x… [cut: 5 characters]")


def test_of_the_talk_before_only_the_emoji_stay() -> None:
    recent = ["my address is 5 Elm Street <:soup:1>", "and <a:dance:2> <:soup:1>!", "private"]
    document = documented(Chunk("text", "hi"), recent_bot_messages=recent)
    assert document["recent_bot_messages"] == ["<:soup:1>", "<a:dance:2> <:soup:1>", ""]
    assert "recent_bot_messages" not in documented(
        Chunk("text", "hi"), recent_bot_messages=["private"]
    )


# -- files ---------------------------------------------------------------------------------------

AT = datetime(2026, 11, 15, 21, 34, 5, 123_456)


@pytest.mark.parametrize(
    ("channel", "name"),
    [
        ("general", "20261115-213405-123-general.json"),
        ("../../etc/passwd", "20261115-213405-123-etc-passwd.json"),
        ("", "20261115-213405-123-stream.json"),
        ("雑談", "20261115-213405-123-雑談.json"),
        ("x" * 300, f"20261115-213405-123-{'x' * 40}.json"),
    ],
)
def test_files_are_named_by_time_and_channel(channel: str, name: str) -> None:
    assert file_name(AT, channel) == name


def stream_into(folder: Path, *steps: Step) -> list[str]:
    async def main() -> list[str]:
        config = StreamConfig(text=TextConfig(humanizer_degree=1))
        script = ScriptedProvider(steps)
        provider = record_into(folder, script, channel="general", config=config, now=lambda: AT)
        sink = RecordingSink(())
        await stream_to_sink(provider, None, config, StreamContext(), sink)
        return sink.contents

    return run_virtual(main())


def test_every_stream_becomes_a_file_for_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVICE_KEY", "correct-horse-battery")
    folder = tmp_path / "deep" / "recordings"
    sent = stream_into(folder, Chunk("text", "hi\nyou"))
    stream_into(folder, Chunk("text", "say correct-horse-battery"))
    first, second = sorted(folder.iterdir(), key=lambda path: len(path.name))
    assert [first.name, second.name] == [
        "20261115-213405-123-general.json",
        "20261115-213405-123-general-2.json",
    ]
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    played = perform(load_scene(str(first)))
    assert [record["content"] for record in played.records if record["kind"] == "message"] == sent
    assert load_scene(str(second)).text == "say [secret]"


def test_a_stream_that_says_nothing_leaves_no_file(tmp_path: Path) -> None:
    stream_into(tmp_path / "recordings")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_spoils_only_the_recording(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert stream_into(blocked / "recordings", Chunk("text", "hi")) == ["hi"]
    assert "a stream was not recorded" in caplog.text


def test_a_write_that_fails_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "scene.json"
    path.write_text("old")
    with pytest.raises(KeyError):
        write_scene(path, {"name": "no chunks"})
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("scene.json", "old")]


def test_half_a_surrogate_pair_survives(tmp_path: Path) -> None:
    path = tmp_path / "scene.json"
    write_scene(path, documented(Chunk("text", "a\ud83d"), Chunk("text", "\ude00 é")))
    assert load_scene(str(path)).text == "a\ud83d\ude00 é"
