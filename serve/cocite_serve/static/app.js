// The page: puts its parts together.

import { useKey, version } from "./api.js";
import { setUpCited } from "./cited.js";
import { copyFinished, insert, setUpCiting } from "./citing.js";
import { $, debounce, el } from "./dom.js";
import { focusGap, setUpEditor, write } from "./editor.js";
import { offerDrafts, setUpExamples } from "./examples.js";
import { clearFieldErrors } from "./fields.js";
import { setUpFiles, stopReading } from "./files.js";
import { setUpGraph } from "./graph.js";
import { forgetDraft, restore, setUpKeeping } from "./keeping.js";
import { setUpKeys } from "./keys.js";
import { mark, setUpMarks, takeLink } from "./marks.js";
import { forgetLibrary, isLibrary, setUpLibrary, takeLibrary } from "./owned.js";
import { forGap, problem, setUpResults, yearLimits } from "./results.js";
import { again, find, findAnew, forgetAnswer, taken } from "./search.js";
import { copyReferences, setUpSelection } from "./selection.js";
import { setUpSharing, takeText } from "./sharing.js";
import { moveCard, pressOnCard, setUpShortcuts } from "./shortcuts.js";
import { changed, chosenFor, gapInFocus, state, when } from "./state.js";
import { choice } from "./storage.js";
import { offerSuggestions, setUpSuggesting } from "./suggesting.js";
import { setUpWord, takeWord } from "./word.js";

const actions = {
  isChosen: (id) => chosenFor(gapInFocus()?.id ?? null).some((one) => one.id === id),
  toggle(paper) {
    const gap = gapInFocus()?.id ?? null;
    const rest = state.chosen.filter((one) => one.id !== paper.id || one.gap !== gap);
    if (rest.length === state.chosen.length) rest.push({ id: paper.id, title: paper.title, gap });
    state.chosen = rest;
    changed("choice");
  },
  where: forGap,
  mark,
  copy: (ids) => copyReferences(ids, taken),
  taken,
  exclude(paper) {
    state.excluded.set(paper.id, paper.title);
    state.chosen = state.chosen.filter((one) => one.id !== paper.id);
    changed("choice");
    again();
  },
  includeCited() {
    state.cites = [];
    state.together = [];
    changed("choice");
    again();
  },
  years(from, to) {
    $("year_from").value = from;
    $("year_to").value = to;
    again();
  },
  include(id) {
    state.excluded.delete(id);
    changed("choice");
    again();
  },
};

function keyForm(retry) {
  const input = el("input", { type: "password", autocomplete: "off", required: true, "aria-label": "API key", placeholder: "cocite_…" });
  return el("form", { class: "key", on: { submit: (event) => {
    event.preventDefault();
    useKey(input.value);
    $("problem").hidden = true;
    if (!state.corpusKnown) describeCorpus();
    if (state.text.trim() || state.marks.length) retry();
  } } }, input, el("button", { type: "submit" }, "Use this key"));
}

// Inserting moves the focus into the text, where the next key would be a letter.
async function insertByKey() {
  const from = document.activeElement;
  await insert();
  $("text").blur();
  from.focus({ preventScroll: true });
}

function tryOut(text) {
  write(text);
  focusGap(0);
  findAndReveal();
}

// On a narrow screen the answer is below the fold.
async function findAndReveal() {
  const told = await findAnew();
  const { top } = $("results").getBoundingClientRect();
  if (told && top > innerHeight * 0.6) $("results").scrollIntoView({ block: "start" });
}

// Opening a link sends no text: neither its own, nor one that this browser has kept.
async function takeAddress() {
  takeText();
  if (await takeLink()) askByMarks();
  else return false;
  return true;
}

function askByMarks() {
  if (state.answer) again();
  else if (!state.text.trim() && state.marks.some((one) => one.likes)) find();
}

