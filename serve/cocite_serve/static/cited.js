// What the draft cites: found by the server with the entries of a .bib, left out of the lists, and shown.

import { draftText } from "./api.js";
import { $, el, toast } from "./dom.js";
import { source } from "./evidence.js";
import { draftName } from "./file_text.js";
import { wordsOf } from "./keys.js";
import { entriesOf } from "./libraries.js";
import { libraryEntries } from "./owned.js";
import { refused } from "./results.js";
import { again } from "./search.js";
import { changed, chosenFor, citedIds, gapInFocus, state, when } from "./state.js";

/** Entries whose keys stand in a text: the server says which of them it cites. @param {string} text @param {import("./libraries.js").Entry[]} entries */
function namedIn(text, entries) {
  const words = wordsOf(text);
  return entries.filter(({ key }) => key && words.has(key));
}

/** The entries of a .bib whose keys stand in a draft; the others are not sent. @param {string} draft @param {string} bib */
export function bibliographyOf(draft, bib) {
  return namedIn(draft, entriesOf(bib, "bib")).map((entry) => entry.source).join("\n");
}

/**
 * Takes over what a draft cites, in place of what was known before.
 * @param {import("./state.js").Cited[]} cited @param {import("./evidence.js").Source[]} together
 */
export function takeCited(cited, together) {
  state.cites = cited;
  // Without abstracts: the browser keeps these.
  state.together = together.map(({ id, title, year, authors, venue, doi, papers }) => ({ id, title, year, authors, venue, doi, papers }));
  changed("choice");
}

async function findCited() {
  const entries = namedIn(state.text, libraryEntries());
  $("cited_find").disabled = true;
  try {
    const found = await draftText({ name: draftName(state.text), text: state.text }, entries.map((entry) => entry.source).join("\n"));
    takeCited(found.cited, found.usually_cited_together);
    const count = citedIds().length;
    toast(count ? `${count === 1 ? "1 paper" : `${count} papers`} that your text cites: left out` : "This corpus has none of the papers that your text cites");
    if (count) {
      $("cited_summary").focus(); // the button is gone
      again();
    }
  } catch (error) {
    refused(error, findCited);
  }
  $("cited_find").disabled = false;
}

// Of entries whose keys are known to be cited there is nothing to find.
function offer() {
  const known = new Set(state.cites.map(({ key }) => key));
  const count = namedIn(state.text, libraryEntries()).filter(({ key }) => !known.has(key)).length;
  $("cited_offer").hidden = !count;
  $("cited_find").textContent = count === 1 ? "Leave out the paper that my text cites" : `Leave out the ${count} papers that my text cites`;
}

const row = ({ key, title, id }) => el("li", { class: id ? "ticked" : "missing" },
  el("span", { "aria-hidden": "true" }, id ? "✓ " : "– "), title || key, id ? null : el("span", {}, ": not in this corpus"));

function companion(paper, actions) {
  const used = chosenFor(gapInFocus()?.id ?? null).some((one) => one.id === paper.id);
  const says = `${used ? "Used" : "Use"}${actions.where() || " this paper"}`;
  return el("li", { class: "source" }, ...source(paper),
    el("button", { type: "button", class: "small", "aria-label": `${says}: ${paper.title}`, on: { click: () => actions.toggle(paper) } }, used ? `✓ ${says}` : says));
}

function paint(actions) {
  const known = citedIds().length;
  const count = state.cites.length;
  $("cited_box").hidden = !count;
  $("cited_summary").textContent = `My draft cites ${count === 1 ? "1 paper" : `${count} papers`}: ${known} in this corpus`;
  $("cited_list").replaceChildren(...state.cites.map(row));
  $("together").hidden = !state.together.length;
  const focused = [...$("together_list").querySelectorAll("button")].indexOf(document.activeElement);
  $("together_list").replaceChildren(...state.together.map((paper) => companion(paper, actions)));
  if (focused >= 0) $("together_list").querySelectorAll("button")[focused]?.focus();
}

/** @param {{toggle: (paper: {id: string, title: string}) => void, where: () => string, includeCited: () => void}} actions */
export function setUpCited(actions) {
  $("cited_find").addEventListener("click", findCited);
  $("cited_forget").addEventListener("click", () => {
    actions.includeCited();
    $("text").focus();
  });
  when(["library", "answer", "choice"], offer);
  $("library_box").addEventListener("toggle", offer);
  when(["choice", "focus", "draft"], () => paint(actions));
}
