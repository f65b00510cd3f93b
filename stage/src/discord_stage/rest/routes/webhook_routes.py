"""Webhooks: the bot creates and lists them; whoever has the token executes them."""

from __future__ import annotations

import secrets

from discord_stage.payloads import record_payloads
from discord_stage.refusals import FormErrors, RefusalError, refusal
from discord_stage.requests.rate_limits import (
    CHANNEL_WEBHOOKS_LIMIT,
    MESSAGE_EDIT_LIMIT,
    WEBHOOK_LIMIT,
)
from discord_stage.rest.routes import followup_routes
from discord_stage.rest.routes.thread_routes import new_thread
from discord_stage.rest.routing import RouteCall, RouteTable, require
from discord_stage.rules import field_types
from discord_stage.rules.messages import MessageDraft, read_draft
from discord_stage.rules.webhook_names import (
    check_avatar_data,
    check_avatar_url,
    check_webhook_name,
)
from discord_stage.world.permissions import Permission
from discord_stage.world.records import (
    THREADS,
    Channel,
    ChannelType,
    Json,
    StageMessage,
    Webhook,
)
from discord_stage.world_changes import channel_changes, message_posting

routes = RouteTable()
PER_CHANNEL_MOST = 15
_HOLDERS = frozenset({ChannelType.TEXT, ChannelType.NEWS, ChannelType.VOICE, ChannelType.FORUM})
BY_TOKEN = "/webhooks/{webhook_id}/{token}"


@routes.on("POST", "/channels/{channel_id}/webhooks")
async def create(call: RouteCall) -> object:
    world = call.state.world
    channel = call.channel(Permission.MANAGE_WEBHOOKS)
    if channel.type not in _HOLDERS or channel.guild_id is None:
        raise refusal(50024)
    name = _name(call.body)
    avatar = check_avatar_data(call.body.get("avatar"))
    if len(_of_channel(call, channel)) >= PER_CHANNEL_MOST:
        raise refusal(30007)
    webhook = Webhook(
        world.snowflakes.new(),
        secrets.token_urlsafe(51),
        channel.id,
        channel.guild_id,
        name,
        world.bot.id,
        world.application.id,
        avatar,
    )
    world.webhooks[webhook.id] = webhook
    channel_changes.webhooks_changed(call.state, webhook)
    return record_payloads.webhook(world, webhook)


def _name(body: Json) -> str:
    errors = FormErrors()
    name = str(body.get("name") or "").strip()
    check_webhook_name(("name",), name, errors)
    errors.raise_if_any()
    return name


def _of_channel(call: RouteCall, channel: Channel) -> list[Webhook]:
    return [w for w in call.state.world.webhooks.values() if w.channel_id == channel.id]


@routes.on("GET", "/channels/{channel_id}/webhooks")
async def of_channel(call: RouteCall) -> object:
    channel = call.channel(Permission.MANAGE_WEBHOOKS)
    return [record_payloads.webhook(call.state.world, w) for w in _of_channel(call, channel)]


def _managed(call: RouteCall) -> Webhook:
    webhook = call.state.world.find_webhook(call.id("webhook_id"))
    channel = call.state.world.find_channel(webhook.channel_id)
    require(call.state, channel, Permission.MANAGE_WEBHOOKS)
    return webhook


def _own_webhook(call: RouteCall) -> Webhook:
    return call.state.world.find_webhook(call.id("webhook_id"), call.path["token"])


@routes.on("GET", "/webhooks/{webhook_id}")
async def one(call: RouteCall) -> object:
    return record_payloads.webhook(call.state.world, _managed(call))


@routes.on("GET", BY_TOKEN, for_bot=False)
async def one_by_token(call: RouteCall) -> object:
    return record_payloads.webhook(call.state.world, _own_webhook(call), with_user=False)


@routes.on("PATCH", "/webhooks/{webhook_id}")
async def change(call: RouteCall) -> object:
    webhook = _managed(call)
    if "channel_id" in call.body:
        target = call.state.world.find_channel(field_types.whole(call.body, "channel_id"))
        require(call.state, target, Permission.MANAGE_WEBHOOKS)
        webhook.channel_id = target.id
    _rename(call, webhook)
    return record_payloads.webhook(call.state.world, webhook)


@routes.on("PATCH", BY_TOKEN, for_bot=False)
async def change_by_token(call: RouteCall) -> object:
    webhook = _own_webhook(call)
    _rename(call, webhook)
    return record_payloads.webhook(call.state.world, webhook, with_user=False)


def _rename(call: RouteCall, webhook: Webhook) -> None:
    if "name" in call.body:
        webhook.name = _name(call.body)
    if "avatar" in call.body:
        webhook.avatar = check_avatar_data(call.body["avatar"])
    channel_changes.webhooks_changed(call.state, webhook)


@routes.on("DELETE", "/webhooks/{webhook_id}")
async def delete(call: RouteCall) -> object:
    channel_changes.delete_webhook(call.state, _managed(call))
    return None


