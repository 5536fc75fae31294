// The page: reads the form, asks the server, shows the cards, keeps what was selected and left out.

import { bibtex, click, recommend, useKey, version } from "./api.js";
import { card, scales, skeleton } from "./card.js";
import { $, copyText, el, firstWords, lastWords, toast } from "./dom.js";

const EXAMPLES = [
  ["A gap in a sentence",
    "We measure the quality of the translations with BLEU [CIT] on a held-out test set, and ask two speakers to judge a sample of them."],
  ["Title and abstract",
    "Learning to rank documents with neural networks\n\nWe study how a pretrained language model can reorder the candidates that a sparse retriever returns. A query and a document are read together by a transformer encoder, and the score of the pair is learned from clicks. The model improves precision at the top of the list, and we analyse which kinds of queries gain most."],
  ["A passage with several gaps",
    "Topic models describe documents as mixtures of topics [CIT]. Later work learns dense vectors of words from their neighbours [CIT] and reads whole sentences with attention [CIT], which made transfer to small data sets practical."],
];
const GAP = /\[\s*CIT\s*\]|\bTARGETCIT\b/gi;

const state = { request: null, answer: null, selected: new Map(), tokens: new Map(), excluded: new Map(), running: null, newest: "", corpusKnown: false };

// -- what the author writes ------------------------------------------------------------------------------

function reading(text) {
  const gaps = (text.match(GAP) ?? []).length;
  if (!text.trim()) return "";
  if (gaps) return gaps === 1 ? "Reads as a passage with one gap" : `Reads as a passage with ${gaps} gaps`;
  const [first, ...rest] = text.trim().split("\n");
  if (rest.join("").trim() && first.trim().length <= 250) return "Reads as a title and abstract";
  return first.trim().length <= 250 && !rest.length && !/[.?!]$/.test(first.trim()) ? "Reads as a title" : "Reads as an abstract";
}

const list = (text, separator) => text.split(separator).map((part) => part.trim()).filter(Boolean);
const whole = (id) => ($(id).value.trim() === "" ? undefined : Number($(id).value));

function fromForm() {
  const request = { text: $("text").value, gap: 0 };
  for (const id of ["top_k", "depth", "year", "year_from", "year_to"]) request[id] = whole(id);
  request.candidates = $("later").checked ? "all" : "older";
  request.exclude = [...new Set([...list($("exclude").value, /[,;\s]+/), ...state.excluded.keys()])];
  request.exclude_authors = list($("exclude_authors").value, /[;\n]+/);
  return request;
}

// -- asking ----------------------------------------------------------------------------------------------

async function search(request) {
  state.running?.abort();
  const mine = new AbortController();
  state.running = mine;
  const before = state.request;
  state.request = request;
  busy(true);
  try {
    const answer = await recommend(request, mine.signal);
    if (state.running !== mine) return;
    state.answer = answer;
    show(answer);
  } catch (error) {
    if (error.name === "AbortError" || state.running !== mine) return;
    if (state.answer) state.request = before; // the cards that stay are its answer
    problem(error, () => search(fromForm()));
  }
  if (state.running === mine) { state.running = null; busy(false); }
}

function again(changes = {}) {
  if (state.request) search({ ...fromForm(), text: state.request.text, gap: state.request.gap, ...changes });
}

function busy(on) {
  $("submit").disabled = on;
  $("submit").textContent = on ? "Searching…" : "Find papers";
  $("results").setAttribute("aria-busy", String(on));
  if (!on) return;
  document.body.classList.add("searched");
  $("intro").hidden = true;
  $("problem").hidden = true;
  if (!$("cards").querySelector(".card:not(.ghost)")) $("cards").replaceChildren(...Array.from({ length: 4 }, skeleton));
  else $("cards").classList.add("stale");
}

// -- showing ---------------------------------------------------------------------------------------------

const actions = {
  isSelected: (id) => state.selected.has(id),
  select(id, on) {
    const paper = state.answer.papers.find((one) => one.id === id);
    if (on) state.selected.set(id, paper.title);
    else state.selected.delete(id);
    tray();
  },
  copy,
  taken,
  exclude(paper) {
    state.excluded.set(paper.id, paper.title);
    state.selected.delete(paper.id);
    tray();
    again();
  },
};

// Papers of a list of two models: which of them gave a paper, the server knows.
function taken(ids) {
  for (const id of ids) if (state.tokens.has(id)) click(state.tokens.get(id), id);
}

function show(answer) {
  const { papers } = answer;
  for (const { id } of papers) {
    if (answer.interleaved) state.tokens.set(id, answer.interleaved);
    else state.tokens.delete(id);
  }
  const ranges = papers.length ? scales(papers) : {};
  $("cards").classList.remove("stale");
  $("cards").replaceChildren(...papers.map((paper) => card(paper, ranges, actions)));
  $("problem").hidden = true;
  $("toolbar").hidden = false;
  const count = papers.length === 1 ? "1 paper" : `${papers.length} papers`;
  $("summary").replaceChildren(el("b", {}, count), ` in ${Math.max(1, Math.round(answer.took_ms.total))} ms`);
  yearLimits();
  gaps(answer);
  leftOut(answer.unknown);
  incomplete(answer.shards);
  if (!papers.length) {
    $("cards").replaceChildren(el("li", { class: "none" },
      el("b", {}, "Nothing fits."), " Widen the years, leave fewer papers out, or describe the claim in more words."));
  }
}

// A manuscript's year limits the answer as a year typed beside the results does.
function yearLimits() {
  const { year, year_from, year_to, candidates } = state.request ?? {};
  const limited = year && candidates === "older";
  $("year_to").placeholder = limited ? year : state.newest;
  $("years_clear").hidden = !(limited || year_from || year_to);
}

