// Citation keys. Their form is the reader's choice, the same in the text and in the references.

import { references } from "./api.js";
import { $ } from "./dom.js";
import { replace } from "./editor.js";
import { refused } from "./results.js";
import { changed, state } from "./state.js";
import { choice } from "./storage.js";

/** @returns {"cocite" | "better-bibtex"} The form of keys that is chosen. */
export const keyForm = () => $("cite_keys").value;

let inText = ""; // the form of the keys that are in the text

// What may be a key in a text: all that stands between spaces, brackets, commas and the like.
export const wordsOf = (text) => new Set(text.match(/[^\s{}[\](),;@]+/g)?.flatMap((word) => [word, word.replace(/[.:!?]+$/, "")]));

const keysIn = (items) => JSON.parse(items).map(({ id }) => id);

/**
 * The keys that papers must not get: those of the text that were not put there from here, and those of papers that are
 * in the text and not among these. Only what could be the key of one of them is named.
 * A key that was taken stays so while papers are in the text: their keys would change when the author removes it.
 */
async function takenFor(ids, form) {
  const words = [...wordsOf(state.text)];
  const cited = [...state.cited];
  const before = cited.length ? state.taken : [];
  const bases = keysIn(await references("csl-json", ids, form)).map((key) => key.toLowerCase());
  // A key that was used before gets letters.
  const alike = (word) => bases.some((base) => word.startsWith(base) && /^[a-z]{0,3}$/.test(word.slice(base.length)));
  const found = words.filter((word) => alike(word.toLowerCase()));
  if (!found.length && !before.length) return [];
  const own = cited.length ? keysIn(await references("csl-json", cited, inText, undefined, before)) : [];
  const others = found.filter((key) => !own.includes(key));
  state.taken = [...new Set([...state.cited.size ? state.taken : [], ...before, ...others])];
  return [...state.taken, ...own.filter((_, place) => !ids.includes(cited[place]))];
}

/**
 * Papers as references, with the keys that the text has or would get for them.
 * @param {"bibtex" | "ris" | "csl-json" | "formatted"} form @param {string[]} ids @param {string} [style] Of formatted ones.
 */
export async function writtenAs(form, ids, style) {
  const keys = keyForm();
  return references(form, ids, keys, style, style ? [] : await takenFor(ids, keys));
}

/**
 * The keys of papers as their references have them; papers in the text come first, so that their keys stay.
 * @param {string[]} ids @param {"cocite" | "better-bibtex"} [form] @returns {Promise<string[]>}
 */
export async function keysOf(ids, form = keyForm()) {
  const all = [...new Set([...state.cited, ...ids])];
  const found = keysIn(await references("csl-json", all, form, undefined, await takenFor(all, form)));
  const keys = new Map(all.map((id, place) => [id, found[place]]));
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
      const before = await keysOf(ids, inText);
      const after = await keysOf(ids, form);
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
    refused(error, () => {
      $("cite_keys").value = form;
      rewrite();
    });
  }
}

export function setUpKeys() {
  const form = choice("cite_keys");
  if (form === "cocite" || form === "better-bibtex") $("cite_keys").value = form;
  inText = keyForm();
  let work = Promise.resolve();
  $("cite_keys").addEventListener("change", () => { work = work.then(rewrite); });
}
