"""Draws an avatar from a name: the same name always gives the same picture.

`face` is a user's avatar, in a mood (sprites have moods), `mascot` the bot's own, `blob` a custom
emoji that looks like what its name says.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

SIZE = 128
_INK = "#2b2440"


@dataclass(frozen=True, slots=True)
class AvatarMood:
    """The eyes and mouth of a mood, drawn around the point (0, 0)."""

    eyes: str
    mouth: str
    extra: str = ""


@dataclass(frozen=True, slots=True)
class AvatarThing:
    """An emoji of a thing: its keywords, its picture, and where its face is if it has one."""

    words: str
    picture: str
    face: tuple[int, int] | None = None


def _dots(y: int = -4, radius: float = 5) -> str:
    return (
        f'<g fill="{_INK}"><circle cx="-16" cy="{y}" r="{radius}"/>'
        f'<circle cx="16" cy="{y}" r="{radius}"/></g>'
        f'<g fill="#fff"><circle cx="-14" cy="{y - 2}" r="1.6"/>'
        f'<circle cx="18" cy="{y - 2}" r="1.6"/></g>'
    )


def _lines(*paths: str) -> str:
    drawn = "".join(f'<path d="{path}"/>' for path in paths)
    return f'<g fill="none" stroke="{_INK}" stroke-width="4" stroke-linecap="round">{drawn}</g>'


_ARCHES = _lines("M-23 -2q7 -9 14 0", "M9 -2q7 -9 14 0")
_CLOSED = _lines("M-23 -5q7 7 14 0", "M9 -5q7 7 14 0")
_SMILE = _lines("M-10 13q10 9 20 0")
_OPEN = (
    f'<path d="M-13 11h26q-1 17 -13 17t-13 -17z" fill="{_INK}"/>'
    '<path d="M-6 25q6 -6 12 0q-6 5 -12 0" fill="#ff7d8c"/>'
)
_FROWN = _lines("M-9 20q9 -9 18 0")
_BLUSH = (
    '<g fill="#ff6f91" opacity=".55"><ellipse cx="-27" cy="8" rx="7" ry="4.5"/>'
    '<ellipse cx="27" cy="8" rx="7" ry="4.5"/></g>'
)
_TEAR = '<path d="M-18 5q-6 10 0 14q7 -3 0 -14z" fill="#5db7ff"/>'
_HEART = "m0 9c-16 -9 -12 -20 -5 -20q4 0 5 4q1 -4 5 -4c7 0 11 11 -5 20z"
_HEARTS = (
    f'<g fill="#f0325b"><path d="{_HEART}" transform="translate(-16 -3)"/>'
    f'<path d="{_HEART}" transform="translate(16 -3)"/></g>'
)

MOODS: dict[str, AvatarMood] = {
    "neutral": AvatarMood(_dots(), _SMILE),
    "happy": AvatarMood(_ARCHES, _OPEN, _BLUSH),
    "sad": AvatarMood(_dots(), _FROWN, _TEAR),
    "angry": AvatarMood(_dots(), _FROWN + _lines("M-25 -17l15 6", "M25 -17l-15 6")),
    "surprised": AvatarMood(_dots(-6, 6.5), f'<ellipse cy="18" rx="6" ry="8" fill="{_INK}"/>'),
    "shy": AvatarMood(_dots(), _lines("M-6 15q6 5 12 0"), _BLUSH),
    "sleepy": AvatarMood(_CLOSED, f'<ellipse cy="16" rx="5" ry="6" fill="{_INK}"/>'),
    "wink": AvatarMood(_lines("M-23 -4q7 -6 14 0", "M10 -4q7 -9 14 0"), _OPEN),
    "love": AvatarMood(_HEARTS, _SMILE, _BLUSH),
    "think": AvatarMood(_dots(-8), _lines("M-8 16q8 -4 17 1", "M8 -20q8 -5 15 1")),
    "cool": AvatarMood(
        f'<path d="M-30 -12h60v4q-2 13 -14 13t-14 -11h-4q-2 11 -14 11t-14 -13z" fill="{_INK}"/>',
        _SMILE,
    ),
}
_WORDS = {
    "happy": "happy smile smiling joy joyful glad laugh lol grin party yay excited cheer hooray",
    "sad": "sad cry crying tears sob upset lonely",
    "angry": "angry mad rage furious annoyed grr",
    "surprised": "surprised shock shocked wow gasp oh",
    "shy": "shy blush blushing flustered embarrassed pout",
    "sleepy": "sleepy sleep nap tired zzz yawn bored",
    "wink": "wink tease teasing smug playful",
    "love": "love heart adore uwu",
    "think": "think thinking hmm curious pensive confused",
    "cool": "cool sunglasses proud confident",
}
_MOOD_OF = {word: mood for mood, words in _WORDS.items() for word in words.split()}
_HAIR = (
    "M24 62q-2 -42 40 -42t40 42q-10 -4 -14 -18q-12 12 -34 12q-14 0 -18 -6q-4 8 -14 12z",
    "M22 84q-6 -66 42 -66t42 66q-12 -2 -14 -34q-18 8 -34 -6q-6 12 -22 10q2 26 -14 30z",
    "M26 58q-4 -40 38 -40t38 40q-6 -2 -8 -10l-8 6l-4 -12l-12 10l-8 -12l-10 12l-8 -8l-6 10"
    "q-8 -2 -12 4z",
    "M24 66q-8 -50 40 -50q46 0 40 50q-8 -2 -10 -20q-30 4 -46 -10q-4 22 -24 30z",
)
_BUBBLE = (
    "M64 24c27 0 44 15 44 36s-17 36 -44 36q-6 0 -12 -1l-20 14q3 -10 0 -20q-12 -9 -12 -29"
    "c0 -21 17 -36 44 -36z"
)
_LIGHTS = {
    "neutral": ("#7b86ff", "#4a54e1"),
    "happy": ("#ffd75e", "#f08a24"),
    "sad": ("#7aa7d8", "#3c5f96"),
    "angry": ("#ff8a6b", "#c8323f"),
    "surprised": ("#7fd6ff", "#2a86d1"),
    "sleepy": ("#6b6aa8", "#2d2c5e"),
    "shy": ("#ffa3c0", "#d8568c"),
    "love": ("#ff93b8", "#d63c74"),
    "cool": ("#5fd0c5", "#21827f"),
}
_HAND = (
    '<g transform="rotate(18 104 92)"><path d="M92 104q-6 -26 4 -30q3 -2 5 8q0 -16 6 -16t5 16'
    'q3 -12 8 -10t1 14q5 -6 8 -3q4 6 -10 26q-10 10 -27 -5z" fill="hsl(44 100% 74%)" '
    'stroke="#d58a1d" stroke-width="3"/></g>'
)
_HAT = '<path d="M64 2l18 30h-36z" fill="#e0457b"/><circle cx="64" cy="6" r="6" fill="#ffe066"/>'
_STEAM = (
    '<path d="M46 34q-6 -9 0 -16q6 -8 0 -14M70 34q-6 -9 0 -16q6 -8 0 -14" fill="none" '
    'stroke="#b9bbc6" stroke-width="4" stroke-linecap="round"/>'
)
_THINGS = (
    AvatarThing(
        "tea|coffee|cocoa|cup",
        '<path d="M94 56q26 -6 24 16t-30 22" fill="none" stroke="#4d9a6a" stroke-width="9"/>'
        '<path d="M16 46h84q2 62 -42 62t-42 -62z" fill="#6cc28c"/>'
        '<ellipse cx="58" cy="46" rx="42" ry="9" fill="#b9762f"/>'
        '<ellipse cx="58" cy="114" rx="46" ry="7" fill="#4d9a6a"/>' + _STEAM,
        (58, 78),
    ),
    AvatarThing(
        "ramen|noodle|soup|bowl|rice",
        '<path d="M84 44l34 -36M70 42l30 -38" stroke="#a4683c" stroke-width="6"/>'
        '<path d="M20 54q8 -22 24 -4q10 -20 24 0q14 -18 22 4z" fill="#ffe39a" '
        'stroke="#e0a93c" stroke-width="4"/><path d="M10 54h108q-2 62 -54 62t-54 -62z" '
        'fill="#e0524d"/><path d="M10 54h108l-1 10h-106z" fill="#fff"/>',
        (64, 84),
    ),
    AvatarThing(
        "snail",
        '<path d="M20 92l-6 -44M32 90l4 -40" stroke="#8bbf5a" stroke-width="7"/>'
        '<path d="M6 112q-4 -42 26 -34q10 4 12 16h62q18 2 18 18z" fill="#a5d676"/>'
        '<circle cx="78" cy="62" r="40" fill="#d98d4a"/><path d="M78 62q8 -8 12 2t-12 14q-20 -2 '
        '-18 -20t22 -20q24 2 26 26" fill="none" stroke="#a8602a" stroke-width="7" '
        f'stroke-linecap="round"/><g fill="{_INK}"><circle cx="14" cy="44" r="6"/>'
        '<circle cx="37" cy="46" r="6"/></g>' + f'<g transform="translate(22 84)">{_SMILE}</g>',
    ),
)
_SKINS = ("#ffe0cc", "#f6caa6", "#dca57c", "#b57a52", "#8a5a3c")
_HAIRS = ("#3b2a4a", "#5a3b2e", "#c9803b", "#e8c35b", "#d9628b", "#4b6fd8", "#2f9c8f", "#7b57c9")


def mood_of(text: str, usual: str = "neutral") -> str:
    """Return the mood in a name: `Mika_happy`, `Mika (crying)`."""
    words = re.findall(r"[a-z]+", text.lower())
    return next((_MOOD_OF[word] for word in words if word in _MOOD_OF), usual)


def person_of(name: str) -> str:
    """Return the person in a name: `Mika` and `Mika (sad)` are the same."""
    return re.split(r"[\s_(\[|·—-]", name.strip())[0].lower() or name


def face(name: str, mood: str | None = None) -> str:
    """Draw a person's avatar."""
    who = person_of(name)
    seed = hashlib.sha256(who.encode("utf-8", "replace")).digest()
    hue, skin, hair = seed[0] * 360 // 256, _SKINS[seed[1] % 5], _HAIRS[seed[2] % 8]
    cut = _HAIR[seed[3] % len(_HAIR)]
    feeling = MOODS[mood if mood in MOODS else mood_of(mood or name)]
    back = _gradient(f"hsl({hue} 70% 72%)", f"hsl({(hue + 40) % 360} 65% 56%)")
    shirt = f"hsl({(hue + 180) % 360} 45% 45%)"
    return _svg(
        f'{back}<path d="M20 136q4 -34 44 -34t44 34z" fill="{shirt}"/>'
        f'<path d="M54 88h20v18q-10 9 -20 0z" fill="{skin}"/>'
        f'<path d="{_long_hair(seed[3])}" fill="{hair}"/>'
        f'<ellipse cx="64" cy="66" rx="37" ry="38" fill="{skin}"/>'
        f'{_features(feeling, 64, 70, 0.92)}<path d="{cut}" fill="{hair}"/>'
    )


