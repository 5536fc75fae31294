// How the papers of the list are linked: a picture of the first twenty, and the same as a table.

import { links } from "./api.js";
import { $, el, svg } from "./dom.js";
import { drawn, graphOf, pulls, says, summaryOf } from "./graph_links.js";
import { layout } from "./graph_layout.js";
import { chosenFor, gapInFocus, state, when } from "./state.js";
import { choice } from "./storage.js";

const MOST = 20;
const KEPT = 40;
const AXIS = 26;
const LABEL = 9;
const HINT = "Point at a paper to see its links alone.";
const answers = new Map();
let running = null;
let papers = [];
/** @type {import("./graph_links.js").Graph | null} */
let graph = null;
let inFocus = 0;
let width = 0;

const radius = (place) => 17 - (6 * place) / Math.max(1, papers.length - 1);
const named = ({ title, year }) => (year ? `${title} (${year})` : title);

/** Brings a paper's card to the keyboard. @param {string} id */
function goTo(id) {
  const card = [...document.querySelectorAll(".card[data-id]")].find((node) => node.dataset.id === id);
  card?.focus({ preventScroll: true });
  card?.scrollIntoView({ block: "center" });
}

function surname({ authors, title }) {
  const name = authors[0]?.trim().split(/\s+/).at(-1) || title;
  return name.length > LABEL ? `${name.slice(0, LABEL - 1)}…` : name;
}

// From one paper to another, between the edges of their circles; within a column it bows towards the middle.
function curve(from, to, gap) {
  const same = Math.abs(from.x - to.x) < 1;
  const bow = (from.x > width / 2 ? -1 : 1) * (36 + Math.abs(from.y - to.y) * 0.3);
  const middle = same ? { x: from.x + bow, y: (from.y + to.y) / 2 } : { x: (from.x + to.x) / 2, y: (from.y * 3 + to.y) / 4 };
  const towards = (one, far) => {
    const [x, y] = [middle.x - one.x, middle.y - one.y];
    const length = Math.hypot(x, y) || 1;
    return `${(one.x + (x / length) * far).toFixed(1)} ${(one.y + (y / length) * far).toFixed(1)}`;
  };
  return `M${towards(from, from.r + 1)} Q${middle.x.toFixed(1)} ${middle.y.toFixed(1)} ${towards(to, to.r + gap)}`;
}

function line(name, one, other, attributes) {
  return svg("path", { class: `link ${name}`, "data-ends": `${one} ${other}`, ...attributes });
}

function node(place, spot, paper) {
  const label = `${paper.rank}. ${surname(paper)}, ${named(paper)}: ${says(graph.of[place])}`; // what is seen comes first, for whoever speaks it
  const one = svg("g", {
    class: "node", role: "button", tabindex: place === inFocus ? "0" : "-1", "aria-label": label, "data-place": place,
    transform: `translate(${spot.x.toFixed(1)} ${spot.y.toFixed(1)})`,
  },
  svg("title", {}, named(paper)),
  svg("rect", { class: "target", x: -24, y: -24, width: 48, height: 50 }),
  svg("circle", { r: spot.r.toFixed(1) }),
  svg("text", { class: "number", dy: "0.36em" }, String(paper.rank)), " ",
  svg("text", { class: "name", y: spot.r + 12 }, surname(paper)));
  one.addEventListener("click", () => goTo(paper.id));
  one.addEventListener("keydown", (event) => press(event, place));
  for (const event of ["focus", "mouseenter"]) one.addEventListener(event, () => light(place));
  for (const event of ["blur", "mouseleave"]) one.addEventListener(event, () => light(null));
  return one;
}

function press(event, place) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const to = { ArrowRight: place + 1, ArrowDown: place + 1, ArrowLeft: place - 1, ArrowUp: place - 1, Home: 0, End: papers.length - 1 }[event.key];
  if (event.key === "Enter" || event.key === " ") goTo(papers[place].id);
  else if (to === undefined) return;
  else step((to + papers.length) % papers.length);
  event.preventDefault();
}

// One paper of the picture can be reached by Tab; arrow keys go from it to the others, by rank.
function step(place) {
  inFocus = place;
  for (const one of $("graph_picture").querySelectorAll(".node")) one.setAttribute("tabindex", Number(one.dataset.place) === place ? "0" : "-1");
  $("graph_picture").querySelector('.node[tabindex="0"]').focus();
}

// Of one paper its links stand out, and a line says what it is; null: of none.
function light(place) {
  const picture = $("graph_picture");
  picture.classList.toggle("lit", place !== null);
  const near = new Set([place]);
  for (const one of picture.querySelectorAll(".link")) {
    const ends = one.dataset.ends.split(" ").map(Number);
    const on = ends.includes(place);
    one.classList.toggle("on", on);
    if (on) for (const end of ends) near.add(end);
  }
  for (const one of picture.querySelectorAll(".node")) one.classList.toggle("on", near.has(Number(one.dataset.place)));
  $("graph_line").textContent = place === null ? HINT : `${papers[place].rank}. ${named(papers[place])}: ${says(graph.of[place])}.`;
}

