// Which parts of the page are kept in the browser, and how they come back after a reload.

import { $ } from "./dom.js";
import { write } from "./editor.js";
import { changed, state, when } from "./state.js";
import { forget, keep, kept } from "./storage.js";

const OPTIONS = ["top_k", "depth", "year", "year_from", "year_to", "exclude_authors", "exclude"];
const WAIT_MS = 250;

let timer;

function save() {
  clearTimeout(timer);
  const options = Object.fromEntries(OPTIONS.map((id) => [id, $(id).value]).filter(([, value]) => value));
  if ($("later").checked) options.later = true;
  const empty = !state.text && !state.chosen.length && !state.cited.size && !state.excluded.size && !Object.keys(options).length;
  if (empty) {
    forget();
    return;
  }
  const place = new Map(state.gaps.map((gap, at) => [gap.id, at]));
  keep({
    text: state.text,
    focus: state.focus,
    options,
    chosen: state.chosen.map(({ id, title, gap }) => ({ id, title, gap: place.get(gap) ?? null })),
    cited: [...state.cited],
    excluded: [...state.excluded],
    searched: state.answer !== null,
  });
}

/** Forgets the draft, and what was about to be kept of it. */
export function forgetDraft() {
  clearTimeout(timer);
  forget();
}

/**
 * Brings back what was kept.
 * @returns {boolean} Whether the page was reloaded over an answer, which is to be asked for again.
 */
export function restore() {
  const { text, focus, options, chosen, cited, excluded, searched } = kept();
  if (options && typeof options === "object") {
    for (const id of OPTIONS) if (typeof options[id] === "string") $(id).value = options[id];
    $("later").checked = options.later === true;
    if ([...OPTIONS, "later"].some((id) => options[id] && $(id).closest("details"))) $("options").open = true;
  }
  for (const [map, entries] of [[state.cited, cited], [state.excluded, excluded]]) {
    if (Array.isArray(entries)) for (const entry of entries) if (Array.isArray(entry)) map.set(String(entry[0]), entry[1]);
  }
  write(typeof text === "string" ? text : "");
  if (Number.isInteger(focus) && focus >= 0 && focus < state.gaps.length) state.focus = focus;
  if (Array.isArray(chosen)) {
    state.chosen = chosen.filter((one) => typeof one?.id === "string" && typeof one.title === "string")
      .map(({ id, title, gap }) => ({ id, title, gap: state.gaps[gap]?.id ?? null }));
  }
  changed("draft");
  changed("choice");
  const reloaded = performance.getEntriesByType("navigation")[0]?.type === "reload";
  return reloaded && searched === true && state.text.trim() !== "";
}

export function setUpKeeping() {
  const soon = () => { clearTimeout(timer); timer = setTimeout(save, WAIT_MS); };
  when(["draft", "focus", "choice", "answer"], soon);
  document.addEventListener("input", soon);
  document.addEventListener("change", soon);
  addEventListener("pagehide", save);
}