def _long_hair(seed: int) -> str:
    """Return the hair drawn behind the head. Half of the people have long hair."""
    return "M22 60q-6 46 8 52h68q14 -6 8 -52z" if seed & 8 else ""


def mascot(said: str = "") -> str:
    """Draw the bot: a speech bubble with a face, neutral unless a mood is given."""
    feeling = said if said in MOODS else mood_of(said)
    back = _gradient(*_LIGHTS.get(feeling, _LIGHTS["neutral"]))
    drawn = _features(MOODS[feeling], 64, 58, 0.9)
    return _svg(f'{back}<path d="{_BUBBLE}" fill="#fff"/>{drawn}')


def blob(name: str) -> str:
    """Draw a custom emoji."""
    low = name.lower()
    thing = next((t for t in _THINGS if re.search(rf"(?:^|_)(?:{t.words})", low)), None)
    if thing is not None:
        features = "" if thing.face is None else _features(MOODS[mood_of(low)], *thing.face, 0.8)
        return _svg(thing.picture + features)
    seed = hashlib.sha256(low.encode("utf-8", "replace")).digest()
    hue = 44 if mood_of(low) != "neutral" or "wave" in low else seed[0] * 360 // 256
    body = "M64 14c36 0 52 26 52 54q0 46 -52 46t-52 -46c0 -28 16 -54 52 -54z"
    tone = _gradient(f"hsl({hue} 96% 70%)", f"hsl({hue - 10} 84% 55%)", f'd="{body}"')
    ears = f'<path d="M20 48l4 -40l30 18zM108 48l-4 -40l-30 18z" fill="hsl({hue} 92% 60%)"/>'
    parts = [ears if re.search("cat|neko|nya", low) else "", tone]
    parts.append(_features(MOODS[mood_of(low)], 64, 66, 1.25))
    parts.append(_HAND if re.search("wave|hello|hi$|bye", low) else "")
    parts.append(_HAT if "party" in low else "")
    return _svg("".join(parts))


def _features(mood: AvatarMood, x: int, y: int, scale: float) -> str:
    drawn = mood.extra + mood.eyes + mood.mouth
    return f'<g transform="translate({x} {y}) scale({scale})">{drawn}</g>'


def _gradient(light: str, dark: str, shape: str | None = None) -> str:
    stops = f'<stop stop-color="{light}"/><stop offset="1" stop-color="{dark}"/>'
    where = f"<path {shape}" if shape else f'<rect width="{SIZE}" height="{SIZE}"'
    defined = f'<linearGradient id="g" x1="0" y1="0" x2=".6" y2="1">{stops}</linearGradient>'
    return f'<defs>{defined}</defs>{where} fill="url(#g)"/>'


def _svg(inside: str) -> str:
    box = f'viewBox="0 0 {SIZE} {SIZE}" width="{SIZE}" height="{SIZE}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box}>{inside}</svg>'
