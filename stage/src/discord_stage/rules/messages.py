"""Checks a message form; all errors come at once, each with its path (50035)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from discord_stage.refusals import FormErrors, refusal
from discord_stage.rules import field_types
from discord_stage.rules.components import check_components
from discord_stage.rules.embeds import check_embeds
from discord_stage.rules.mention_rules import AllowedMentions
from discord_stage.world.ids import number_in
from discord_stage.world.records import Attachment, Json, MessageFlag, StageMessage

CONTENT_MOST = 2000
NONCE_MOST = 25
FILES_MOST = 10
ATTACHMENT_MOST = 10 * 1024 * 1024
REQUEST_MOST = 25 * 1024 * 1024
ALT_MOST = 1024
FORWARD = 1
"""The type of a reference that forwards a message; 0 replies to one."""
SETTABLE = (
    MessageFlag.SUPPRESS_EMBEDS | MessageFlag.SUPPRESS_NOTIFICATIONS | MessageFlag.COMPONENTS_V2
)


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of a multipart body: `files[index]`."""

    index: int
    filename: str
    content: bytes = field(repr=False)


@dataclass(slots=True)
class MessageDraft:
    """A valid form. None means that the field was absent (an edit then leaves it unchanged)."""

    content: str | None = None
    embeds: list[Json] | None = None
    components: list[Json] | None = None
    kept: list[int] | None = None
    """Ids of attachments that an edit keeps; None keeps all."""
    uploads: list[tuple[Upload, str | None]] = field(default_factory=list)
    """The uploaded files, each with its alt text."""
    flags: int = 0
    tts: bool = False
    nonce: str | None = None
    enforce_nonce: bool = False
    allowed: AllowedMentions | None = None
    reference: Json | None = None
    poll: Json | None = None
    """The form of a new poll."""

    @property
    def forwards(self) -> bool:
        return self.reference is not None and self.reference.get("type") == FORWARD

    @property
    def empty(self) -> bool:
        said = self.content or self.embeds or self.components or self.uploads
        return not (said or self.poll or self.forwards)

    def refuse_empty(self) -> None:
        """Raise Discord's refusal if there is nothing to send."""
        if self.empty:
            raise refusal(50006)


def read_draft(
    body: Json,
    uploads: Sequence[Upload],
    *,
    edited: StageMessage | None = None,
    place: tuple[str, ...] = (),
) -> MessageDraft:
    """Read a form, or raise the refusal of Discord. An empty message is refused later, if at all.

    `place` is the position of the message in the request's body.
    """
    existing = [] if edited is None else edited.attachments
    existing_v2 = edited is not None and bool(edited.flags & MessageFlag.COMPONENTS_V2)
    errors = FormErrors(place)
    draft = MessageDraft(flags=_flags(body), tts=body.get("tts") is True)
    draft.content = _content(body, errors)
    draft.embeds = check_embeds(body, errors)
    v2 = bool(draft.flags & MessageFlag.COMPONENTS_V2) or existing_v2
    draft.components = check_components(body, errors, v2=v2)
    draft.allowed = AllowedMentions.read(body.get("allowed_mentions"), errors)
    draft.nonce = _nonce(body.get("nonce"), errors)
    draft.enforce_nonce = body.get("enforce_nonce") is True
    draft.reference = _reference(body.get("message_reference"), errors)
    draft.poll = field_types.mapping(body, "poll") or None
    _attach(draft, body, uploads, existing, errors)
    if draft.flags & MessageFlag.COMPONENTS_V2 and (draft.content or draft.embeds):
        message = "The 'content' and 'embeds' fields cannot be used with components v2"
        errors.add(("flags",), "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", message)
    errors.raise_if_any()
    return draft


def _flags(body: Json) -> int:
    return field_types.whole(body, "flags")


def _content(body: Json, errors: FormErrors) -> str | None:
    if "content" not in body:
        return None
    content = body["content"]
    if content is None:
        return ""
    if not isinstance(content, str):
        content = str(content)
    errors.too_long(("content",), content, CONTENT_MOST)
    return content.strip()


def _nonce(nonce: object, errors: FormErrors) -> str | None:
    if nonce is None:
        return None
    text = str(nonce)
    errors.too_long(("nonce",), text, NONCE_MOST)
    return text


def _reference(reference: object, errors: FormErrors) -> Json | None:
    if reference is None:
        return None
    if not isinstance(reference, dict):
        errors.add(("message_reference",), "MODEL_TYPE_CONVERT", "Only dictionaries may be used")
        return None
    if number_in(str(reference.get("message_id", ""))) is None:
        errors.required(("message_reference", "message_id"))
    return reference


def _attach(
    draft: MessageDraft,
    body: Json,
    uploads: Sequence[Upload],
    existing: Sequence[Attachment],
    errors: FormErrors,
) -> None:
    """Read `attachments`: uploads by index and, in an edit, the files to keep by id."""
    if any(len(upload.content) > ATTACHMENT_MOST for upload in uploads):
        raise refusal(40005)
    if sum(len(upload.content) for upload in uploads) > REQUEST_MOST:
        raise refusal(40005)
    entries = field_types.objects(body, "attachments")
    by_id = {str(entry.get("id")): entry for entry in entries}
    for number, entry in enumerate(entries):
        errors.too_long(("attachments", number, "description"), entry.get("description"), ALT_MOST)
    for upload in uploads:
        alt = by_id.get(str(upload.index), {}).get("description")
        draft.uploads.append((upload, alt if isinstance(alt, str) else None))
    if body.get("attachments") is not None:
        draft.kept = [item.id for item in existing if str(item.id) in by_id]
    staying = len(existing) if draft.kept is None else len(draft.kept)
    if staying + len(uploads) > FILES_MOST:
        message = f"Must be {FILES_MOST} or fewer in length."
        errors.add(("attachments",), "BASE_TYPE_MAX_LENGTH", message)
