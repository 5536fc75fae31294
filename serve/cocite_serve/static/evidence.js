// Why a paper is suggested: sentences that cite it, similar papers that cite it, and words in common.

import { el, firstWords, lastWords } from "./dom.js";
import { links, outward } from "./links.js";

const WORDS = 10;
const NEIGHBOURS = 3;
const NEAR = 110;

/** A score or a weight in few digits. @param {number} value */
export const number = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));

/**
 * @typedef {object} Source A paper that speaks for another.
 * @property {string} id @property {string} title @property {number | null} year @property {string} doi
 * @property {string[]} authors The first three. @property {string} venue
 */

/** "Ada Lee et al., 2017, ACL". @param {Source} paper */
export function byline({ authors = [], year, venue }) {
  const who = authors.length > 2 ? `${authors[0]} et al.` : authors.join(" and ");
  return [who, year, venue].filter(Boolean).join(", ");
}

/** What a paper is, who wrote it and when, and where it is to be read. @param {Source} paper @returns {HTMLElement[]} */
export function source(paper) {
  const by = byline(paper);
  const places = links(paper).map(({ name, address }) => outward(address, name, `${name}: ${paper.title}`));
  return [el("span", { class: "titled", title: paper.title }, paper.title),
    ...(by ? [el("span", { class: "by" }, by)] : []),
    ...(places.length ? [el("span", { class: "links" }, ...places)] : [])];
}

/** @param {Source & {sentence: string}} one @param {boolean} brief Two lines of it. */
export function sentence(one, brief) {
  if (!one) return null;
  return el("figure", { class: "sentence" },
    el("figcaption", {}, "Cited in sentences like yours"),
    el("blockquote", {}, ...marked(brief ? near(one.sentence) : one.sentence)),
    el("cite", { class: "source" }, ...source(one)));
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

function titled(papers, all, label) {
  if (!papers.length) return null;
  const shown = all ? papers : papers.slice(0, NEIGHBOURS);
  const rows = shown.map((one) => el("li", { class: "source" }, ...source(one)));
  const rest = papers.length - shown.length;
  if (rest > 0) rows.push(el("li", { class: "rest" }, `and ${rest} more`));
  return el("div", { class: "neighbours" }, el("p", { class: "label" }, label), el("ul", {}, ...rows));
}

/** @param {Source[]} papers @param {boolean} all Else the nearest three. */
export const neighbours = (papers, all = false) =>
  titled(papers, all, papers.length === 1 ? "Cited by a paper like yours" : `Cited by ${papers.length} papers like yours`);

/** Marked papers that a paper is linked with. @param {Source[]} papers @param {boolean} all Else three. */
export const liked = (papers, all = false) => titled(papers, all, "Linked with papers whose like you want");

/** @param {{word: string, weight: number}[]} shared Heaviest first. @param {boolean} all Else the first ten. */
export function words(shared, all = false) {
  if (!shared.length) return null;
  const most = shared[0].weight || 1;
  return el("ul", { class: "words", "aria-label": "Shared words" },
    ...shared.slice(0, all ? shared.length : WORDS).map(({ word, weight }) =>
      el("li", { style: { "--weight": Math.max(0.15, weight / most).toFixed(2) }, title: `weight ${number(weight)}` }, word)));
}

/** The evidence of which the card shows a part, in full, for its details. */
export function everything({ sentences, cited_by: citing, shared_words: shared, seeds }) {
  const parts = [];
  if (sentences.length > 1 || sentences.some((one) => near(one.sentence) !== one.sentence)) {
    parts.push(el("h4", {}, sentences.length === 1 ? "The whole sentence" : "All sentences that cite it"),
      ...sentences.map((one) => sentence(one, false)));
  }
  if (seeds.length > NEIGHBOURS) parts.push(el("h4", {}, "All marked papers that it is linked with"), liked(seeds, true));
  if (citing.length > NEIGHBOURS) parts.push(el("h4", {}, "All papers like yours that cite it"), neighbours(citing, true));
  if (shared.length > WORDS) parts.push(el("h4", {}, "All shared words"), words(shared, true));
  return parts;
}
