// Texts to try: a few that any corpus may answer, and the drafts that come with the starter corpus.

import { examples } from "./api.js";
import { $, el } from "./dom.js";

const EXAMPLES = [
  ["A gap in a sentence",
    "We measure the quality of the translations with BLEU [CIT] on a held-out test set, and ask two speakers to judge a sample of them."],
  ["Title and abstract",
    "Learning to rank documents with neural networks\n\nWe study how a pretrained language model can reorder the candidates that a sparse retriever returns. A query and a document are read together by a transformer encoder, and the score of the pair is learned from clicks. The model improves precision at the top of the list, and we analyse which kinds of queries gain most."],
  ["A passage with several gaps",
    "Topic models describe documents as mixtures of topics [CIT]. Later work learns dense vectors of words from their neighbours [CIT] and reads whole sentences with attention [CIT], which made transfer to small data sets practical."],
];

/** @param {(text: string) => void} take Called with the text that is to be tried. */
export function setUpExamples(take) {
  $("examples").append(...EXAMPLES.map(([name, text]) =>
    el("button", { type: "button", class: "chip", on: { click: () => take(text) } }, name)));
}

/** Offers the drafts that the endpoint has for its corpus; of most corpora there are none. @param {(text: string) => void} take */
export async function offerDrafts(take) {
  let drafts = [];
  try { drafts = await examples(); } catch { /* nobody has asked for them: the page works without */ }
  $("drafts").replaceChildren(el("span", {}, "Or a whole draft"), ...drafts.map(({ name, title, text }) =>
    el("button", { type: "button", class: "chip", title, "aria-label": `${name}: ${title}`, on: { click: () => take(text) } }, name)));
  $("drafts").hidden = !drafts.length;
}
