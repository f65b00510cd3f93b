// The live feed: reconnects by itself, resumes where it was, or says that all must be loaded anew.

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 4000;
const WRONG_TOKEN = 4001;

export class Feed extends EventTarget {
  constructor(api) {
    super();
    this.api = api;
    this.user = null;
    this.epoch = null;
    this.last = null;
    this.after = null;
    this.wait = FIRST_WAIT_MS;
    this.timer = 0;
    this.socket = null;
    addEventListener("online", () => this.retry());
  }

  // As `user`; what only they may see comes too.
  open(user) {
    this.user = user;
    this.epoch = null;
    this.#close();
    this.#connect();
  }

  retry() {
    if (this.socket || !this.timer) return;
    this.wait = FIRST_WAIT_MS;
    this.#connect();
  }

  #close() {
    const old = this.socket;
    this.socket = null;
    old?.close();
  }

  #connect() {
    clearTimeout(this.timer);
    this.timer = 0;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/stage/feed`);
    this.socket = socket;
    socket.addEventListener("open", () => {
      const { epoch, after, user } = this;
      socket.send(JSON.stringify({ token: this.api.token, user, epoch, after }));
    });
    socket.addEventListener("message", (event) => {
      if (socket === this.socket) this.#hear(JSON.parse(event.data));
    });
    socket.addEventListener("close", (event) => {
      if (socket === this.socket) this.#lost(event.code);
    });
  }

  #hear(frame) {
    if (frame.hello) {
      this.wait = FIRST_WAIT_MS;
      const { epoch, resumed, seq } = frame.hello;
      const restarted = this.last !== null && this.last !== epoch;
      this.epoch = this.last = epoch;
      if (!resumed) this.after = seq;
      this.#tell("connected", { resumed, restarted });
      return;
    }
    this.after = frame.seq;
    this.#tell("event", { name: frame.t, data: frame.d });
  }

  #lost(code) {
    this.socket = null;
    if (code === WRONG_TOKEN) {
      this.#tell("refused", {});
      return;
    }
    this.#tell("lost", { again_ms: this.wait });
    this.timer = setTimeout(() => this.#connect(), this.wait);
    this.wait = Math.min(LONGEST_WAIT_MS, this.wait * 1.6);
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