@routes.on("DELETE", BY_TOKEN, for_bot=False)
async def delete_by_token(call: RouteCall) -> object:
    channel_changes.delete_webhook(call.state, _own_webhook(call))
    return None


@routes.on("POST", BY_TOKEN, WEBHOOK_LIMIT, for_bot=False)
async def execute(call: RouteCall) -> object:
    """Execute a webhook. Without `wait`, Discord answers 204 even if the message was not saved."""
    if call.id("webhook_id") == call.state.world.application.id:
        return followup_routes.create(call)
    webhook = _own_webhook(call)
    draft = read_draft(call.body, call.uploads)
    draft.refuse_empty()
    speaker = _speaker(call, webhook)
    call.state.limits.enter_hidden(CHANNEL_WEBHOOKS_LIMIT, str(webhook.channel_id), 20028)
    try:
        message = _post(call, webhook, speaker, draft)
    except RefusalError:
        if call.flag("wait"):
            raise
        return None
    return message_posting.shown(call.state, message) if call.flag("wait") else None


def _speaker(call: RouteCall, webhook: Webhook) -> message_posting.PostAuthor:
    errors = FormErrors()
    name = webhook.name
    if call.body.get("username") is not None:
        name = str(call.body["username"]).strip()
        check_webhook_name(("username",), name, errors)
    avatar = check_avatar_url(("avatar_url",), call.body.get("avatar_url"), errors)
    errors.raise_if_any()
    face = _rendered(call, avatar) if avatar else webhook.avatar
    return message_posting.PostAuthor(webhook.id, webhook.id, name, face, webhook.application_id)


def _rendered(call: RouteCall, url: str) -> str | None:
    """Return the avatar at a URL; None if it is a file of ours that is gone or has expired.

    Discord fetches pictures from elsewhere too; the stage leaves that to the browser.
    """
    urls, world = call.state.attachment_urls, call.state.world
    number = urls.attachment_id(url)
    if number is None:
        return url
    return url if number in world.attachments and urls.is_renderable(url) else None


def _post(
    call: RouteCall, webhook: Webhook, speaker: message_posting.PostAuthor, draft: MessageDraft
) -> StageMessage:
    # A webhook cannot reply (facts: Webhooks).
    draft.reference = None
    draft.nonce = None
    channel = _place(call, webhook)
    thread_state = channel.thread
    if thread_state is not None and thread_state.locked and thread_state.archived:
        raise refusal(50083)
    return message_posting.post(call.state, channel, speaker, draft)


def _place(call: RouteCall, webhook: Webhook) -> Channel:
    """Return the webhook's channel, one of its threads, or a new post of its forum."""
    world = call.state.world
    home = world.find_channel(webhook.channel_id)
    thread_id = call.optional_id("thread_id")
    if thread_id is not None:
        thread = world.find_channel(thread_id)
        if thread.type not in THREADS or thread.parent_id != home.id:
            raise refusal(10003)
        return thread
    name = call.body.get("thread_name")
    if home.type is ChannelType.FORUM:
        if not name:
            raise refusal(220001)
        return new_thread(call.state, home, str(name), webhook.id)
    if name:
        raise refusal(220003)
    return home


def _message(call: RouteCall) -> StageMessage:
    webhook = _own_webhook(call)
    place = call.optional_id("thread_id") or webhook.channel_id
    if "message_id" not in call.path:
        raise refusal(10008)
    message = call.state.world.find_message(place, call.id("message_id"))
    if message.webhook_id != webhook.id:
        raise refusal(10008)
    return message


def _is_follow_up(call: RouteCall) -> bool:
    return call.id("webhook_id") == call.state.world.application.id


@routes.on("GET", BY_TOKEN + "/messages/{message_id}", for_bot=False)
@routes.on("GET", BY_TOKEN + "/messages/@original", for_bot=False)
async def one_message(call: RouteCall) -> object:
    if _is_follow_up(call):
        return followup_routes.read(call)
    return message_posting.shown(call.state, _message(call))


@routes.on("PATCH", BY_TOKEN + "/messages/{message_id}", MESSAGE_EDIT_LIMIT, for_bot=False)
@routes.on("PATCH", BY_TOKEN + "/messages/@original", MESSAGE_EDIT_LIMIT, for_bot=False)
async def edit_message(call: RouteCall) -> object:
    if _is_follow_up(call):
        return followup_routes.edit(call)
    message = _message(call)
    draft = read_draft(call.body, call.uploads, edited=message)
    message_posting.edit(call.state, message, draft)
    return message_posting.shown(call.state, message)


@routes.on("DELETE", BY_TOKEN + "/messages/{message_id}", for_bot=False)
@routes.on("DELETE", BY_TOKEN + "/messages/@original", for_bot=False)
async def delete_message(call: RouteCall) -> object:
    if _is_follow_up(call):
        followup_routes.delete(call)
        return None
    message_posting.remove(call.state, _message(call))
    return None
