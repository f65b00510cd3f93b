// The control API. The token comes once with the address, then lives in this tab only.

const KEPT = "stage.token";

export class ApiError extends Error {
  // `field` is the part of the request that was wrong, if the stage says so.
  constructor(message, status, field = null) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

function takeToken() {
  const address = new URL(location.href);
  const given = address.searchParams.get("token");
  if (given !== null) {
    sessionStorage.setItem(KEPT, given);
    address.searchParams.delete("token");
    history.replaceState(null, "", address.pathname + address.search + address.hash);
  }
  return sessionStorage.getItem(KEPT) ?? "";
}

export class Api {
  constructor() {
    this.token = takeToken();
  }

  get(action, params = {}) {
    const query = new URLSearchParams(
      Object.entries(params).filter(([, value]) => value !== null && value !== undefined),
    );
    const asked = query.size ? `?${query}` : "";
    return this.#ask(`/stage/${action}${asked}`, {});
  }

  post(action, body = {}) {
    return this.#ask(`/stage/${action}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  }

  async #ask(path, options) {
    const headers = { ...options.headers, "X-Stage-Token": this.token };
    let answer;
    try {
      answer = await fetch(path, { ...options, headers });
    } catch {
      throw new ApiError("The stage does not answer.", 0);
    }
    const body = await answer.json().catch(() => ({}));
    if (answer.ok) return body.result;
    throw new ApiError(reasonOf(body, answer.status), answer.status, body.field);
  }
}

// A refusal of Discord's has its form errors in a tree: the deepest message says most.
function reasonOf(body, status) {
  const deep = deepest(body.errors);
  return deep ?? body.error ?? body.message ?? `The stage answered ${status}.`;
}

function deepest(tree) {
  if (!tree || typeof tree !== "object") return null;
  if (Array.isArray(tree._errors)) return tree._errors[0]?.message ?? null;
  for (const part of Object.values(tree)) {
    const found = deepest(part);
    if (found) return found;
  }
  return null;
}
