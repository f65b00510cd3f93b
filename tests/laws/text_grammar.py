"""Text that loves trouble, as a grammar: each production writes one awkward thing.

One set of productions serves the long fuzz (`random_text`) and Hypothesis (`texts`), which sees
a list of (production, seed) pairs and so can shrink a failing text to few and simple pieces.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from hypothesis import strategies as st

Rng = random.Random
Production = Callable[[Rng], str]

_WORDS = (
    "the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "and", "I", "think",
    "that", "should", "go", "home", "now", "because", "Mr.", "Smith", "e.g.", "main.py",
    "v2.0", "3.14", "U.S.", "iPhone", "don't", "NASA", "café", "naïve", "Straße", "İstanbul",
)  # fmt: skip
_ENDS = (".", "!", "?", "...", "…", "?!", ";", ",", ":", "。", "！")
_FACES = (":)", ":(", ">:(", "*_*", ":*", "B)", "=(", "1)", ">_<", "¯\\_(ツ)_/¯", "(^_^)", ":D")
_MARKERS = (
    ("(", ")"), ("（", "）"), ('"', '"'), ("「", "」"), ("『", "』"), ("“", "”"), ("„", "“"),
    ("«", "»"), ("»", "«"), ("《", "》"), ("**", "**"), ("*", "*"), ("~~", "~~"), ("||", "||"),
    ("__", "__"), ("_", "_"), ("***", "***"), ("\\[", "\\]"), ("\\begin{x}", "\\end{x}"),
    ("[", "]("), ("[text](", ")"),
)  # fmt: skip
_LITERALS = (
    '5"', '6\'2"', "2 * 3", "2 ** 3", "a*b", "f***ing", "Best*", "snake_case", "a || b", "||",
    "~", "おはよ~~！", "$1,000,000", "10:30:", "x|y", "a | b", "`", "``", "'", '"', "(", ")", "*",
    "**", "[", "]", "<", ">", "<b>x</b>", "a<br>b", "<br/>", "&amp;", "\\", "#", "@everyone",
    "@dataclass", "@scope/pkg", "a@b.org", "C++", "https://", "http://.", ":smile:", ":nope_x:",
    ":ref:`x`", "\u200b", "\u2800", "\u3000", "\t", "\u00a0", "\ufeff", "\u2028", "\u3164",
    "\ufe0f", "\x07", "\x1b", "\x85", "\x9f", "\u202e",
)  # fmt: skip
_TOKENS = (
    "<:soup:111111111111111111>", "<a:dance:222222222222222222>", "<:soupy:111111111111111113>",
    "<@123456789012345678>", "<@!123456789012345678>", "<@&123456789012345678>",
    "<#123456789012345678>", "<t:1700000000>", "<t:1700000000:R>",
    "https://example.org/a_b(c)?q=1&r=2#x", "http://x.test/long/path.html.", "<https://y.test>",
    "[label here](https://example.org/page)", "[two words](https://x.test/a-b)",
    "`inline code`", "``a ` b``", "`x`", "`<think>`", "`**not bold**`", "`a.b. c d`",
    "`over\na line`", "`uv sync\n   --all-extras`", "``a\n` b``",
)  # fmt: skip
_CLUSTERS = (
    "👨‍👩‍👧‍👦", "👩🏽‍🚀", "🏳️‍🌈", "🇯🇵🇩🇪", "🇯🇵", "👍🏿", "❤️", "é́́", "Z̷̡͎͉͑̈́a̵l̶͚̈́g̴o̷",
    "e\u0301" * 7, "a" + "\u0300\u0316" * 40, "각", "क्षि", "\ufe0f", "\u200d", "\u0301x",
)  # fmt: skip
_CJK = (
    "今日はいい天気ですね。", "「どこへ行くの？」と彼は言った。", "『本』を読む", "そうか…",
    "え", "うん！",
    "我们去吃饭吧，好吗？", "안녕하세요. 반갑습니다!", "**太字**です", "括弧（かっこ",
    "、", "。", "。。。", "ｶﾀｶﾅ｡",
)  # fmt: skip
_TAGS = (
    "<th", "<think", "</thin", "</think", "<details", "<details open", "<summary>", "<mm:th",
    "<THINK>", "</reasoning>", "</think>", "</details>", "<think>", "<details>",
    "<think >", "< think>",
)  # fmt: skip
_HALVES = (
    "\ud83d",
    "\ude00",
    "\ud83d\ude00",
    "x\ud800y",
    "\udfff\ud800",
    "\0",
    "a\0b",
    "\r",
    "\r\n",
)
_LINES = (
    "---", "***", "___", "===", "----------", "...", "…", ".", "..", ",", "?!", "?!?!", "!",
    ":", ";", "。。", "、", "......", "-#", "-# small", "# Head", "## Head two", "> quote", ">",
    ">>> all of it",
    ".env", "!important", "...well", "....and so", "| a | b |", "|", "||spoiler||", "1.", "-",
    "*", "• x",
)  # fmt: skip
_CODE_LINES = (
    "x = 1", "    if a:", "        return {'k': [1, 2]}", "", "", "\treturn", "# comment: `x`",
    "``two``",
    "<think>no</think>", "<details>", "| a | b |", "|---|---|", "> y", "- z",
    "print('日本語 👨‍👩‍👧')", "   ",
)  # fmt: skip

SNIPPETS = (
    *_ENDS, *_FACES, *_LITERALS, *_TOKENS, *_CLUSTERS, *_CJK, *_TAGS, *_HALVES, *_LINES,
    *_CODE_LINES, *(mark for pair in _MARKERS for mark in pair), *"abc .,!?;:()[]`*_~|<>#-@1",
    "```", "```", "```x```", "```\nx\n```", "````", "<br>", "</br>", "!?!", "b c", "Word", "\n\n",
    "- ", "> ", "# ", "-# ", "1. ", "  ", "word " * 19, "x" * 97, "\u200d" * 40, "\u3002 " * 40,
    "\n| a | b |\n|---|---|\n| c | d |\n", "<think>x</think>", "[b c](https://x.test/a)",
    "`\n", "\n`",
)  # fmt: skip


def words(rng: Rng, most: int = 12) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(rng.randint(1, most)))


def sentence(rng: Rng) -> str:
    return words(rng) + rng.choice(_ENDS)


def paragraph(rng: Rng) -> str:
    """Longer than the buffer, with and without sentence ends."""
    end = rng.choice((". ", " ", ", ", "。", "! "))
    size = rng.choice((150, 400, 1100, 2300))
    text = ""
    while len(text) < size:
        text += words(rng) + end
    return text


def face(rng: Rng) -> str:
    return words(rng, 4) + " " + rng.choice(_FACES) + rng.choice((" ", "\n", ""))


def marked(rng: Rng) -> str:
    """Nested, crossed and unclosed markers, over lines and blank lines."""
    opener, closer = rng.choice(_MARKERS)
    inner = rng.choice((words, sentence, marked, token, cluster, literal))(rng)
    gap = rng.choice(("", "", " ", "\n", "\n\n"))
    return opener + inner + gap + words(rng, 3) + rng.choice((closer, closer, ""))


def literal(rng: Rng) -> str:
    return rng.choice(_LITERALS)


def token(rng: Rng) -> str:
    return rng.choice(_TOKENS) + rng.choice(("", "", ".", ",", " ", "!"))


def cluster(rng: Rng) -> str:
    return rng.choice(_CLUSTERS) * rng.choice((1, 1, 1, 5, 40))


def cjk(rng: Rng) -> str:
    return "".join(rng.choice(_CJK) for _ in range(rng.choice((1, 2, 3, 30))))


def tag(rng: Rng) -> str:
    return rng.choice(_TAGS)


def halves(rng: Rng) -> str:
    return rng.choice(_HALVES)


def line(rng: Rng) -> str:
    return "\n" + rng.choice(_LINES) + "\n"


def huge(rng: Rng) -> str:
    """One endless word, URL, run or line."""
    size = rng.choice((90, 130, 600, 1200, 2500))
    start = rng.choice(
        ("a", "https://x.test/", "日", "ab-", "👍🏿", "`", "(", "*a ", ".", "- ", "> ")
    )
    return start + rng.choice(("a", "xy/", "語", "é", "👩🏽‍🚀", "a b ", "w.", '"q ')) * (size // 2)


def fence(rng: Rng) -> str:
    """A block: 3-5 backticks, closed or not, quoted, indented, nested, on one line."""
    ticks = "`" * rng.choice((3, 3, 3, 4, 5))
    if rng.random() < 0.15:
        return f"{ticks}{rng.choice(('x', 'py x', ' a b ', ''))}{ticks}"
    lines = [rng.choice(_CODE_LINES) for _ in range(rng.choice((0, 1, 3, 6, 40)))]
    if len(ticks) > 3 and rng.random() < 0.5:
        lines += ["```py", "nested", "```"]
    if rng.random() < 0.1:
        lines.append("k" * rng.choice((120, 700, 2200)) + " and " + words(rng))
    closer = [ticks] if rng.random() < 0.85 else []
    prefix = rng.choice(("", "", "", "> ", "  ", "   ", ">> "))
    body = [ticks + rng.choice(("", "py", "python", "c++", "js title=x")), *lines, *closer]
    start = rng.choice(("", "\n", "\n", "- item\n" if prefix.startswith(" ") else "\n"))
    return start + "\n".join(prefix + one for one in body) + rng.choice(("\n", "\n", "", ".", " x"))


def table(rng: Rng) -> str:
    """Real, fake, header only, very wide."""
    columns = rng.choice((1, 2, 2, 3, 9))
    edge = rng.choice(("| ", "| ", ""))

    def row(cells: list[str]) -> str:
        return edge + " | ".join(cells) + (" |" if edge else "")

    rows = [row([rng.choice(("a", "b", "**c**", "1", "日本", "")) for _ in range(columns)])]
    if rng.random() < 0.8:
        rule = columns if rng.random() < 0.9 else columns + 1
        rows.append(row([rng.choice(("---", ":-:", "--:")) for _ in range(rule)]))
    size = rng.choice((0, 1, 3, 30))
    rows += [row([words(rng, 3) for _ in range(columns)]) for _ in range(size)]
    return "\n" + "\n".join(rows) + rng.choice(("\n", "\n\n", ""))


def thought(rng: Rng) -> str:
    """A closed think block: its secret word may never be seen where no code is about."""
    name = rng.choice(("think", "THINK", "thinking", "reasoning", "mm:think"))
    inside = rng.choice(("", " ", "\n", "(", "a <b> ", "one\n\ntwo "))
    return f"<{name}>{inside}zqsecret {words(rng, 3)}</{name}>"


def details(rng: Rng) -> str:
    inside = words(rng, 4)
    if rng.random() < 0.3:
        inside += f"<details>{words(rng, 2)}</details>"
    summary = rng.choice(("", "<summary>sum up</summary>"))
    return f"<details{rng.choice(('', ' open'))}>{summary}{inside}{rng.choice(('</details>', ''))}"


def listing(rng: Rng) -> str:
    """Lists, nested lists, quotes."""
    bullet = rng.choice(("- ", "* ", "1. ", "• ", "> ", "  - "))
    items = [bullet + sentence(rng) for _ in range(rng.randint(1, 6))]
    if rng.random() < 0.5:
        items.insert(1, "  " + rng.choice(("- nested", "continued", "  - deep")))
    return "\n" + "\n".join(items) + rng.choice(("\n", "\n\n", ""))


def blank(rng: Rng) -> str:
    return rng.choice((" ", " ", "\n", "\n", "\n\n", "\n \n", "  ", "\n\n\n\n", "\t"))


PLAIN: tuple[Production, ...] = (
    words, sentence, sentence, face, marked, marked, literal, token, cluster, cjk, line, listing,
    blank, blank, blank,
)  # fmt: skip
TROUBLE: tuple[Production, ...] = (
    *PLAIN, *PLAIN, paragraph, tag, halves, huge, fence, fence, table, thought, details,
)  # fmt: skip


def few_snippets(rng: Rng, more: tuple[str, ...] = ()) -> str:
    """A short text of few snippets in many orders: more of them meet than in a text of all."""
    few = ["\n", rng.choice((" ", "\n", "a", "<br>"))]
    few += [rng.choice(SNIPPETS) for _ in range(rng.randint(2, 7))]
    few += [rng.choice(more) for _ in range(3) if more]
    return "".join(rng.choice(few) for _ in range(rng.randint(2, 14)))


def random_text(rng: Rng) -> str:
    """One text of the grammar, quickly."""
    productions = rng.choice((TROUBLE, TROUBLE, PLAIN, (*PLAIN, fence, table), (*PLAIN, huge)))
    return "".join(rng.choice(productions)(rng) for _ in range(rng.choice((1, 2, 4, 7, 12, 25))))


def _written(pairs: list[tuple[Production, int]]) -> str:
    return "".join(production(random.Random(seed)) for production, seed in pairs)


_LETTERS = [
    *'ab .\n\n`*"()|->#:~_<',
    "```",
    "**",
    "...",
    "。",
    "「",
    "」",
    "\u200d",
    "👩",
    "\u0301",
    "\ud83d",
    "\0",
    "\r",
]


def texts(productions: tuple[Production, ...] = TROUBLE) -> st.SearchStrategy[str]:
    """Texts of the grammar, and now and then plain noise of its most awkward letters."""
    pairs = st.lists(
        st.tuples(st.sampled_from(productions), st.integers(0, 99_999)), min_size=1, max_size=14
    )
    noise = st.lists(st.sampled_from(_LETTERS), max_size=60).map("".join)
    return st.one_of(pairs.map(_written), pairs.map(_written), noise)