// On a narrow screen the answer is below the fold.
function reveal() {
  const { top } = $("results").getBoundingClientRect();
  if (top > innerHeight * 0.6) $("results").scrollIntoView({ block: "start" });
}

function gaps(answer) {
  const several = answer.gaps > 1;
  $("gaps").hidden = !several;
  $("quote").hidden = !several;
  if (!several) return;
  $("gaps").replaceChildren(...Array.from({ length: answer.gaps }, (_, gap) =>
    el("button", { type: "button", "aria-pressed": String(gap === answer.gap), on: { click: () => again({ gap }) } }, `Gap ${gap + 1}`)));
  const [before, after = ""] = answer.context.replaceAll("OTHERCIT", "[…]").split("TARGETCIT");
  $("quote").replaceChildren(lastWords(before, 90), el("span", { class: "here" }, "citation"), firstWords(after, 70));
}

function leftOut(unknown) {
  const chips = [...state.excluded].map(([id, title]) =>
    el("button", {
      type: "button", class: "chip", title, "aria-label": `Bring back ${title}`,
      on: { click: () => { state.excluded.delete(id); again(); } },
    }, title.length > 42 ? `${title.slice(0, 40)}…` : title, el("span", { "aria-hidden": "true" }, " ×")));
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

// What was found before stays.
function problem(error, retry) {
  $("cards").classList.remove("stale");
  for (const ghost of $("cards").querySelectorAll(".ghost")) ghost.remove();
  $("toolbar").hidden = !state.answer;
  $("problem").hidden = false;
  $("problem").replaceChildren(el("p", {}, error.message), error.status === 401 ? keyForm(retry)
    : el("button", { type: "button", on: { click: retry } }, "Try again"));
}

function keyForm(retry) {
  const input = el("input", { type: "password", autocomplete: "off", required: true, "aria-label": "API key", placeholder: "cocite_…" });
  return el("form", { class: "key", on: { submit: (event) => {
    event.preventDefault();
    useKey(input.value);
    $("problem").hidden = true;
    if (!state.corpusKnown) describeCorpus();
    if ($("text").value.trim()) retry();
  } } }, input, el("button", { type: "submit" }, "Use this key"));
}

function tray() {
  const count = state.selected.size;
  $("tray").hidden = !count;
  document.body.classList.toggle("has-tray", count > 0);
  $("tray_count").textContent = count === 1 ? "1 paper selected" : `${count} papers selected`;
}

// -- BibTeX ----------------------------------------------------------------------------------------------

async function copy(ids) {
  try {
    await copyText(await bibtex(ids));
    taken(ids);
    toast(ids.length === 1 ? "BibTeX copied" : `BibTeX of ${ids.length} papers copied`);
  } catch (error) {
    toast(error.message);
  }
}

async function download(ids) {
  try {
    const address = URL.createObjectURL(new Blob([await bibtex(ids)], { type: "application/x-bibtex" }));
    const anchor = el("a", { href: address, download: "cocite.bib" });
    anchor.click();
    taken(ids);
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  } catch (error) {
    toast(error.message);
  }
}

// -- wiring ----------------------------------------------------------------------------------------------

function write(text) {
  $("text").value = text;
  $("reading").textContent = reading(text);
}

function insertGap() {
  const area = $("text");
  const { selectionStart: at, selectionEnd: end, value } = area;
  const space = at > 0 && !/\s$/.test(value.slice(0, at)) ? " " : "";
  area.setRangeText(`${space}[CIT]`, at, end, "end");
  $("reading").textContent = reading(area.value);
  area.focus();
}

function debounce(run, ms) {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(run, ms); };
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!$("text").value.trim()) { $("text").focus(); $("reading").textContent = "Paste some text first"; return; }
  search(fromForm()).then(reveal);
});
$("text").addEventListener("input", () => { $("reading").textContent = reading($("text").value); });
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); $("form").requestSubmit(); }
});
$("insert").addEventListener("click", insertGap);
for (const id of ["year_from", "year_to"]) {
  const wait = debounce(() => again(), 450);
  $(id).addEventListener("input", () => { if ($(id).value === "" || $(id).value.length === 4) wait(); });
}
$("years_clear").addEventListener("click", () => {
  $("year_from").value = "";
  $("year_to").value = "";
  if ($("year").value) $("later").checked = true;
  again();
});
$("later").addEventListener("change", () => again());
$("copy").addEventListener("click", () => copy([...state.selected.keys()]));
$("download").addEventListener("click", () => download([...state.selected.keys()]));
$("unselect").addEventListener("click", () => {
  state.selected.clear();
  for (const box of document.querySelectorAll(".pick input")) box.checked = false;
  for (const node of document.querySelectorAll(".card.picked")) node.classList.remove("picked");
  tray();
});
$("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("cocite-theme", root.dataset.theme); } catch { /* storage is off: for this visit only */ }
});
$("examples").append(...EXAMPLES.map(([name, text]) =>
  el("button", { type: "button", class: "chip", on: { click: () => { write(text); $("form").requestSubmit(); } } }, name)));

function describeCorpus() {
  version().then((one) => {
    const years = one.year_from ? `, ${one.year_from} to ${one.year_to}` : "";
    state.corpusKnown = true;
    $("corpus").textContent = `${one.papers.toLocaleString("en")} papers${years}`;
    $("corpus").title = `model ${one.model_version}, index ${one.index_version}`;
    state.newest = one.year_to ?? "";
    $("year_from").placeholder = one.year_from ?? "";
    yearLimits();
    $("top_k").placeholder = String(one.top_k);
    $("depth").placeholder = String(one.depth);
  }, (error) => {
    $("corpus").textContent = "";
    if (error.status === 401 && !state.running) problem(error, () => search(fromForm()));
  });
}
describeCorpus();
