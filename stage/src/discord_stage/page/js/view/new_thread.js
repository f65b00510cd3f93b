// Starts a thread on a message, or a post in a forum, as whoever one is.

import { el, freshId } from "../dom.js";
import { openDialog } from "./dialog.js";

const NAME_MOST = 100;
const CONTENT_MOST = 2000;

export function openNewThread(app, channel, message = null) {
  const isPost = message === null;
  const name = field("input", isPost ? "Title" : "Name of the thread", "name", { maxlength: String(NAME_MOST), required: true });
  const content = field("textarea", isPost ? "Message" : "First message (may be left out)", "content", {
    maxlength: String(CONTENT_MOST),
    required: isPost,
  });
  openDialog({
    title: isPost ? `New post in #${channel.name}` : "Start a thread",
    content: [name.row, content.row],
    submitLabel: isPost ? "Post" : "Start",
    submit: async () => {
      const thread = await app.api.post("start_thread", {
        channel: channel.id,
        user: app.store.me,
        message: message?.id ?? null,
        name: name.input.value,
        content: content.input.value,
      });
      await app.store.loadWorld();
      app.go(app.people.pathOf(thread));
    },
  });
}

function field(tag, label, name, props) {
  const id = freshId("thread");
  const input = el(tag, { id, autocomplete: "off", data: { field: name }, ...props });
  return { input, row: el("div", { class: "field" }, el("label", { for: id }, label), input) };
}
