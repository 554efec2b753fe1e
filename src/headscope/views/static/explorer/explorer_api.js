// What the page asks of its server: one function a question, errors as sentences.
const GONE = "The explorer has stopped. The page stays as it is; start headscope explore again to continue.";

export class ServerError extends Error {
  constructor(message, status, after) {
    super(message);
    this.status = status;
    this.after = after;
  }
}

export class ExplorerApi {
  constructor(token) {
    this.token = token;
  }

  async request(path, options = {}) {
    let answer;
    try {
      answer = await fetch(path, { ...options, headers: { ...options.headers, "X-Headscope-Token": this.token }, cache: "no-store", credentials: "omit" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ServerError(GONE, 0, 0);
    }
    if (answer.ok) return answer;
    throw new ServerError(await sentenceOf(answer), answer.status, Number(answer.headers.get("Retry-After")) || 0);
  }

  async models() {
    return (await (await this.request("/api/models")).json()).models;
  }

  // Request the payload of a text: {model, text, text_b, decoder_text, generate}. Try again if the server is busy.
  async look(request, { signal, tries = 5 } = {}) {
    const body = JSON.stringify(request);
    for (let left = tries; ; left--) {
      try {
        return await (await this.request("/api/look", { method: "POST", headers: { "Content-Type": "application/json" }, body, signal })).json();
      } catch (error) {
        if (error.status !== 503 || left <= 1) throw error;
        await new Promise((done) => setTimeout(done, 1000 * Math.max(0.5, error.after)));
      }
    }
  }
}

// What the server says begins small and ends without a point, as in a terminal.
export function asSentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}`.replace(/[.]?$/, ".");
}

async function sentenceOf(answer) {
  try {
    const { error } = await answer.json();
    if (error) return asSentence(error);
  } catch {
    // No JSON: not our server's words.
  }
  return `Expected an answer of the explorer, got status ${answer.status}.`;
}
