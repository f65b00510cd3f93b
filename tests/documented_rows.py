"""What TomoriBot's published documents say about the text of messages, one row for each statement.

`F`: text flushing, `05`: buffer, `06`: segments, `07`: delivery, `O`: overview. A row has the
model's text and the messages that the document asks for. Where we differ on purpose, `ours` has
our messages, and `differs` the beginning of the line in decision 16 that says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SOUP, XDD, POGGERS = "<:Soup:11>", "<:xdd:22>", "<:poggers:33>"
SMILE, SOUPY = "<:Smile:44>", "<:soup_two:55>"
EMOJI: dict[str, Any] = {"emojis": (SOUP, XDD, POGGERS, SMILE, SOUPY, "<a:dance:66>")}
LINES: dict[str, Any] = {"paragraph_mode": "lines"}
GUARD: dict[str, Any] = {"llm_stop_speaker_pattern_enabled": True}
ALICE = {"name": "Alice", "id": "1234567890", "aliases": ["alice"], "avatar_url": "https://x/a"}
BOB = {"name": "Bob", "kind": "persona", "avatar_url": "https://x/b"}
HERE: dict[str, Any] = {"known": ({**BOB, "takes_part": True},)}
REGISTERED: dict[str, Any] = {"registered_speaker_guard_enabled": True, "known": (ALICE, BOB)}
TOMORI: dict[str, Any] = {"persona": {"name": "Tomori"}}
LILYA: dict[str, Any] = {"persona": {"name": "Shy Tomori", "aliases": ["Tomori", "Lilya"]}}
TOUKO: dict[str, Any] = {
    "persona": {
        "name": "Touko",
        "sprites": [
            {"name": "mad", "avatar_url": "https://x/mad"},
            {"name": "glad", "avatar_url": "https://x/glad"},
            {"name": "Rin", "avatar_url": "https://x/rin", "is_identity": True},
            {"name": "lost"},
        ],
    },
    "known": (ALICE, BOB, {"name": "Same"}, {"name": "Same"}),
}
SENTENCE = "This sentence has forty characters here. "
WORDS = "seven ch " * 150
TABLE = "| a | b |\n| --- | --- |\n| 1 | 2 |"


@dataclass(frozen=True)
class TextRow:
    """One statement about the messages of a text."""

    source: str
    says: str
    text: str
    theirs: Sequence[str]
    settings: dict[str, Any]
    ours: Sequence[str] | None = None
    differs: str = ""


def row(
    source: str,
    says: str,
    text: str,
    theirs: Sequence[str],
    *,
    ours: Sequence[str] | None = None,
    differs: str = "",
    **settings: Any,
) -> TextRow:
    return TextRow(source, says, text, theirs, settings, ours, differs)


FLUSHING = [
    row("F", "a fence is a boundary", "a ```x\ny\n``` b", ["a", "```x\ny\n```", "b"]),
    row("F", "a newline is a boundary", "a\nb", ["a", "b"]),
    row("F", "several newlines are one boundary", "a\n\n\nb", ["a", "b"]),
    row("F", "no period boundary at degree 2", "A. B.", ["A. B."], humanizer_degree=2),
    row("F", "a period is one at degree 3", "Go on. Well.", ["go on", "well"], humanizer_degree=3),
    row("F", "and 。", "はい。そう。", ["はい", "そう"], humanizer_degree=3),
    row("F", "the earliest boundary counts", "a\n```\nb\n```", ["a", "```\nb\n```"]),
    row("F", "a bracket delays", "a (b\nc) d\ne", ["a (b\nc) d", "e"]),
    row("F", "a quote delays", 'a "b\nc" d\ne', ['a "b\nc" d', "e"]),
    row("F", "「 delays", "「a\nb」\nc", ["「a\nb」", "c"]),
    row("F", "a link delays", "[a\nb](https://x.test)\nc", ["[a\nb](https://x.test)", "c"]),
    row(
        "F",
        "`https://` at a line's end delays",
        "see https://\nx",
        ["see https://\nx"],
        ours=["see https://", "x"],
        differs="`http:` at the end of a line",
    ),
    row("F", "a table stays together", f"a\n{TABLE}\nb", ["a", f"TABLE {TABLE}", "b"]),
    row(
        "F",
        "a bracket delays a period",
        "Hm (One. Two) three. Four.",
        ["hm (one. two) three", "four"],
        humanizer_degree=3,
    ),
    row("F", "punctuation after a newline is carried", "hello there\n.", ["hello there."]),
    row("F", "`!` too", "hello\n!\nb", ["hello!", "b"]),
    row("F", "`。` too", "はい\n。\nb", ["はい。", "b"]),
    row("F", "with text behind it too", "a\n, b", ["a,", "b"]),
    row("F", "`:` is never carried", "hi\n:Soup: x", ["hi", SOUP, "x"], **EMOJI),
    row("F", "markers are closed at the end", "a (b", ["a (b)"]),
    row("F", "quotes too", 'she said "no', ['she said "no"']),
    row("F", "corner quotes too", "「a", ["「a」"]),
    row("F", "bold too", "**a", ["**a**"]),
    row("F", "a fence too", "```py\na", ["```py\na\n```"]),
    row("F", "up to 1000 nothing is cut", "x " * 499 + "y", ["x " * 499 + "y"]),
    row(
        "F",
        "beyond it a sentence end after the target is best",
        SENTENCE * 30,
        [(SENTENCE * 25).strip(), (SENTENCE * 5).strip()],
    ),
    row(
        "F",
        "then one before the target",
        "x" * 799 + ". " + "y" * 500,
        ["x" * 799 + ".", "y" * 500],
    ),
    row("F", "then a blank before", WORDS, [WORDS[:998], WORDS[999:].strip()]),
    row("F", "then a blank after", "x" * 1100 + " " + "y" * 500, ["x" * 1100, "y" * 500]),
    row("F", "a hard cut at the target", "x" * 1500, ["x" * 1000, "x" * 500]),
    row("F", "a large buffer is cut several times", "x" * 3500, ["x" * 1000] * 3 + ["x" * 500]),
    row("F", "code is not cut at 1000", f"```\n{'x' * 1200}\n```", [f"```\n{'x' * 1200}\n```"]),
    row("F", "code is whole", "```\na\n\nb\n```", ["```\na\n\nb\n```"]),
    row(
        "F",
        "URLs are whole",
        "y" * 950 + " https://x.test/" + "z" * 300 + " end",
        ["y" * 950, "https://x.test/" + "z" * 300 + " end"],
    ),
    row("F", "an emoji is an atom", "a <:Soup:11> b", ["a <:Soup:11> b"], **EMOJI),
    row("F", "degree 0 keeps newlines", "a\n\nb", ["a\n\nb"], humanizer_degree=0),
    row(
        "F",
        "degree 0 is split for length alone",
        "x" * 1950 + "\n" + "y",
        ["x" * 1950, "y"],
        humanizer_degree=0,
    ),
    row("F", "degree 1 is split at newlines", "A. B.\nC.", ["A. B.", "C."]),
    row("F", "degree 3 at both", "Aa. Bb.\nCc.", ["aa", "bb", "cc"], humanizer_degree=3),
    row(
        "F",
        "neighbouring emoji are one run",
        ":Soup: :xdd:",
        [f"{SOUP} {XDD}"],
        ours=[SOUP, XDD],
        differs="neighbouring custom emoji",
        **EMOJI,
    ),
    row("F", "no message is `.`", "```\na\n```\n.", ["```\na\n```"]),
    row("F", "nor `,`", ":Soup:,", [f"{SOUP},"], **EMOJI),
    row("F", "1950 is the longest", "x" * 1951, ["x" * 1000, "x" * 951]),
    row(
        "F",
        "degree 3 is humanised after the cut",
        "One Two. Three!",
        ["one two", "three!"],
        humanizer_degree=3,
    ),
    row(
        "F",
        "an emoji of a recent message goes",
        "hi :Soup: you",
        ["hi you"],
        recent_bot_messages=(SOUP,),
        **EMOJI,
    ),
    row(
        "F",
        "unless punctuation alone is left",
        ":Soup: ,",
        [f"{SOUP} ,"],
        recent_bot_messages=(SOUP,),
        **EMOJI,
    ),
    row("F", "an emoji-only line stays", ":Soup:", [SOUP], recent_bot_messages=(SOUP,), **EMOJI),
    row("F", "`...` goes in front of the next", "prev\n...\nnext", ["prev", "...next"]),
    row("F", "`....` too", "prev\n....\nnext", ["prev", "....next"]),
    row("F", "`…` too", "prev\n…\nnext", ["prev", "…next"]),
    row(
        "F",
        "`?!?!` too",
        "prev\n?!?!\nnext",
        ["prev", "?!?!next"],
        ours=["prev?!?!", "next"],
        differs="`?!?!` on its own line",
    ),
    row("F", "at the end it is sent alone", "prev\n...", ["prev", "..."]),
    row(
        "F",
        "`.` alone is dropped",
        "a\n.\nb",
        ["a", "b"],
        ours=["a.", "b"],
        differs="`.` and `..` are always dropped",
    ),
    row("F", "`..` alone is dropped", "```\na\n```\n..\nb", ["```\na\n```", "b"]),
    row(
        "F",
        "degree 0 joins lines by a blank line",
        "a\nb\n\n\nc",
        ["a\n\nb\n\nc"],
        humanizer_degree=0,
    ),
    row("F", "prompt 1", "hello there\n.", ["hello there."]),
    row(
        "F",
        "prompt 2",
        ":poggers:\n,\n:xdd:\n,",
        [f"{POGGERS},", f"{XDD},"],
        **EMOJI,
    ),
    row(
        "F",
        "prompt 3: above 1500 characters, natural cuts",
        SENTENCE * 40,
        [(SENTENCE * 25).strip(), (SENTENCE * 15).strip()],
    ),
    row(
        "F",
        "prompt 4: sentences and a newline at degree 3",
        "The sun is up. Birds sing. It is warm.\nWe walk. We talk. We rest.",
        ["the sun is up", "birds sing", "it is warm", "we walk", "we talk", "we rest"],
        humanizer_degree=3,
    ),
]

GUARDING = [
    row("F", "a known speaker's line ends it", "hi\nBob: hello", ["hi"], **REGISTERED),
    row(
        "F", "so does that of somebody who wrote here, by default", "hi\nBob: hello", ["hi"], **HERE
    ),
    row("F", "`Assistant:` too", "hi\nAssistant: hello", ["hi"]),
    row("F", "not in a fence", "```\nBob: a\n```", ["```\nBob: a\n```"], **REGISTERED),
    row("F", "not in inline code", "hi\n`Bob: a` b", ["hi", "`Bob: a` b"], **REGISTERED),
    row("F", "an unknown name is text", "hi\nCarol: a", ["hi", "Carol: a"], **REGISTERED),
    row("F", "nothing leaks after the stop", "hi\nBob: a\nb\nc", ["hi"], **REGISTERED),
    row("F", "any `Name:` with the pattern", "hi\nCarol: a", ["hi"], **GUARD),
    row("F", "CSS is no speaker", "```css\ncolor: red\n```", ["```css\ncolor: red\n```"], **GUARD),
    row("06", "`User:` is cut", "hi\nUser: a", ["hi"], **GUARD),
    row("06", "the part before is sent", "a\nb\nUser: c", ["a", "b"], **GUARD),
    row("06", "off by default", "hi\nUser: a", ["hi", "User: a"]),
    row(
        "06",
        "own labels with modifiers pass",
        "hi\nTouko (mad): a",
        ["hi", "a [Touko https://x/mad]"],
        **GUARD,
        **TOUKO,
    ),
    row(
        "06",
        "copied ones too",
        "hi\nTouko (Bob): a",
        ["hi", "a [Bob (Touko) https://x/b]"],
        **GUARD,
        **TOUKO,
    ),
    row("06", "the own name passes", "hi\nTomori: a", ["hi", "a"], **GUARD, **TOMORI),
]

CLEANING = [
    row("05", "think is never shown", "<think>a</think>b", ["b"]),
    row("05", "details neither", "<details>a</details>b", ["b"]),
    row("05", "nor unclosed", "a\n<think>b", ["a"]),
    row("05", "nor unclosed details", "a\n<details>b", ["a"]),
    row("06", "the own name goes", "Tomori: hello", ["hello"], **TOMORI),
    row("06", "a chain of own names goes", "Tomori: Lilya: hi", ["hi"], **LILYA),
    row("06", "in the middle of prose it stays", "ask Tomori: now", ["ask Tomori: now"], **TOMORI),
    row("06", "glued to a sentence it is a new line", "done.Tomori: a", ["done.", "a"], **TOMORI),
    row("06", "an own name alone is no message", "Tomori:", [], **TOMORI),
    row("06", "shortcodes become emoji", "so :Soup: it", [f"so {SOUP} it"], **EMOJI),
    row("06", "animated ones too", "so :dance: it", ["so <a:dance:66> it"], **EMOJI),
    row("06", "unresolved ones go", "so :nothing: it", ["so it"], **EMOJI),
    row(
        "06",
        "unless they are to stay",
        "so :nothing: it",
        ["so :nothing: it"],
        emoji_preserve_unresolved_shortcodes=True,
        **EMOJI,
    ),
    row(
        "06",
        "all go when emoji are off",
        "so :Soup: it",
        ["so it"],
        emoji_usage_enabled=False,
        **EMOJI,
    ),
    row(
        "06",
        "standard ones too",
        "so :grin: it",
        ["so it"],
        emoji_usage_enabled=False,
        **EMOJI,
    ),
    row(
        "06",
        "written-out ones too",
        f"so {SOUP} it",
        ["so it"],
        emoji_usage_enabled=False,
        **EMOJI,
    ),
    row(
        "06",
        "only the last 5 messages count",
        "a :Soup: b",
        [f"a {SOUP} b"],
        recent_bot_messages=(SOUP, "1", "2", "3", "4", "5"),
        **EMOJI,
    ),
    row(
        "06",
        "the fifth counts",
        "a :Soup: b",
        ["a b"],
        recent_bot_messages=(SOUP, "2", "3", "4", "5"),
        **EMOJI,
    ),
    row(
        "06",
        "history in Discord's form is compared as a shortcode",
        f"a {SOUP} b",
        ["a b"],
        recent_bot_messages=(SOUP,),
        **EMOJI,
    ),
    row("06", "@alice is a mention", "hi @alice", ["hi <@1234567890>"], known=(ALICE,)),
    row("06", "an unknown handle is text", "hi @carol", ["hi @carol"], known=(ALICE,)),
    row(
        "06",
        "U+2800 is a space",
        "a\u2800b",
        ["a b"],
        uncensor_unicode_space_enabled=True,
    ),
    row("06", "not by default", "a\u2800b", ["a\u2800b"]),
    row("06", "sanitised", "a\u200bb ｃ", ["ab c"], uncensor_sanitize_enabled=True),
    row(
        "06",
        "a prefill is stripped and put in front once",
        "Once upon a time",
        ["Once upon a time"],
        output_prefill="Once upon",
    ),
    row(
        "06",
        "without echo too",
        " a time\nb",
        ["Once upon a time", "b"],
        output_prefill="Once upon",
    ),
    row("06", "a table is an attachment", f"{TABLE}\n", [f"TABLE {TABLE}"]),
    row("06", "between texts", f"a\n\n{TABLE}\n\nb", ["a", f"TABLE {TABLE}", "b"]),
]

FACES = [
    row("06", "a sprite has the clean name", "Touko (mad): hi", ["hi [Touko https://x/mad]"]),
    row(
        "06",
        "an identity sprite the flipped one",
        "Touko (Rin): hi",
        ["hi [Rin (Touko) https://x/rin]"],
    ),
    row("06", "an image that cannot be loaded: as the persona", "Touko (lost): hi", ["hi"]),
    row(
        "06",
        "and no copied identity is tried",
        "Ren (Bob): hi",
        ["hi"],
        persona={"name": "Ren", "sprites": [{"name": "Bob"}]},
    ),
    row(
        "06",
        "sentences of one line keep its face",
        "Touko (Bob): One. Two.\nThree.",
        ["one [Bob (Touko) https://x/b]", "two [Bob (Touko) https://x/b]", "three"],
        humanizer_degree=3,
    ),
    row("06", "a copied persona", "Touko (Bob): hi", ["hi [Bob (Touko) https://x/b]"]),
    row("06", "a copied user", "Touko (Alice): hi", ["hi [Alice (Touko) https://x/a]"]),
    row("06", "an unknown target is stripped", "Touko (nobody): hi", ["hi"]),
    row("06", "an ambiguous one too", "Touko (Same): hi", ["hi"]),
    row("06", "not in code", "`Touko (mad): a`", ["`Touko (mad): a`"]),
    row("06", "not in a list", "- Touko (mad): a", ["- Touko (mad): a"]),
    row(
        "06",
        "a copied identity ends with its line",
        "Touko (Bob): a\nb",
        ["a [Bob (Touko) https://x/b]", "b"],
    ),
    row(
        "06",
        "a sprite lasts",
        "Touko (mad): ARGGHHH!\nFine... I'll do it",
        ["ARGGHHH! [Touko https://x/mad]", "Fine... I'll do it [Touko https://x/mad]"],
    ),
    row(
        "06",
        "until another one, whose name alternates",
        "Touko (mad): a\nTouko (glad): b\nTouko (mad): c",
        [
            "a [Touko https://x/mad]",
            "b [Touko (glad) https://x/glad]",
            "c [Touko https://x/mad]",
        ],
    ),
    row(
        "06",
        "one sprite keeps one name",
        "Touko (mad): a\nTouko (mad): b",
        ["a [Touko https://x/mad]", "b [Touko https://x/mad]"],
    ),
    row(
        "06",
        "identity sprites are outside of that",
        "Touko (mad): a\nTouko (Rin): b\nTouko (mad): c",
        ["a [Touko https://x/mad]", "b [Rin (Touko) https://x/rin]", "c [Touko https://x/mad]"],
    ),
]

CHUNKING = [
    row(
        "07",
        "a long block is split, its fence and tag repeated",
        "```py\n" + "\n".join(["x" * 99] * 30) + "\n```",
        [
            "```py\n" + "\n".join(["x" * 99] * 19) + "\n```",
            "```py\n" + "\n".join(["x" * 99] * 11) + "\n```",
        ],
    ),
    row(
        "07",
        "an emoji by itself is a message",
        "Hello\n:Soup:\nyou",
        ["Hello", SOUP, "you"],
        **EMOJI,
    ),
    row("07", "names that begin alike share one", ":Soup: :soup_two:", [f"{SOUP}{SOUPY}"], **EMOJI),
    row("07", "others do not", ":Soup: :Smile:", [SOUP, SMILE], **EMOJI),
    row(
        "07",
        "in mid-sentence it stays",
        "I really like :Soup:, don't you?",
        [f"I really like {SOUP}, don't you?"],
        **EMOJI,
    ),
    row(
        "07",
        "in a list it stays",
        "1. :Soup:\n2. :Smile:",
        [f"1. {SOUP}", f"2. {SMILE}"],
        **EMOJI,
        **LINES,
    ),
    row("07", "with `-` too", "- :Soup:", [f"- {SOUP}"], **EMOJI),
    row("07", "with `*` too", "* :Soup:", [f"* {SOUP}"], **EMOJI),
    row("07", "with `•` too", "• :Soup:", [f"• {SOUP}"], **EMOJI),
    row("07", "with `1)` too", "1) :Soup:", [f"1) {SOUP}"], **EMOJI),
    row("07", "between sentences it stands alone", "A! :Soup: b", ["A!", SOUP, "b"], **EMOJI),
    row("07", "also after 。", "はい。:Soup: b", ["はい。", SOUP, "b"], **EMOJI),
    row(
        "07",
        "separators in names do not count",
        ":Soup: :s_oup:",
        [f"{SOUP}<:s_oup:77>"],
        emojis=(SOUP, "<:s_oup:77>"),
    ),
    row(
        "07",
        "after a sentence it stands alone",
        "That was amazing! :Soup:",
        ["That was amazing!", SOUP],
        **EMOJI,
    ),
    row("07", "in front too", ":Soup: looks tasty", [SOUP, "looks tasty"], **EMOJI),
    row("07", "a paragraph is a message", "a\n\nb", ["a", "b"]),
    row(
        "07",
        "abbreviations end no sentence",
        "Ask Mr. Fox, e.g. today. See no. 3.",
        ["ask mr. fox, e.g. today", "see no. 3"],
        humanizer_degree=3,
        seed=3,
    ),
    row("07", "punctuation alone joins a neighbour", ":Soup: .", [f"{SOUP} ."], **EMOJI),
    row("07", "list items by line", "- a\n- b", ["- a", "- b"], **LINES),
    row(
        "07",
        "list items by line",
        "- a\n- b",
        ["- a", "- b"],
        ours=["- a\n- b"],
        differs="one message per line",
    ),
    row(
        "07",
        "`*italic*` is kept whole",
        "x " * 900 + "*" + "y " * 100 + "z*",
        [("x " * 900).strip(), "*" + "y " * 100 + "z*"],
        humanizer_degree=0,
    ),
    row(
        "07",
        "`_italic_` is kept whole",
        "x " * 900 + "_" + "y " * 100 + "z_",
        [("x " * 900).strip(), "_" + "y " * 100 + "z_"],
        ours=["x " * 900 + "_" + ("y " * 75).strip(), "y " * 25 + "z_"],
        differs="`__bold__` and `_italic_`",
        humanizer_degree=0,
    ),
]
