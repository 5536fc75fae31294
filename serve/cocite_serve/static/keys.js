// Citation keys. Their form is the reader's choice, the same in the text and in the references.

import { references } from "./api.js";
import { $, toast } from "./dom.js";
import { replace } from "./editor.js";
import { changed, state } from "./state.js";
import { choice } from "./storage.js";

/** @returns {"cocite" | "better-bibtex"} The form of keys that is chosen. */
export const keyForm = () => $("cite_keys").value;

let inText = ""; // the form of the keys that are in the text

/**
 * The keys of papers as their references have them; papers in the text come first, so that their keys stay.
 * @param {string[]} ids @param {"cocite" | "better-bibtex"} [form] @returns {Promise<string[]>}
 */
export async function keysOf(ids, form = keyForm()) {
  const all = [...new Set([...state.cited, ...ids])];
  const items = JSON.parse(await references("csl-json", all, form));
  const keys = new Map(all.map((id, place) => [id, items[place].id]));
  return ids.map((id) => keys.get(id));
}

/**
 * Where keys stand in a text, the last first. A part of a longer word is no key. Keys are letters, digits and hyphens.
 * @param {string} text @param {string[]} keys @returns {{start: number, key: string}[]}
 */
export function placesOf(text, keys) {
  const pattern = new RegExp(String.raw`(?<![\w:-])(?:${keys.join("|")})(?![\w:-])`, "g");
  return [...text.matchAll(pattern)].map((match) => ({ start: match.index, key: match[0] })).reverse();
}

// Keys that were put into the text get the form that is chosen now: a text and its references have the same keys.
async function rewrite() {
  const form = keyForm();
  const ids = [...state.cited];
  if (form === inText) return;
  try {
    if (ids.length) {
      const [before, after] = await Promise.all([keysOf(ids, inText), keysOf(ids, form)]);
      for (const { start, key } of placesOf(state.text, before)) replace(start, start + key.length, after[before.indexOf(key)]);
      for (const one of state.filled.values()) {
        for (const { start, key } of placesOf(one.citation, before)) {
          one.citation = one.citation.slice(0, start) + after[before.indexOf(key)] + one.citation.slice(start + key.length);
        }
      }
      changed("choice");
      $("cite_keys").focus({ preventScroll: true });
    }
    inText = form;
    choice("cite_keys", form);
  } catch (error) {
    $("cite_keys").value = inText;
    toast(error.message);
  }
}

export function setUpKeys() {
  const form = choice("cite_keys");
  if (form === "cocite" || form === "better-bibtex") $("cite_keys").value = form;
  inText = keyForm();
  let work = Promise.resolve();
  $("cite_keys").addEventListener("change", () => { work = work.then(rewrite); });
}
