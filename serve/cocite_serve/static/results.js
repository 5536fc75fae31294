// Shows an answer: its cards, filtered and sorted, and what is to be said about it.

import { card, scales, showChoice, skeleton } from "./card.js";
import { $, debounce, el, firstWords, lastWords, titleChip, toast } from "./dom.js";
import { fieldError, inPageWords } from "./fields.js";
import { hasLibrary, isOwned } from "./owned.js";
import { changed, citedIds, gapInFocus, nameOf, state, when } from "./state.js";
import { setUpYears, showYears } from "./years.js";

let actions = null;
let keyForm = null;
let warned = null;
let shownContext = null;

const MOST_NAMES = 500; // authors that are offered; any other may be typed

const ORDERS = {
  rank: (one, other) => one.rank - other.rank,
  newest: (one, other) => (other.year ?? -1) - (one.year ?? -1) || one.rank - other.rank,
  oldest: (one, other) => (one.year ?? 9999) - (other.year ?? 9999) || one.rank - other.rank,
};

/** Whether an answer is on its way. @param {boolean} on */
export function busy(on) {
  $("submit").textContent = on ? "Searching…" : "Find papers";
  $("results").setAttribute("aria-busy", String(on));
  if (!on) { $("cards").classList.remove("stale"); return; }
  document.body.classList.add("searched");
  $("intro").hidden = true;
  $("problem").hidden = true;
  if (!$("cards").querySelector(".card:not(.ghost)")) $("cards").replaceChildren(...Array.from({ length: 4 }, skeleton));
  else $("cards").classList.add("stale");
}

/** Shows the answer of the state, and says it to screen readers. */
export function show() {
  const { answer } = state;
  $("problem").hidden = true;
  $("toolbar").hidden = false;
  yearLimits();
  venues(answer.papers);
  authors(answer.papers);
  quote(answer);
  leftOut(answer.unknown);
  incomplete(answer.shards);
  cards();
  $("said").textContent = ["summary", "warning", "note", "incomplete"].filter((id) => !$(id).hidden)
    .map((id) => (id === "warning" ? answer.warning : $(id).textContent)).join(" ");
}

/** Brings the page back to its beginning. */
export function showNothing() {
  $("cards").replaceChildren();
  $("said").textContent = "";
  for (const id of ["toolbar", "problem", "incomplete", "note", "warning"]) $(id).hidden = true;
  $("intro").hidden = false;
  showing([]);
  document.body.classList.remove("searched");
}

function cards() {
  const { papers, warning, note, gap, gaps, read_as: read, took_ms: took } = state.answer;
  const hidden = Boolean(warning) && warned !== state.answer;
  $("warning").hidden = !warning;
  if (warning) {
    $("warning").replaceChildren(el("p", {}, warning), hidden ? el("button", {
      type: "button", on: { click: () => {
        warned = state.answer;
        cards();
        $("cards").firstElementChild?.focus();
      } },
    }, "Show the papers anyway") : null);
  }
  $("note").hidden = hidden || !note;
  $("note").textContent = note ? `${note[0].toUpperCase()}${note.slice(1)}.` : "";
  const venue = $("venue").value;
  const owned = $("owned").value;
  const author = $("author").value.trim().toLowerCase();
  const fits = (paper) => (!venue || paper.venue === venue) && (!owned || isOwned(paper) === (owned === "owned"))
    && (!author || paper.authors.some((name) => name.toLowerCase().includes(author)));
  const shown = hidden ? [] : papers.filter(fits).sort(ORDERS[$("sort").value]);
  const ranges = papers.length ? scales(papers) : {};
  keepingFocus(() => $("cards").replaceChildren(...shown.map((paper) => card(paper, ranges, actions, hasLibrary() ? isOwned(paper) : null))));
  showYears(shown.map((paper) => paper.year));
  showing(shown);
  const where = state.suggestion ? ` for ${state.suggestion}` : gaps > 1 ? ` for gap ${gap + 1} of ${gaps}` : "";
  const count = papers.length === 1 ? "1 paper" : `${papers.length} papers`;
  $("summary").replaceChildren(...(hidden ? ["No paper fits this text."] : [
    el("b", {}, shown.length === papers.length ? count : `${shown.length} of ${count}`),
    mine(papers), read === "seeds" ? " near those whose like you want" : "", `${where} in ${Math.max(1, Math.round(took.total))} ms`]));
  if (papers.length && !shown.length && !hidden) {
    $("cards").replaceChildren(el("li", { class: "none" }, "None of these papers passes the filters above."));
  }
  if (!papers.length) {
    $("cards").replaceChildren(el("li", { class: "none" },
      el("b", {}, "Nothing fits."), " Widen the years, leave fewer papers out, or describe the claim in more words."));
  }
}

function showing(papers) {
  state.shown = papers;
  changed("shown");
}

function mine(papers) {
  const count = hasLibrary() ? papers.filter(isOwned).length : 0;
  return count ? ` (${count} in my library)` : "";
}

