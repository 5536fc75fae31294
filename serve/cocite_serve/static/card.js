// One recommended paper as a card: what it is, how it scored, and why it is here.

import { el, firstWords, lastWords } from "./dom.js";

const WORDS = 10;
const NEIGHBOURS = 3;
const NEAR = 110;

const LABELS = { nnselect: "NNSelect", nnrank: "NNRank", fusion: "Learned fusion" };

const label = (name) => {
  const plain = name.replaceAll(/[_-]+/g, " ");
  return LABELS[name] ?? plain[0].toUpperCase() + plain.slice(1);
};
const number = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));

export function people(authors) {
  if (authors.length <= 5) return authors.join(", ");
  return `${authors.slice(0, 4).join(", ")} and ${authors.length - 4} more`;
}

// How far a value lies between the smallest and the largest of this answer, for the length of a bar.
export function scales(papers) {
  const ranges = { score: range(papers.map((paper) => paper.score)) };
  for (const name of new Set(papers.flatMap((paper) => Object.keys(paper.stages)))) {
    ranges[`stage:${name}`] = range(papers.map((paper) => paper.stages[name]).filter((value) => value !== undefined));
  }
  return ranges;
}

function range(values) {
  return { low: Math.min(...values, 0), high: Math.max(...values), least: Math.min(...values) };
}

function share({ low, high }, value) {
  return high > low ? Math.max(0.02, (value - low) / (high - low)) : 1;
}

function bar(part, title) {
  return el("span", { class: "bar", title, "aria-hidden": "true" },
    el("span", { style: { "--part": `${(100 * part).toFixed(1)}%` } }));
}

export function card(paper, ranges, actions) {
  const evidence = paper.evidence ?? { shared_words: [], cited_by: [], sentences: [] };
  const id = `paper-${paper.rank}`;
  const title = el("h3", { id }, paper.doi ? link(paper, actions) : paper.title);
  const { least, high } = ranges.score;
  const part = high > least ? 0.06 + 0.94 * ((paper.score - least) / (high - least)) : 1;
  const pick = el("input", {
    type: "checkbox", "aria-label": `Select ${paper.title}`, checked: actions.isSelected(paper.id),
    on: { change: (event) => { actions.select(paper.id, event.target.checked); node.classList.toggle("picked", event.target.checked); } },
  });
  const more = details(paper, evidence, ranges, `${id}-more`);
  const node = el("li", { class: `card${actions.isSelected(paper.id) ? " picked" : ""}`, "aria-labelledby": id },
    el("label", { class: "pick" }, pick, el("span", { class: "rank", "aria-hidden": "true" }, String(paper.rank))),
    el("div", { class: "body" },
      el("div", { class: "head" }, title,
        el("div", { class: "score" }, bar(part, `Score ${number(paper.score)}`),
          el("span", { class: "sr" }, `Score ${number(paper.score)}`))),
      el("p", { class: "who" }, people(paper.authors) || "Authors unknown"),
      el("p", { class: "where" }, ...facts(paper)),
      sentence(evidence.sentences[0], true),
      neighbours(evidence.cited_by),
      words(evidence.shared_words),
      el("div", { class: "actions" },
        more && opener(more),
        el("button", { type: "button", class: "quiet small", on: { click: () => actions.copy([paper.id]) } }, "Copy BibTeX"),
        el("button", { type: "button", class: "quiet small", on: { click: () => actions.exclude(paper) },
          "aria-label": `Leave out ${paper.title}` }, "Leave out")),
      more));
  return node;
}

function opener(panel) {
  return el("button", {
    type: "button", class: "quiet small open", "aria-expanded": "false", "aria-controls": panel.id,
    on: { click: (event) => {
      panel.hidden = !panel.hidden;
      event.currentTarget.setAttribute("aria-expanded", String(!panel.hidden));
    } },
  }, "Details");
}

