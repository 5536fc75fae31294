// Which parts of the page are kept in the browser, and how they come back after a reload.

import { $, el } from "./dom.js";
import { write } from "./editor.js";
import { newId } from "./gaps.js";
import { hasLibrary } from "./owned.js";
import { changed, state, when } from "./state.js";
import { forget, keep, kept } from "./storage.js";
import { fillings } from "./word.js";

const OPTIONS = ["top_k", "depth", "year", "year_from", "year_to", "exclude_authors", "exclude", "venue", "author", "owned", "sort"];
const WAIT_MS = 250;

// A list's first entry is what it has where nothing is chosen.
const unchosen = (id) => $(id).options?.[0].value ?? "";

let timer = null; // runs while something is to be saved

function save() {
  notSoon();
  const options = Object.fromEntries(OPTIONS.map((id) => [id, $(id).value]).filter(([id, value]) => value && value !== unchosen(id)));
  if ($("later").checked) options.later = true;
  const empty = !state.text && !state.chosen.length && !state.cited.size && !state.excluded.size && !state.cites.length
    && !state.marks.length && !Object.keys(options).length;
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
    marks: state.marks.map(({ id, title, likes, gap }) => ({ id, title, likes, gap: place.get(gap) ?? null })),
    cited: [...state.cited],
    taken: state.taken,
    filled: fillings(),
    excluded: [...state.excluded],
    suggested: state.suggested.map(({ sentence, source, probability, shown }) => ({ sentence, source, probability, shown })),
    quality: state.quality,
    cites: state.cites,
    together: state.together,
    searched: state.answer !== null,
  });
}

function notSoon() {
  clearTimeout(timer);
  timer = null;
}

/** Empties the options, and forgets the draft and what was about to be kept of it. */
export function forgetDraft() {
  for (const id of OPTIONS) $(id).value = unchosen(id);
  $("later").checked = false;
  notSoon();
  forget();
}

const listOf = (value) => (Array.isArray(value) ? value : []);

function bringBack(id, value) {
  if (id === "owned" && !hasLibrary()) return;
  // The answer that names the venues is still to come; this one stays where it has papers there.
  if (id === "venue" && value) $(id).append(el("option", { value }, value));
  $(id).value = value;
  if ($(id).selectedIndex === -1) $(id).value = unchosen(id);
}

const isFilling = (one) => Number.isInteger(one?.at) && ["citation", "before", "after"].every((name) => typeof one[name] === "string")
  && listOf(one.papers).length > 0 && one.papers.every((paper) => typeof paper?.id === "string" && typeof paper.title === "string");

/**
 * Brings back what was kept.
 * @returns {boolean} Whether the page was reloaded over an answer, which is to be asked for again.
 */
export function restore() {
  const { text, focus, options, chosen, marks, cited, taken, filled, suggested, quality, excluded, cites, together, searched } = kept();
  if (options && typeof options === "object") {
    for (const id of OPTIONS) if (typeof options[id] === "string") bringBack(id, options[id]);
    $("later").checked = options.later === true;
    if ([...OPTIONS, "later"].some((id) => options[id] && $(id).closest("details"))) $("options").open = true;
  }
  for (const id of listOf(cited)) if (typeof id === "string") state.cited.add(id);
  state.taken = listOf(taken).filter((key) => typeof key === "string");
  const named = (one) => typeof one?.title === "string" && (one.id === null || typeof one.id === "string");
  state.cites = listOf(cites).filter((one) => named(one) && typeof one.key === "string");
  state.together = listOf(together).filter((one) => named(one) && one.id && Array.isArray(one.authors));
  listOf(filled).filter(isFilling).forEach(({ papers, citation, at, before, after }, number) => {
    state.filled.set(-1 - number, { papers, citation, at, before, after });
  });
  for (const entry of listOf(excluded)) {
    if (Array.isArray(entry) && entry.every((part) => typeof part === "string")) state.excluded.set(entry[0], entry[1] ?? entry[0]);
  }
  state.suggested = listOf(suggested).filter((one) => one?.source && [one.sentence, one.source].every((part) => typeof part === "string")
    && typeof one.probability === "number")
    .map(({ sentence, source, probability, shown }) => ({ id: newId(), sentence, source, probability, shown: shown === true }));
  if (typeof quality?.precision === "number" && typeof quality.recall === "number") state.quality = quality;
  write(typeof text === "string" ? text : "");
  if (Number.isInteger(focus) && focus >= 0 && focus < state.gaps.length) state.focus = focus;
  state.chosen = listOf(chosen).filter((one) => typeof one?.id === "string" && typeof one.title === "string")
    .map(({ id, title, gap }) => ({ id, title, gap: state.gaps[gap]?.id ?? null }));
  state.marks = listOf(marks).filter((one) => typeof one?.id === "string" && typeof one.title === "string" && (one.gap === null || state.gaps[one.gap]))
    .map(({ id, title, likes, gap }) => ({ id, title, likes: likes === true, gap: state.gaps[gap]?.id ?? null }));
  changed("draft");
  changed("choice");
  const reloaded = performance.getEntriesByType("navigation")[0]?.type === "reload";
  return reloaded && searched === true && (state.text.trim() !== "" || state.marks.some((one) => one.likes));
}

/** Keeps the page from now on, a moment after each change. */
export function setUpKeeping() {
  const soon = () => { notSoon(); timer = setTimeout(save, WAIT_MS); };
  when(["draft", "focus", "choice", "answer"], soon);
  document.addEventListener("input", soon);
  document.addEventListener("change", soon);
  // Only what is new: the draft that another tab cleared must not come back when this one is closed.
  addEventListener("pagehide", () => { if (timer !== null) save(); });
}
