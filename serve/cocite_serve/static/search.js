// Asks the server for the papers of the gap in focus.

import { click, recommend } from "./api.js";
import { $ } from "./dom.js";
import { clearFieldErrors, fieldError, numbersFit } from "./fields.js";
import { hasWords } from "./gaps.js";
import { busy, problem, show, showNothing } from "./results.js";
import { changed, citedIds, gapInFocus, isSuggested, markedGaps, marksInForce, nameAmong, state } from "./state.js";

const KEPT = 40;
const MOST_LEFT_OUT = 500; // that a request may name
const answers = new Map();
let running = null;

const list = (text, separator) => text.split(separator).map((part) => part.trim()).filter(Boolean);
const whole = (id) => ($(id).value.trim() === "" ? undefined : Number($(id).value));

// A suggested sentence gets the mark of a gap, in what is sent alone.
function passage() {
  const { text } = state;
  const gap = gapInFocus();
  const marked = markedGaps();
  if (!gap || !isSuggested(gap)) return { text, gap: Math.max(0, marked.indexOf(gap)) };
  return { text: `${text.slice(0, gap.start)} [CIT]${text.slice(gap.start)}`, gap: marked.filter((one) => one.start < gap.start).length };
}

// Marked papers alone are enough to ask with: a text without words beside them is not sent.
function fromForm() {
  const request = hasWords(state.text) ? passage() : {};
  for (const [name, likes] of [["like", true], ["dislike", false]]) {
    const ids = marksInForce().filter((one) => one.likes === likes).map((one) => one.id);
    if (ids.length) request[name] = ids;
  }
  for (const id of ["top_k", "depth", "year", "year_from", "year_to"]) request[id] = whole(id);
  request.candidates = $("later").checked ? "all" : "older";
  const leftOut = new Set([...list($("exclude").value, /[,;\s]+/), ...state.excluded.keys()]);
  const room = Math.max(MOST_LEFT_OUT - leftOut.size, 0);
  request.exclude = [...leftOut, ...citedIds().filter((id) => !leftOut.has(id)).slice(0, room)];
  request.exclude_authors = list($("exclude_authors").value, /[;\n]+/);
  return request;
}

// Answers of this visit: going back to a gap costs nothing.
async function answerTo(request, signal) {
  const name = JSON.stringify(request);
  if (!answers.has(name)) {
    answers.set(name, await recommend(request, signal));
    if (answers.size > KEPT) answers.delete(answers.keys().next().value);
  }
  return answers.get(name);
}

/**
 * Asks for papers, unless the form says nothing to ask with; what was found before stays where that fails.
 * @returns {Promise<boolean>} Whether the results have something new; an error beside a field is not there.
 */
export async function find() {
  stop();
  clearFieldErrors();
  const liked = marksInForce().some((one) => one.likes);
  if (!liked && !state.text.trim()) {
    fieldError("text", "Paste some text first.");
    return false;
  }
  if (!liked && !hasWords(state.text)) {
    fieldError("text", "Write a few words of the claim: there is nothing to search with beside the gap.");
    return false;
  }
  if (!numbersFit()) return false;
  const mine = new AbortController();
  const request = fromForm();
  const gap = gapInFocus();
  const suggestion = gap && isSuggested(gap) ? nameAmong(gap) : "";
  let told = true;
  running = mine;
  busy(true);
  try {
    const answer = await answerTo(request, mine.signal);
    if (running !== mine) return false;
    state.request = request;
    state.suggestion = suggestion;
    state.answer = answer;
    for (const { id } of answer.papers) {
      if (answer.interleaved) state.tokens.set(id, answer.interleaved);
      else state.tokens.delete(id);
    }
    show();
    changed("answer");
  } catch (error) {
    if (error.name === "AbortError" || running !== mine) return false;
    told = problem(error, find);
  }
  running = null;
  busy(false);
  return told;
}

/** Asks again where something was found before, or is looked for. */
export function again() {
  if (state.answer || running) find();
}

/** Asks at the author's own request: with nothing remembered. */
export function findAnew() {
  answers.clear();
  return find();
}

/** Gives the request up that is on its way. */
function stop() {
  running?.abort();
  if (running) busy(false);
  running = null;
}

/** Takes the answer off the page, and gives up the request that is on its way: nothing is asked again before the author asks. */
export function forgetAnswer() {
  stop();
  state.answer = state.request = null;
  showNothing();
}

/** Papers of a list of two models: which of them gave a paper, the server knows. @param {string[]} ids */
export function taken(ids) {
  for (const id of ids) if (state.tokens.has(id)) click(state.tokens.get(id), id);
}
