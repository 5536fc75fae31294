// Talks to the server. A refusal becomes an Error whose message is the server's sentence.

const KEY = "cocite-key";
const TOGETHER = 5; // papers that others cite together with what a draft cites

export class Refusal extends Error {
  /**
   * @param {string} sentence @param {number} status @param {string | null} [field] Of the request that is at fault.
   * @param {string | null} [id] Of the request, under which the server's log has it.
   */
  constructor(sentence, status, field = null, id = null) {
    super(sentence);
    this.status = status;
    this.field = field;
    this.id = id;
  }
}

let key = "";
try { key = sessionStorage.getItem(KEY) ?? ""; } catch { /* storage is off: for this visit only */ }

/** Until the browser's tab is closed. @param {string} given */
export function useKey(given) {
  key = given.trim();
  try { sessionStorage.setItem(KEY, key); } catch { /* storage is off: for this visit only */ }
}

// A random name of this visit: where the server divides its traffic, it keeps its model for the visit.
const client = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

async function ask(path, options = {}) {
  // Not Authorization: a proxy before the endpoint may have a login there.
  const headers = key ? { ...options.headers, "X-API-Key": key } : options.headers;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (error instanceof TypeError && /[^\x20-\x7e]/.test(key)) {
      throw new Refusal("An API key has no such letters.", 401);
    }
    throw new Error("The server cannot be reached. Is it still running?");
  }
  if (response.ok) return response;
  let problem = {};
  try {
    problem = await response.json();
  } catch { /* not JSON: the status has to do */ }
  throw new Refusal(problem.error || `The server answered ${response.status}.`, response.status, problem.field, problem.request_id);
}

/** @param {Record<string, unknown>} request @param {AbortSignal} signal */
export async function recommend(request, signal) {
  const response = await ask("v1/recommend", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ client, ...request }),
    signal,
  });
  return response.json();
}

/** A paper was taken from a list of two models. Nobody waits for it, and what goes wrong changes nothing. */
export function click(token, paper) {
  ask("v1/click", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token, paper }),
    keepalive: true,
  }).catch(() => {});
}

export async function version() {
  return (await ask("v1/version")).json();
}

/**
 * The text of a draft, and what it cites.
 * @typedef {{text: string, gaps: number, warnings: string[], cited: import("./state.js").Cited[],
 *   usually_cited_together: import("./evidence.js").Source[]}} DraftAnswer
 * @param {{name: string, text?: string, base64?: string}} file @param {string} bib Entries that it may cite.
 * @param {AbortSignal} [signal] @returns {Promise<DraftAnswer>}
 */
export async function draftText(file, bib, signal) {
  const response = await ask("v1/draft/text", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ files: [file], bib, together: TOGETHER }),
    signal,
  });
  return response.json();
}

/**
 * Sentences of a draft that cite nothing and seem to need a citation, in the order of the text.
 * @typedef {{precision: number, recall: number}} Quality
 * @param {{name: string, text: string}} file @param {number} most
 * @returns {Promise<{text: string, suggestion_quality: Quality | null,
 *   suggestions: {sentence: string, probability: number, start: number | null, end: number | null}[]}>}
 */
export async function suggestedSentences(file, most) {
  const response = await ask("v1/draft/text", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ files: [file], suggest: most }),
  });
  return response.json();
}

/**
 * A draft with papers in its gaps.
 * @param {{name: string, base64: string}} file @param {{gap: number, papers: string[]}[]} chosen Gaps by their numbers.
 * @param {string} style Of the references.
 * @returns {Promise<{files: {name: string, base64: string}[], unfilled: number[]}>}
 */
export async function finishedDraft(file, chosen, style) {
  const response = await ask("v1/draft/finished", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ files: [file], chosen, style }),
  });
  return response.json();
}

/**
 * @typedef {object} LinksAnswer
 * @property {{citing: string, cited: string}[]} citations
 * @property {{first: string, second: string, papers: number}[]} cocitations
 * @property {string[]} uncounted Ids of papers with too many citations. @property {string[]} unknown Ids.
 */

/**
 * The links among papers, of which the index may lack some.
 * @param {string[]} ids @param {AbortSignal} [signal] @returns {Promise<LinksAnswer>}
 */
export async function links(ids, signal) {
  const response = await ask("v1/links", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ids }),
    signal,
  });
  return response.json();
}

/** Drafts to try. @returns {Promise<{name: string, title: string, text: string}[]>} */
export async function examples() {
  return (await ask("v1/examples")).json();
}

/**
 * Papers as references; formatted ones have no keys.
 * @param {"bibtex" | "ris" | "csl-json" | "formatted"} form @param {string[]} ids
 * @param {"cocite" | "better-bibtex"} keys Form of their keys. @param {string} [style] Of formatted ones.
 * @param {string[]} [taken] Keys that none of them may have.
 * @returns {Promise<string>}
 */
export async function references(form, ids, keys, style, taken = []) {
  const how = style ? [["style", style]] : [["cite_keys", keys], ...taken.map((key) => ["taken", key])];
  return (await ask(`v1/${form}?${new URLSearchParams([...ids.map((id) => ["id", id]), ...how])}`)).text();
}
