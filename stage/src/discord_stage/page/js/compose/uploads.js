// Files that wait to be sent: chosen, dropped or pasted; each with its alt text.

import { ApiError } from "../api.js";
import { byId, clear, el } from "../dom.js";
import { icon } from "../icons.js";
import { toast } from "../toast.js";

const FILES_MOST = 10;
const BYTES_MOST = 10 * 1024 * 1024;

export class Uploads {
  // `takers`: what extensions take instead of the next message, each `(file) => Promise<boolean>`.
  constructor(takers) {
    this.takers = takers;
    this.box = byId("uploads");
    this.files = [];
    const chooser = byId("file-chooser");
    byId("attach").append(icon("plus", 20));
    byId("attach").addEventListener("click", () => chooser.click());
    chooser.addEventListener("change", () => {
      this.add(chooser.files);
      chooser.value = "";
    });
    const chat = byId("chat");
    chat.addEventListener("dragover", (event) => event.preventDefault());
    chat.addEventListener("drop", (event) => {
      event.preventDefault();
      this.#dropped([...event.dataTransfer.files]);
    });
    byId("composer-text").addEventListener("paste", (event) => this.add(event.clipboardData.files));
  }

  async #dropped(files) {
    const left = [];
    for (const file of files) if (!(await this.#isTaken(file))) left.push(file);
    this.add(left);
  }

  async #isTaken(file) {
    for (const take of this.takers) if (await take(file)) return true;
    return false;
  }

  add(files) {
    for (const file of files) {
      if (file.size > BYTES_MOST) toast(`${file.name} is larger than 10 MB.`, "error");
      else if (this.files.length >= FILES_MOST) toast("A message takes ten files.", "error");
      else this.files.push({ file, alt: "", address: URL.createObjectURL(file) });
    }
    this.#draw();
  }

  // They leave the box, and can be put back or forgotten.
  take() {
    const taken = this.files;
    this.files = [];
    this.#draw();
    return taken;
  }

  putBack(files) {
    this.files = [...files, ...this.files].slice(0, FILES_MOST);
    this.#draw();
  }

  #draw() {
    this.box.hidden = !this.files.length;
    clear(
      this.box,
      this.files.map((entry) => this.#card(entry)),
    );
  }

  #card(entry) {
    const { file } = entry;
    const picture = file.type.startsWith("image/")
      ? el("img", { src: entry.address, alt: "" })
      : icon("file", 40);
    const remove = el(
      "button",
      { class: "icon-button", type: "button", "aria-label": `Remove ${file.name}` },
      icon("trash", 18),
    );
    remove.addEventListener("click", () => {
      this.files = this.files.filter((other) => other !== entry);
      this.#draw();
    });
    const alt = el("input", {
      type: "text",
      maxlength: "1024",
      placeholder: "Describe it (alt text)",
      "aria-label": `Alt text of ${file.name}`,
    });
    alt.value = entry.alt;
    alt.addEventListener("input", () => (entry.alt = alt.value));
    return el(
      "div",
      { class: "upload" },
      remove,
      el("div", { class: "upload-picture" }, picture),
      el("b", {}, file.name),
      alt,
    );
  }
}

export function forget(files) {
  for (const { address } of files) URL.revokeObjectURL(address);
}

// As the control API takes them.
export function encoded(files) {
  return Promise.all(files.map(async ({ file, alt }) => ({ ...(await encodedFile(file)), alt })));
}

export async function encodedFile(file) {
  if (file.size > BYTES_MOST) throw new ApiError(`${file.name} is larger than 10 MB.`, 0);
  return { name: file.name, content: await base64(file) };
}

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () =>
      resolve(reader.result.slice(reader.result.indexOf(",") + 1)),
    );
    reader.addEventListener("error", () =>
      reject(new ApiError(`${file.name} cannot be read any more.`, 0)),
    );
    reader.readAsDataURL(file);
  });
}
