// Puts citations into the text: \cite{key} of LaTeX or [@key] of Markdown.

import { $, copyText, titleChip, toast } from "./dom.js";
import { focusGap, replace } from "./editor.js";
import { isMissing } from "./gaps.js";
import { keysOf } from "./keys.js";
import { refused } from "./results.js";
import { taken } from "./search.js";
import { changed, chosenFor, gapInFocus, isSuggested, markedGaps, nameOf, selectedIds, state, when } from "./state.js";
import { choice } from "./storage.js";

const CITE = /^\\[a-z]*cite/i;

/**
 * A citation in place of a gap's mark. A command such as \citep[see][]{lee99,?} stays, with the keys that
 * it has, and gets the new ones.
 * @param {string} mark @param {string[]} keys @param {"latex" | "markdown"} style
 */
export function citation(mark, keys, style) {
  if (CITE.test(mark)) {
    let filled = false;
    return mark.replaceAll(/\{([^{}]*)\}/g, (group, inner) => {
      const given = inner.split(",");
      if (filled || !lacksKey(given)) return group;
      filled = true;
      return `{${withKeys(given, keys)}}`;
    });
  }
  if (mark.startsWith("\\") || (style === "latex" && !mark.startsWith("[@"))) return `\\cite{${keys.join(",")}}`;
  return `[${keys.map((key) => `@${key}`).join("; ")}]`;
}

/** A citation for a place in the text; at the end of a suggested sentence a space comes before it. */
const citationAt = (gap, keys) => (gap && isSuggested(gap) ? " " : "") + citation(gap?.mark ?? "", keys, $("style").value);

// Whether one of the keys is missing; a comma too many is no gap.
function lacksKey(given) {
  const missing = given.filter(isMissing);
  return missing.some((key) => key.trim()) || missing.length === given.length;
}

// The keys of a command, with new ones in the place of the first that is missing.
function withKeys(given, keys) {
  const at = given.findIndex(isMissing);
  const known = (part) => part.map((key) => key.trim()).filter((key) => !isMissing(key));
  const all = [...known(given.slice(0, at)), ...keys, ...known(given.slice(at))];
  return [...new Set(all)].join(given.some((key) => key.startsWith(" ")) && given.length > 1 ? ", " : ",");
}

// The papers chosen for a gap; without one, those for the text that are not in it yet.
function toInsert(gap) {
  return gap ? chosenFor(gap.id) : chosenFor(null).filter((one) => !state.cited.has(one.id));
}

/** Puts the papers chosen for the gap in focus into the text, and goes on to the next gap. */
export async function insert() {
  const gap = gapInFocus();
  const papers = toInsert(gap);
  if (!papers.length) {
    toast("Use a paper first: then its key is inserted here.");
    return;
  }
  try {
    const keys = await keysOf(papers.map((one) => one.id));
    const now = state.gaps.find((one) => one.id === gap?.id);
    // While the keys were fetched, the gap was edited away, or the papers were inserted or unselected.
    if ((gap && !now) || !papers.every((one) => state.chosen.includes(one))) return;
    for (const one of papers) state.cited.add(one.id);
    state.chosen = state.chosen.filter((one) => !papers.includes(one));
    const text = citationAt(now, keys);
    if (now) replace(now.start, now.end, text);
    else replace($("text").selectionEnd, $("text").selectionEnd, text);
    if (gap) state.filled.set(gap.id, { papers: papers.map(({ id, title }) => ({ id, title })), citation: text });
    changed("choice");
    taken(papers.map((one) => one.id));
    toast(`Inserted ${text.trim()}`);
    if (state.gaps.length) focusGap(state.focus);
  } catch (error) {
    refused(error, insert);
  }
}

/** Copies the text, with each gap filled for which papers were chosen. The draft on the page stays as it is. */
export async function copyFinished() {
  try {
    // As they are now: the text may be edited while the keys are fetched.
    let { text } = state;
    const filled = state.gaps.map((gap) => ({ ...gap, ids: chosenFor(gap.id).map((one) => one.id) }))
      .filter((gap) => gap.ids.length);
    const open = markedGaps().length - filled.filter((gap) => !isSuggested(gap)).length;
    const ids = [...new Set(filled.flatMap((gap) => gap.ids))];
    const all = selectedIds();
    const found = ids.length ? await keysOf(all) : [];
    const keys = new Map(all.map((id, place) => [id, found[place]]));
    for (const gap of filled.reverse()) {
      const own = gap.ids.map((id) => keys.get(id));
      text = text.slice(0, gap.start) + citationAt(gap, own) + text.slice(gap.end);
    }
    await copyText(text);
    taken(ids);
    toast(open ? `Text copied; ${open === 1 ? "1 gap is" : `${open} gaps are`} still open` : "Finished text copied");
  } catch (error) {
    refused(error, copyFinished);
  }
}

function paint() {
  const gap = gapInFocus();
  const papers = toInsert(gap);
  $("chosen").hidden = !papers.length;
  $("chosen_list").replaceChildren(...papers.map((one) => titleChip(one.title, `Do not use ${one.title}`, () => {
    state.chosen = state.chosen.filter((other) => other !== one);
    changed("choice");
  })));
  $("chosen_where").textContent = gap ? `For ${nameOf(gap)}` : "For the text";
  $("put").textContent = gap ? `Insert at ${nameOf(gap)}` : "Insert at the cursor";
}

export function setUpCiting() {
  const style = choice("style");
  if (style === "latex" || style === "markdown") $("style").value = style;
  $("style").addEventListener("change", () => choice("style", $("style").value));
  $("put").addEventListener("click", insert);
  $("finish").addEventListener("click", copyFinished);
  when(["draft", "focus", "choice"], paint);
}
