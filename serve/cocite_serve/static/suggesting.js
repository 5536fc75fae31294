// Asks which sentences seem to need a citation, and lists them: each has papers as a gap has, or is dismissed.

import { suggestedSentences } from "./api.js";
import { percent } from "./card.js";
import { $, el } from "./dom.js";
import { focusGap, read } from "./editor.js";
import { clearFieldErrors, fieldError, inPageWords } from "./fields.js";
import { draftName } from "./file_text.js";
import { hasWords, newId } from "./gaps.js";
import { placesOf, withSources } from "./sentences.js";
import { problem } from "./results.js";
import { again, find } from "./search.js";
import { chosenFor, gapInFocus, isSuggested, markedGaps, nameOf, state, when } from "./state.js";

const MOST = 10_000; // sentences that are asked for: all
const AT_ONCE = 10; // that are shown, and with each press of the button more

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
    const { text, suggestions, suggestion_quality: quality } = await suggestedSentences({ name: draftName(state.text), text: state.text }, MOST);
    state.suggested = withSources(text, suggestions).map((one) => ({ ...one, id: newId(), shown: false }));
    state.quality = quality;
    told = "No sentence seems to need a citation.";
    showMore();
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

// The sentences of the text that are not shown.
const waiting = () => placesOf(state.text, state.suggested.filter((one) => !one.shown), markedGaps());

/** Shows the most probable of the sentences that are not shown. */
function showMore() {
  read(); // the text may have been edited while the answer came
  const next = new Set(waiting().sort((one, other) => other.probability - one.probability).slice(0, AT_ONCE).map(({ id }) => id));
  for (const one of state.suggested) if (next.has(one.id)) one.shown = true;
  read();
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

// As Quality.sentence of cocite/systems/citing_sentences/quality.py, which reports have.
function qualitySays({ precision, recall }) {
  const [picked, found] = [precision, recall].map((share) => Math.round(100 * share));
  return `In papers that the model has not seen, ${picked} of 100 sentences that it picks cite; it picks ${found} of 100 that cite.`;
}

function sentencesSay(shown, rest) {
  const count = shown + rest;
  const may = `${count === 1 ? "One sentence" : `${count} sentences`} may need a citation`;
  if (!shown) return `${may}.`;
  const which = shown === 1 ? "This is the most probable one" : `These are the ${shown} most probable`;
  return `${may}${rest ? `. ${which}` : ""}, with the probability that such a sentence cites.`;
}

function paint() {
  const all = places();
  const buttons = () => [...$("suggest_list").querySelectorAll("button")];
  const focused = buttons().indexOf(document.activeElement);
  $("suggest_list").replaceChildren(...all.map(row));
  $("suggest_list").hidden = !all.length;
  const rest = waiting().length;
  const says = all.length + rest ? sentencesSay(all.length, rest) : told;
  $("suggest_quality").hidden = !state.quality || !(all.length + rest);
  $("suggest_quality").textContent = state.quality ? qualitySays(state.quality) : "";
  $("suggest_more").textContent = rest === 1 ? "Show the last one" : `Show ${Math.min(rest, AT_ONCE)} more`;
  const onMore = document.activeElement === $("suggest_more");
  $("suggest_rest").hidden = !rest;
  if ($("suggest_says").textContent !== says) $("suggest_says").textContent = says; // said anew by screen readers
  if (onMore && !rest) (buttons()[0] ?? $("suggest")).focus();
  if (focused >= 0) (buttons()[Math.min(focused, buttons().length - 1)] ?? $("suggest")).focus();
}

/** Offers suggestions where the served model has any. @param {boolean} able */
export function offerSuggestions(able) {
  $("suggest_box").hidden = !able;
}

export function setUpSuggesting() {
  $("suggest").addEventListener("click", suggest);
  $("suggest_more").addEventListener("click", showMore);
  when(["draft", "focus", "choice"], paint);
}
