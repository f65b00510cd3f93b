// From pressing to the answer: whoever begins an interaction hears how it ended.

const PATIENCE_MS = 3600;
const KEPT = 50;

export class Interactions {
  constructor(bus) {
    this.answers = new Map();
    this.waiting = new Map();
    bus.addEventListener("INTERACTION_ANSWER", (event) => this.#answered(event.detail));
  }

  #answered(answer) {
    this.answers.set(answer.id, answer);
    if (this.answers.size > KEPT) this.answers.delete(this.answers.keys().next().value);
    this.waiting.get(answer.id)?.(answer);
    this.waiting.delete(answer.id);
  }

  // `begun` is what the API returned; null if the bot did not answer in time.
  outcome(begun) {
    const known = begun.reply ? begun : this.answers.get(begun.id);
    if (known) return Promise.resolve(known);
    return new Promise((resolve) => {
      this.waiting.set(begun.id, resolve);
      setTimeout(() => {
        this.waiting.delete(begun.id);
        resolve(null);
      }, PATIENCE_MS);
    });
  }
}