function draw() {
  const none = !graph || (!graph.citations.length && !graph.together.length);
  $("graph_picture").hidden = $("graph_key").hidden = $("graph_line").hidden = none || $("graph_table").childElementCount > 0;
  if ($("graph_picture").hidden) {
    $("graph_picture").replaceChildren();
    return;
  }
  width = $("graph_picture").clientWidth;
  if (!width) return;
  const { places, bins, height } = layout(papers.map((paper) => paper.year), pulls(graph), width);
  const spots = places.map((spot, place) => ({ x: spot.x, y: spot.y - 6, r: radius(place) }));
  const most = graph.together[0]?.[2] ?? 1;
  const years = bins.flatMap(({ from, to, x, left, right }) => [
    svg("line", { class: "axis", x1: left + 6, x2: right - 6, y1: height + 3, y2: height + 3 }),
    svg("text", { class: "year", x, y: height + 19 }, from === null ? "no year" : from === to ? String(from) : `${from}–${String(to).slice(2)}`)]);
  $("graph_picture").replaceChildren(svg("svg", {
    role: "group", "aria-label": `Links among ${papers.length} papers. Arrow keys go from paper to paper, Enter goes to its card.`,
    width, height: height + AXIS, viewBox: `0 0 ${width} ${height + AXIS}`,
  },
  svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    svg("path", { d: "M0 0.8 L8 4 L0 7.2 Z" }))),
  ...years,
  ...drawn(graph).toReversed().map(([one, other, count]) =>
    line("together", one, other, { d: curve(spots[one], spots[other], 1), "stroke-width": (1 + 5 * (count / most)).toFixed(1) })),
  ...graph.citations.map(([one, other]) =>
    line("cites", one, other, { d: curve(spots[one], spots[other], 3), "marker-end": "url(#arrow)" })),
  ...papers.map((paper, place) => node(place, spots[place], paper))));
  showChosen();
  light(null);
}

function cell(places, others) {
  return el("td", {}, places.length ? others : "–");
}

function table() {
  const rank = (place) => papers[place].rank;
  const rows = papers.map((paper, place) => {
    const { cites, citedBy, together } = graph.of[place];
    return el("tr", {},
      el("td", { class: "number" }, String(paper.rank)),
      el("th", { scope: "row" }, el("button", { type: "button", class: "title", on: { click: () => goTo(paper.id) } }, named(paper))),
      cell(cites, cites.map(rank).join(", ")),
      cell(citedBy, citedBy.map(rank).join(", ")),
      graph.uncounted.includes(place) ? el("td", {}, "not counted")
        : cell(together, together.map(([other, count]) => `${rank(other)}\u00a0(${count.toLocaleString("en")})`).join(", ")));
  });
  return el("table", {},
    el("caption", {}, "The numbers are the papers' ranks; in brackets stands how many papers cite both."),
    el("thead", {}, el("tr", {}, ...["Rank", "Paper", "Cites", "Cited by", "Cited together with"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...rows));
}

function paint() {
  const asTable = choice("graph") === "table";
  $("graph_form").textContent = asTable ? "Show as a picture" : "Show as a table";
  $("graph_form").hidden = !graph;
  $("graph_table").replaceChildren(...(graph && asTable ? [table()] : []));
  $("graph_table").hidden = !(graph && asTable);
  draw();
}

function showChosen() {
  const gap = gapInFocus()?.id ?? null;
  const ids = new Set(chosenFor(gap).map((one) => one.id));
  for (const one of $("graph_picture").querySelectorAll(".node")) one.classList.toggle("picked", ids.has(papers[Number(one.dataset.place)]?.id));
}

async function answerTo(ids, signal) {
  const name = `${state.answer.index_version} ${JSON.stringify(ids)}`;
  if (!answers.has(name)) {
    answers.set(name, await links(ids, signal));
    if (answers.size > KEPT) answers.delete(answers.keys().next().value);
  }
  return answers.get(name);
}

/** Takes the papers over that the list shows, and draws them where the box is open. */
async function update() {
  running?.abort();
  const shown = state.shown.toSorted((one, other) => one.rank - other.rank).slice(0, MOST);
  $("graph_box").hidden = shown.length < 2;
  if (shown.length < 2 || !$("graph_box").open) return;
  const mine = new AbortController();
  running = mine;
  try {
    const ids = shown.map((paper) => paper.id);
    const found = graphOf(ids, await answerTo(ids, mine.signal));
    if (running !== mine) return;
    [papers, graph, inFocus] = [shown, found, 0];
    $("graph_says").textContent = `The first ${papers.length} papers. ${summaryOf(graph)}`;
  } catch (error) {
    if (error.name === "AbortError" || running !== mine) return;
    [papers, graph] = [[], null];
    $("graph_says").textContent = error.message;
  }
  paint();
}

export function setUpGraph() {
  $("graph_box").open = choice("graph-box") === "open";
  $("graph_box").addEventListener("toggle", () => {
    choice("graph-box", $("graph_box").open ? "open" : "closed");
    update();
  });
  $("graph_form").addEventListener("click", () => {
    choice("graph", choice("graph") === "table" ? "picture" : "table");
    if (graph) paint();
  });
  when(["shown"], update);
  when(["choice", "focus"], showChosen);
  new ResizeObserver(() => { if (graph && $("graph_picture").clientWidth && $("graph_picture").clientWidth !== width) draw(); }).observe($("graph_picture"));
}