function clearEverything() {
  forgetAnswer();
  stopReading();
  state.chosen = [];
  state.marks = [];
  state.cited.clear();
  state.filled.clear();
  state.suggested = [];
  state.quality = null;
  state.excluded.clear();
  state.cites = [];
  state.together = [];
  clearFieldErrors();
  $("linked").hidden = true;
  takeWord(null);
  write("");
  changed("choice");
  forgetDraft();
  forgetLibrary();
  $("text").focus();
}

function setUpForm() {
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    findAndReveal();
  });
  for (const id of ["year_from", "year_to"]) {
    const wait = debounce(again, 450);
    $(id).addEventListener("input", () => { if ($(id).value === "" || $(id).value.length === 4) wait(); });
    // Leaving the field by a click on a card must not make the cards anew under the click.
    $(id).addEventListener("change", () => { if (String(state.request?.[id] ?? "") !== $(id).value) again(); });
  }
  $("years_clear").addEventListener("click", () => {
    $("year_from").value = "";
    $("year_to").value = "";
    if ($("year").value) $("later").checked = true;
    again();
  });
  $("later").addEventListener("change", again);
  $("forget").addEventListener("click", clearEverything);
  $("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    choice("theme", root.dataset.theme);
  });
  setUpExamples(tryOut);
}

function describeCorpus() {
  version().then((one) => {
    const years = one.year_from ? `, ${one.year_from} to ${one.year_to}` : "";
    if (!state.corpusKnown) offerDrafts(tryOut);
    state.corpusKnown = true;
    $("corpus").textContent = `${one.papers.toLocaleString("en")} papers${years}`;
    $("corpus").title = `model ${one.model_version}, index ${one.index_version}`;
    state.newest = one.year_to ?? "";
    $("year_from").placeholder = one.year_from ?? "";
    yearLimits();
    offerSuggestions(one.suggests);
    $("top_k").placeholder = String(one.top_k);
    $("depth").placeholder = String(one.depth);
  }, (error) => {
    $("corpus").textContent = "";
    if (error.status === 401 && $("results").getAttribute("aria-busy") !== "true") problem(error, find);
  });
}

setUpEditor();
setUpKeys();
setUpCiting();
setUpSelection(taken);
setUpResults(actions, keyForm);
setUpForm();
setUpGraph();
setUpMarks();
setUpFiles(isLibrary, takeLibrary);
setUpWord();
setUpLibrary();
setUpCited(actions);
setUpSharing();
setUpSuggesting();
setUpShortcuts([
  { keys: ["j"], says: "Next paper", run: () => moveCard(1) },
  { keys: ["k"], says: "Previous paper", run: () => moveCard(-1) },
  { keys: ["u"], says: "Use the paper in focus", run: () => pressOnCard(".use") },
  { keys: ["m"], says: "More like the paper in focus", run: () => pressOnCard(".like") },
  { keys: ["x"], says: "Not the paper in focus, and fewer like it", run: () => pressOnCard(".dislike") },
  { keys: ["d"], says: "Details of the paper in focus", run: () => pressOnCard(".open") },
  { keys: ["n"], says: "Next gap", run: () => focusGap(state.focus + 1) },
  { keys: ["p"], says: "Previous gap", run: () => focusGap(state.focus - 1) },
  { keys: ["Alt+ArrowDown"], says: "Next gap, also within the text", run: () => focusGap(state.focus + 1), always: true },
  { keys: ["Alt+ArrowUp"], says: "Previous gap, also within the text", run: () => focusGap(state.focus - 1), always: true },
  { keys: ["i"], says: "Insert the papers of this gap into the text", run: insertByKey },
  { keys: ["c"], says: "Copy the finished text", run: copyFinished },
  { keys: ["/"], says: "Go to the text", run: () => $("text").focus() },
  { keys: ["Ctrl+Enter"], says: "Find papers", run: () => $("form").requestSubmit(), always: true },
]);
when(["focus"], again);
setUpKeeping();
describeCorpus();
const reloaded = restore();
addEventListener("hashchange", takeAddress);
if (!await takeAddress() && reloaded) find();
