// One recommended paper as a card: what it is, how it scored, why it is here, and where it is to be read.

import { el } from "./dom.js";
import { everything, liked, neighbours, number, sentence, words } from "./evidence.js";
import { links, outward } from "./links.js";

const LABELS = { nnselect: "NNSelect", nnrank: "NNRank", fusion: "Learned fusion" };

const label = (name) => {
  const plain = name.replaceAll(/[_-]+/g, " ");
  return LABELS[name] ?? plain[0].toUpperCase() + plain.slice(1);
};

/** @param {string[]} authors */
export function people(authors) {
  if (authors.length <= 5) return authors.join(", ");
  return `${authors.slice(0, 4).join(", ")} and ${authors.length - 4} more`;
}

/** How far a value lies between the smallest and the largest of this answer, for the length of a bar. */
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

/**
 * @typedef {object} Actions What a card's buttons do.
 * @property {(id: string) => boolean} isChosen For the gap in focus.
 * @property {(paper: object) => void} toggle Chooses the paper for the gap in focus, or no more.
 * @property {() => string} where "for gap 2", or "".
 * @property {(ids: string[]) => void} copy
 * @property {(ids: string[]) => void} taken
 * @property {(paper: object) => void} exclude
 * @property {(paper: object, likes: boolean) => void} mark
 */

/** @param {object} paper Of the API. @param {object} ranges Of `scales`. @param {Actions} actions @param {boolean | null} owned Null: there is no library. */
export function card(paper, ranges, actions, owned) {
  const evidence = paper.evidence ?? { shared_words: [], cited_by: [], sentences: [], seeds: [] };
  const id = `paper-${paper.rank}`;
  const places = links(paper);
  const title = el("h3", { id }, places.length ? link(places[0].address, paper.title, paper, actions) : paper.title);
  const { least, high } = ranges.score;
  const part = high > least ? 0.06 + 0.94 * ((paper.score - least) / (high - least)) : 1;
  const more = details(paper, evidence, ranges, `${id}-more`);
  const node = el("li", { class: "card", tabindex: "-1", "aria-labelledby": id, "data-id": paper.id },
    el("span", { class: "rank" }, el("span", { class: "sr" }, "Rank "), String(paper.rank)),
    el("div", { class: "body" },
      el("div", { class: "head" }, title,
        el("div", { class: "score" }, bar(part, `Score ${number(paper.score)}`),
          el("span", { class: "sr" }, `Score ${number(paper.score)}`), chance(paper.confidence))),
      el("p", { class: "who" }, people(paper.authors) || "Authors unknown"),
      el("p", { class: "where" }, ...facts(paper, owned)),
      places.length ? el("p", { class: "links" }, ...places.map((place) =>
        link(place.address, place.name, paper, actions, `${place.name}: ${paper.title}`))) : null,
      sentence(evidence.sentences[0], true),
      liked(evidence.seeds),
      neighbours(evidence.cited_by),
      words(evidence.shared_words),
      el("div", { class: "actions" },
        el("button", { type: "button", class: "use small", on: { click: () => actions.toggle(paper) } }),
        more && opener(more),
        el("button", { type: "button", class: "quiet small like", on: { click: () => actions.mark(paper, true) },
          "aria-label": `More like this: ${paper.title}` }, "More like this"),
        el("button", { type: "button", class: "quiet small dislike", on: { click: () => actions.mark(paper, false) },
          "aria-label": `Not this: ${paper.title}` }, "Not this"),
        el("button", { type: "button", class: "quiet small", on: { click: () => actions.copy([paper.id]) },
          title: "Copy its reference", "aria-label": `Copy reference of ${paper.title}` }, "Copy"),
        el("button", { type: "button", class: "quiet small", on: { click: () => actions.exclude(paper) },
          "aria-label": `Leave out ${paper.title}` }, "Leave out")),
      more));
  showChoice(node, paper, actions);
  return node;
}

/** Brings a card up to date with what is chosen. */
export function showChoice(node, paper, actions) {
  const chosen = actions.isChosen(paper.id);
  const where = actions.where();
  const button = node.querySelector(".use");
  node.classList.toggle("picked", chosen);
  const says = chosen ? `Used${where}` : `Use${where || " this paper"}`;
  button.setAttribute("aria-label", `${says}: ${paper.title}`); // begins with what is seen, for whoever speaks it
  button.textContent = chosen ? `✓ ${says}` : says;
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

function link(address, text, paper, actions, name) {
  const taken = (event) => { if (event.button < 2) actions.taken([paper.id]); }; // the middle button opens a tab
  return outward(address, text, name, { click: taken, auxclick: taken });
}

/** A probability as it is written. @param {number} value @returns {string} */
export const percent = (value) => (value < 0.01 ? "<1 %" : value > 0.99 ? ">99 %" : `~${Math.round(100 * value)} %`);

// The probability that the text should cite a paper, where the endpoint's model has one.
function chance(confidence) {
  if (confidence === null || confidence === undefined) return null;
  return el("span", { class: "chance", title: "How often a paper with such a score is cited in such a place" },
    el("span", { class: "sr" }, "Cited in "), percent(confidence), el("span", { class: "sr" }, " of such cases"));
}

function facts(paper, owned) {
  const parts = [];
  if (owned !== null) parts.push(el("span", { class: owned ? "owned" : "lacked" }, owned ? "In my library" : "Not in my library"));
  if (paper.venue) parts.push(el("span", { class: "venue" }, paper.venue));
  parts.push(el("span", {}, paper.year ? String(paper.year) : "year unknown"));
  if (paper.in_citations) {
    parts.push(el("span", {}, `cited by ${paper.in_citations.toLocaleString("en")} here`));
  }
  parts.push(el("span", { class: "id" }, paper.id));
  return parts;
}

function details(paper, evidence, ranges, id) {
  const parts = [];
  if (paper.abstract) parts.push(el("h4", {}, "Abstract"), el("p", { class: "abstract" }, paper.abstract));
  parts.push(...everything(evidence));
  const stages = Object.entries(paper.stages);
  if (stages.length) {
    parts.push(el("h4", {}, "Scores by stage"),
      el("dl", { class: "stages" }, ...stages.flatMap(([name, value]) => [
        el("dt", {}, label(name)),
        el("dd", {}, bar(share(ranges[`stage:${name}`], value)), el("span", {}, number(value)))])));
  }
  return parts.length ? el("div", { class: "more", id, hidden: true }, ...parts) : null;
}

export function skeleton() {
  return el("li", { class: "card ghost", "aria-hidden": "true" },
    el("span", { class: "rank" }),
    el("div", { class: "body" }, ...["72%", "38%", "24%", "92%", "84%"].map((width) =>
      el("span", { class: "line", style: { width } }))));
}