function link(paper, actions) {
  const address = `https://doi.org/${encodeURI(paper.doi.replace(/^https?:\/\/(dx\.)?doi\.org\//, ""))}`;
  const taken = (event) => { if (event.button < 2) actions.taken([paper.id]); }; // the middle button opens a tab
  return el("a", { href: address, target: "_blank", rel: "noopener noreferrer", on: { click: taken, auxclick: taken } }, paper.title);
}

function facts(paper) {
  const parts = [];
  if (paper.venue) parts.push(el("span", { class: "venue" }, paper.venue));
  parts.push(el("span", {}, paper.year ? String(paper.year) : "year unknown"));
  if (paper.in_citations) {
    parts.push(el("span", {}, `cited by ${paper.in_citations.toLocaleString("en")} here`));
  }
  parts.push(el("span", { class: "id" }, paper.id));
  return parts;
}

function sentence(one, brief) {
  if (!one) return null;
  const source = one.year ? `${one.title} (${one.year})` : one.title;
  return el("figure", { class: "sentence" },
    el("figcaption", {}, "Cited in sentences like yours"),
    el("blockquote", {}, ...marked(brief ? near(one.sentence) : one.sentence)),
    el("cite", {}, source));
}

// About two lines of the words around the place where the paper was cited.
function near(text) {
  const [before, ...rest] = text.split("TARGETCIT");
  return rest.length ? `${lastWords(before, NEAR)}TARGETCIT${firstWords(rest.join("TARGETCIT"), NEAR)}` : text;
}

// The corpus writes TARGETCIT where this paper was cited and OTHERCIT for other citations.
function marked(text) {
  const tidy = text.replaceAll(/\s+([.,;:)])/g, "$1"); // scanned texts set a space before every full stop
  return tidy.split(/(TARGETCIT|OTHERCIT)/).map((piece) => {
    if (piece === "TARGETCIT") return el("span", { class: "here" }, "this paper");
    if (piece === "OTHERCIT") return el("span", { class: "other" }, "…");
    return piece;
  });
}

function neighbours(papers) {
  if (!papers.length) return null;
  const rows = papers.slice(0, NEIGHBOURS).map((one) => el("li", {}, one.title, one.year ? el("span", {}, ` ${one.year}`) : null));
  const rest = papers.length - NEIGHBOURS;
  if (rest > 0) rows.push(el("li", { class: "rest" }, `and ${rest} more`));
  return el("div", { class: "neighbours" },
    el("p", { class: "label" }, papers.length === 1 ? "Cited by a paper like yours" : `Cited by ${papers.length} papers like yours`),
    el("ul", {}, ...rows));
}

function words(shared) {
  if (!shared.length) return null;
  const most = shared[0].weight || 1;
  return el("ul", { class: "words", "aria-label": "Shared words" },
    ...shared.slice(0, WORDS).map(({ word, weight }) =>
      el("li", { style: { "--weight": Math.max(0.15, weight / most).toFixed(2) }, title: `weight ${number(weight)}` }, word)));
}

function details(paper, evidence, ranges, id) {
  const parts = [];
  const stages = Object.entries(paper.stages);
  if (stages.length) {
    parts.push(el("h4", {}, "Scores by stage"),
      el("dl", { class: "stages" }, ...stages.flatMap(([name, value]) => [
        el("dt", {}, label(name)),
        el("dd", {}, bar(share(ranges[`stage:${name}`], value)), el("span", {}, number(value)))])));
  }
  if (paper.abstract) parts.push(el("h4", {}, "Abstract"), el("p", { class: "abstract" }, paper.abstract));
  if (evidence.sentences.length) {
    const title = evidence.sentences.length === 1 ? "The sentence that cites it" : "Sentences that cite it";
    parts.push(el("h4", {}, title), ...evidence.sentences.map((one) => sentence(one, false)));
  }
  return parts.length ? el("div", { class: "more", id, hidden: true }, ...parts) : null;
}

export function skeleton() {
  return el("li", { class: "card ghost", "aria-hidden": "true" },
    el("span", { class: "pick" }),
    el("div", { class: "body" }, ...["72%", "38%", "24%", "92%", "84%"].map((width) =>
      el("span", { class: "line", style: { width } }))));
}
