// The text field, with the gaps marked and numbered behind its letters.

import { $, el } from "./dom.js";
import { followGaps, reading } from "./gaps.js";
import { placesOf } from "./sentences.js";
import { changed, chosenFor, gapInFocus, isSuggested, markedGaps, nameOf, state, when } from "./state.js";

/** Takes the field's text over: finds its gaps anew, and keeps the focus on the gap that had it. */
export function read() {
  const text = $("text").value;
  const inFocus = gapInFocus()?.id;
  const gaps = followGaps({ text: state.text, gaps: markedGaps() }, text);
  state.gaps = [...gaps, ...placesOf(text, state.suggested.filter((one) => one.shown), gaps)].sort((one, other) => one.start - other.start);
  state.text = text;
  const place = state.gaps.findIndex((gap) => gap.id === inFocus);
  state.focus = place >= 0 ? place : Math.max(0, Math.min(state.focus, state.gaps.length - 1));
  const ids = new Set(state.gaps.map((gap) => gap.id));
  // The papers of a gap that was deleted stay selected.
  for (const one of state.chosen) if (one.gap !== null && !ids.has(one.gap)) one.gap = null;
  // What steered its list steers no other.
  state.marks = state.marks.filter((one) => one.gap === null || ids.has(one.gap));
  changed("draft");
}

/** @param {string} text */
export function write(text) {
  $("text").value = text;
  read();
}

/**
 * Puts a text in the place of another as typing does, so that the browser's undo takes it back.
 * @param {number} start @param {number} end @param {string} text
 */
export function replace(start, end, text) {
  const area = $("text");
  area.focus({ preventScroll: true });
  area.setSelectionRange(start, end);
  if (!document.execCommand("insertText", false, text)) area.setRangeText(text, start, end, "end");
  read();
}

/** Moves the focus to a gap. @param {number} place */
export function focusGap(place) {
  if (!state.gaps.length) return;
  state.focus = (place + state.gaps.length) % state.gaps.length;
  changed("focus");
  $("sheet").querySelector("mark.current")?.scrollIntoView({ block: "nearest" });
}

function paint() {
  const pieces = [];
  let at = 0;
  state.gaps.forEach((gap, place) => {
    const count = chosenFor(gap.id).length;
    const from = gap.from ?? gap.start;
    const [kind, number] = nameOf(gap).split(" ");
    pieces.push(state.text.slice(at, from), el("mark", {
      class: [isSuggested(gap) && "suggested", place === state.focus && "current"].filter(Boolean).join(" ") || false,
      "data-number": `${number}${kind === "gap" ? "" : "?"}${count ? "✓" : ""}`,
    }, state.text.slice(from, gap.end)));
    at = gap.end;
  });
  $("backdrop").replaceChildren(...pieces, `${state.text.slice(at)}\n`);
  const says = reading(state.text, markedGaps().length);
  if ($("reading").textContent !== says) $("reading").textContent = says; // said anew by screen readers
  const focused = [...$("gaps").children].indexOf(document.activeElement);
  $("gaps").hidden = !markedGaps().length;
  $("gaps").replaceChildren(...markedGaps().map((gap, number) => {
    const count = chosenFor(gap.id).length;
    const place = state.gaps.indexOf(gap);
    return el("button", { type: "button", class: "chip", "aria-pressed": String(place === state.focus), on: { click: () => focusGap(place) } },
      `Gap ${number + 1}`, count ? el("span", {}, count === 1 ? ": 1 paper" : `: ${count} papers`) : null);
  }));
  if (focused >= 0) $("gaps").children[focused]?.focus();
}

function insertMark() {
  const { selectionStart: at, selectionEnd: end, value } = $("text");
  replace(at, end, at > 0 && !/\s$/.test(value.slice(0, at)) ? " [CIT]" : "[CIT]");
}

export function setUpEditor() {
  when(["draft", "focus", "choice"], paint);
  $("text").addEventListener("input", read);
  $("text").addEventListener("click", () => {
    const { selectionStart: at, selectionEnd: end } = $("text");
    const place = state.gaps.findIndex((gap) => (gap.from ?? gap.start) <= at && at <= gap.end);
    if (at === end && place >= 0) focusGap(place);
  });
  $("insert").addEventListener("click", insertMark);
  paint();
}
