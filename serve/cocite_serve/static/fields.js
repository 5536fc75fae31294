// Shows an error beside the field that it is about.

import { $, el } from "./dom.js";

// Field of the request -> the input it comes from.
const INPUTS = {
  text: "text", gap: "text", context: "text", title: "text", top_k: "top_k", depth: "depth", K: "depth", rerank: "depth",
  year: "year", candidates: "later", year_from: "year_from", year_to: "year_to", exclude: "exclude",
  exclude_authors: "exclude_authors",
};

// What the server calls by the names of its API -> as the page calls it.
const WORDS = [
  [/^(?:dis)?like: /, ""],
  ["give a text, or papers in `like`, beside", "write a text, or mark papers with “More like this”, beside"],
  ["give year_to, or candidates: all", "give a last year, or tick “Also papers later than that year”"],
  ["year_to", "the last year"],
  ["a smaller depth or rerank is faster", "fewer candidates reranked are faster"],
  ["this request_id", "this request id"],
];

const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** A sentence of the server in the page's own words. @param {string} sentence @returns {string} */
export const inPageWords = (sentence) => capital(WORDS.reduce((text, [theirs, ours]) => text.replace(theirs, ours), sentence));

/**
 * @param {string | null} field Of the request, as the server names it.
 * @param {string} sentence
 * @returns {boolean} Whether the page has such a field.
 */
export function fieldError(field, sentence) {
  const id = INPUTS[field?.split(".")[0] ?? ""];
  if (!id) return false;
  const input = $(id);
  const said = inPageWords(sentence.replace(/^[\w.]+: /, ""));
  const node = el("p", { class: "field-error", id: `${id}-error`, role: "alert" }, said);
  $(`${id}-error`)?.remove();
  input.closest("[data-field]").append(node);
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-errormessage", node.id);
  const closed = input.closest("details:not([open])");
  if (closed) closed.open = true;
  input.focus();
  return true;
}

export function clearFieldErrors() {
  for (const node of document.querySelectorAll(".field-error")) node.remove();
  for (const input of document.querySelectorAll("[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-errormessage");
  }
}

/** Whether a number's field holds a number that its bounds allow; else the error stands beside it. */
export function numbersFit() {
  for (const input of document.querySelectorAll("input[type=number]")) {
    const { badInput, rangeOverflow, rangeUnderflow, stepMismatch } = input.validity;
    if (!(badInput || rangeOverflow || rangeUnderflow || stepMismatch)) continue;
    fieldError(input.id, `Give a whole number from ${input.min} to ${input.max}, or nothing.`);
    return false;
  }
  return true;
}
