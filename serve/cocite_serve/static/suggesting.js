// Asks which sentences seem to need a citation, and lists them: each has papers as a gap has, or is dismissed.

import { suggestedSentences } from "./api.js";
import { percent } from "./card.js";
import { $, el } from "./dom.js";
import { focusGap, read } from "./editor.js";
import { clearFieldErrors, fieldError, inPageWords } from "./fields.js";
import { draftName } from "./file_text.js";
import { hasWords, newId } from "./gaps.js";
import { problem } from "./results.js";
import { again, find } from "./search.js";
import { chosenFor, gapInFocus, isSuggested, nameOf, state, when } from "./state.js";

const MOST = 10; // sentences

let running = false;
let told = ""; // what the last question brought, where that is no list

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const places = () => state.gaps.filter(isSuggested);

async function suggest() {
  if (running) return;
  clearFieldErrors();
  if (!hasWords(state.text)) {
    fieldError("text", "Paste some text first.");
    return;
  }
  running = true;
  $("suggest").textContent = "Reading…";
  try {
    const found = await suggestedSentences({ name: draftName(state.text), text: state.text }, MOST);
    state.suggested = found.map(({ sentence, probability }) => ({ id: newId(), sentence, probability }));
    told = "No sentence seems to need a citation.";
    read();
    if (places().length) {
      focusGap(state.gaps.findIndex(isSuggested));
      if (!state.answer) find();
    }
  } catch (error) {
    told = "";
    if (error.status === 401) problem(error, suggest);
    else told = inPageWords(error.message.replace(/^(?:files|suggest)[\w.]*: /, ""));
    paint();
  } finally {
    running = false;
    $("suggest").textContent = "Suggest where citations are missing";
  }
}

function dismiss({ id }) {
  const inFocus = gapInFocus()?.id;
  state.suggested = state.suggested.filter((one) => one.id !== id);
  state.chosen = state.chosen.filter((one) => one.gap !== id);
  told = "";
  read();
  if (inFocus !== id) return;
  if (state.gaps.length) focusGap(state.focus);
  else again();
}

function row(place) {
  const name = capital(nameOf(place));
  const count = chosenFor(place.id).length;
  const papers = count ? `: ${count === 1 ? "1 paper" : `${count} papers`}` : "";
  return el("li", {},
    el("button", { type: "button", class: "to-sentence", "aria-pressed": String(place === gapInFocus()),
      title: place.sentence, on: { click: () => focusGap(state.gaps.indexOf(place)) } },
      el("span", { class: "label" }, `${name}, ${percent(place.probability)}${papers}`),
      " ", el("span", { class: "cut" }, place.sentence)),
    el("button", { type: "button", class: "quiet small", "aria-label": `Dismiss ${nameOf(place)}`, on: { click: () => dismiss(place) } }, "Dismiss"));
}

function paint() {
  const all = places();
  const buttons = () => [...$("suggest_list").querySelectorAll("button")];
  const focused = buttons().indexOf(document.activeElement);
  $("suggest_list").replaceChildren(...all.map(row));
  $("suggest_list").hidden = !all.length;
  const says = all.length ? `${all.length === 1 ? "One sentence" : `${all.length} sentences`} may need a citation, with the probability that such a sentence cites.` : told;
  if ($("suggest_says").textContent !== says) $("suggest_says").textContent = says; // said anew by screen readers
  if (focused >= 0) (buttons()[Math.min(focused, buttons().length - 1)] ?? $("suggest")).focus();
}

/** Offers suggestions where the served model has any. @param {boolean} able */
export function offerSuggestions(able) {
  $("suggest_box").hidden = !able;
}

export function setUpSuggesting() {
  $("suggest").addEventListener("click", suggest);
  when(["draft", "focus", "choice"], paint);
}