// New cards take the keyboard's focus over from the old ones: at the same place, or the first for another text.
function keepingFocus(replace) {
  const place = [...$("cards").children].indexOf(document.activeElement.closest(".card"));
  const { context } = state.answer;
  replace();
  const nodes = $("cards").children;
  if (place >= 0) nodes[context === shownContext ? Math.min(place, nodes.length - 1) : 0]?.focus({ preventScroll: true });
  shownContext = context;
}

// Names with the number of times that each is given, the most frequent first.
function counted(names) {
  const counts = new Map();
  for (const name of names) if (name) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([one, many], [other, more]) => more - many || one.localeCompare(other));
}

// The venues of the answer. One that was chosen stays as long as it has papers.
function venues(papers) {
  const before = $("venue").value;
  const names = counted(papers.map((paper) => paper.venue));
  $("venue").replaceChildren(el("option", { value: "" }, "All venues"),
    ...names.map(([name, count]) => el("option", { value: name }, `${name} (${count})`)));
  $("venue").value = names.some(([name]) => name === before) ? before : "";
}

// The authors of the answer, as the field for one offers them.
function authors(papers) {
  const names = counted(papers.flatMap((paper) => [...new Set(paper.authors)])).slice(0, MOST_NAMES);
  $("author_names").replaceChildren(...names.map(([name, count]) =>
    el("option", { value: name }, count === 1 ? "1 paper" : `${count} papers`)));
}

/** A manuscript's year limits the answer as a year typed beside the results does. */
export function yearLimits() {
  const { year, year_from, year_to, candidates } = state.request ?? {};
  const limited = year && candidates === "older";
  $("year_to").placeholder = limited ? year : state.newest;
  $("years_clear").hidden = !(limited || year_from || year_to);
}

function quote({ gaps, context }) {
  $("quote").hidden = !gaps;
  if (!gaps) return;
  const [before, after = ""] = context.replaceAll("OTHERCIT", "[…]").split("TARGETCIT");
  $("quote").replaceChildren(lastWords(before, 90), el("span", { class: "here" }, "citation"), firstWords(after, 70));
}

function leftOut(unknown) {
  const chips = [...state.excluded].map(([id, title]) =>
    titleChip(title, `Bring back ${title}`, () => actions.include(id)));
  const count = citedIds().length;
  if (count) {
    const says = count === 1 ? "the paper that your draft cites" : `${count} papers that your draft cites`;
    chips.unshift(titleChip(says, `Suggest ${says} too`, actions.includeCited));
  }
  const strangers = unknown.map((id) => el("span", { class: "unknown" }, `${id} is not in this corpus`));
  $("left_out").hidden = !(chips.length + strangers.length);
  $("left_out").replaceChildren("Left out: ", ...chips, ...strangers);
}

// Of an index in shards: papers of a shard that did not answer are not in the list.
function incomplete(shards) {
  const some = Boolean(shards?.missing.length);
  $("incomplete").hidden = !some;
  if (some) $("incomplete").textContent = `Only ${shards.answered} of ${shards.of} parts of the corpus answered: papers may be missing from this list.`;
}

/**
 * Says what went wrong: beside the field that is at fault, or above the cards. What was found before stays.
 * @param {Error} error @param {() => void} retry
 * @returns {boolean} Whether it stands above the cards.
 */
export function problem(error, retry) {
  if (!state.answer) showNothing();
  if (fieldError(error.field ?? null, error.message)) return false;
  $("problem").hidden = false;
  const id = error.status >= 500 && error.id ? el("p", {}, "Request id: ", el("code", {}, error.id)) : null;
  $("problem").replaceChildren(el("div", {}, el("p", {}, inPageWords(error.message)), id), error.status === 401 ? keyForm(retry)
    : el("button", { type: "button", on: { click: retry } }, "Try again"));
  return true;
}

/**
 * Says what went wrong beside a button: an endpoint that asks for a key gets the form for it, all else is said in passing.
 * @param {Error} error @param {() => void} retry
 */
export function refused(error, retry) {
  if (error.status === 401) problem(error, retry);
  else toast(error.message);
}

/** @param {import("./card.js").Actions} given @param {(retry: () => void) => HTMLElement} form Asks for the API key. */
export function setUpResults(given, form) {
  actions = given;
  keyForm = form;
  for (const id of ["venue", "sort"]) $(id).addEventListener("change", () => { if (state.answer) cards(); });
  const soon = debounce(() => { if (state.answer) cards(); }, 200);
  $("author").addEventListener("input", soon);
  setUpYears(actions.years);
  when(["library"], () => { if (state.answer) cards(); });
  when(["choice", "focus", "draft"], () => {
    for (const node of $("cards").querySelectorAll(".card[data-id]")) {
      const paper = state.answer?.papers.find((one) => one.id === node.dataset.id);
      if (paper) showChoice(node, paper, actions);
    }
  });
}

/** "for gap 2", or "for suggestion 1", as buttons say it; "" in a text without gaps. */
export const forGap = () => (gapInFocus() ? ` for ${nameOf(gapInFocus())}` : "");
