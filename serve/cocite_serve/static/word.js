// The author's .docx with citations: kept in memory while its text is on the page, and sent again with what was chosen.

import { finishedDraft } from "./api.js";
import { $, save, toast } from "./dom.js";
import { inPageWords } from "./fields.js";
import { aboutFile } from "./file_text.js";
import { problem } from "./results.js";
import { taken } from "./search.js";
import { changed, chosenFor, markedGaps, state, when } from "./state.js";
import { choice } from "./storage.js";
import { STYLES, styleOptions } from "./styles.js";

const AROUND = 30; // characters before a gap, or behind it, by which it is known again
const TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

/**
 * @typedef {{id: number, before: string, after: string}} FileGap A gap of the file, by its id in the text.
 * @type {{name: string, base64: string, words: Set<string>, gaps: FileGap[]} | null} With the words of its text as it
 * came; `gaps` is empty where the page does not see all of them.
 */
let word = null;
let running = false;

const wordsOf = (text) => new Set(text.toLowerCase().match(/\p{L}{2,}/gu));
const around = ({ start, end }) => ({ before: state.text.slice(Math.max(0, start - AROUND), start), after: state.text.slice(end, end + AROUND) });
const placeOf = ({ id }) => markedGaps().findIndex((gap) => gap.id === id);

/** Whether the text is still that of the file: at least half of its words are there. */
function isOfFile() {
  const now = wordsOf(state.text);
  return 2 * [...word.words].filter((one) => now.has(one)).length >= word.words.size;
}

/** Whether two gaps have the same words beside them: on both sides, or on one that is long enough. */
function isSame(one, other) {
  const same = ["before", "after"].filter((side) => one[side] === other[side]);
  return same.length === 2 || same.some((side) => one[side].length === AROUND);
}

/** Whether a gap has become a citation that is still in the text. */
const isFilled = (gap) => placeOf(gap) < 0 && state.filled.has(gap.id) && state.text.includes(state.filled.get(gap.id).citation);

/** Papers for a gap of the file: chosen, or put into the text in its place already. @param {FileGap} gap */
function papersFor(gap) {
  if (placeOf(gap) >= 0) return chosenFor(gap.id).map((one) => one.id);
  return isFilled(gap) ? state.filled.get(gap.id).papers.map((one) => one.id) : [];
}

/** The gaps of the file that have papers, by their numbers in it. @returns {{gap: number, papers: string[]}[]} */
const choices = () => word.gaps.map((gap, at) => ({ gap: at + 1, papers: [...new Set(papersFor(gap))] })).filter((one) => one.papers.length);

/**
 * What stands in the text in place of gaps of the file, or of the file of a visit before, by which the same file gets it again.
 * @returns {(import("./state.js").Filling & import("./state.js").Place)[]}
 */
export function fillings() {
  const now = (word?.gaps ?? []).map((gap, at) => (isFilled(gap) ? { ...state.filled.get(gap.id), at, before: gap.before, after: gap.after } : null));
  const earlier = [...state.filled].filter(([id, one]) => id < 0 && state.text.includes(one.citation)).map(([, one]) => one);
  return [...earlier, ...now.filter(Boolean)];
}

// The file's text has its gaps open again: what was put into them is chosen for them, and counts as put in after an undo.
function fillAgain(earlier) {
  const open = new Set(word.gaps);
  for (const { papers, citation, ...place } of earlier) {
    const like = [...open].filter((gap) => isSame(gap, place));
    const gap = like.find((one) => word.gaps.indexOf(one) === place.at) ?? like[0];
    if (!gap) continue;
    open.delete(gap);
    state.filled.set(gap.id, { papers, citation });
    const known = chosenFor(gap.id).map((one) => one.id);
    state.chosen.push(...papers.filter(({ id }) => !known.includes(id)).map((paper) => ({ ...paper, gap: gap.id })));
  }
}

/**
 * Takes the file over whose text was put into the field, or lets the one before go.
 * @param {{name: string, base64: string} | null} file A .docx. @param {number} count Gaps that the server found in it.
 * @param {ReturnType<typeof fillings>} earlier Of the text before.
 */
export function takeWord(file, count = 0, earlier = []) {
  fail("");
  const gaps = count === markedGaps().length ? markedGaps().map((gap) => ({ id: gap.id, ...around(gap) })) : [];
  word = file && count ? { ...file, words: wordsOf(state.text), gaps } : null;
  if (word) fillAgain(earlier);
  changed("draft");
  changed("choice");
}

// Undo brings a gap back with another id: it is known by the words beside it, and by the gaps of the file around it.
function follow() {
  const known = new Set(word.gaps.map(({ id }) => id));
  let from = 0;
  word.gaps.forEach((gap, at) => {
    const place = placeOf(gap);
    if (place >= 0) {
      from = place + 1;
      return;
    }
    const next = word.gaps.slice(at + 1).map(placeOf).find((one) => one >= 0) ?? markedGaps().length;
    const again = markedGaps().slice(from, next).find((one) => !known.has(one.id) && isSame(gap, around(one)));
    if (!again) return;
    if (state.filled.has(gap.id)) state.filled.set(again.id, state.filled.get(gap.id)); // redo fills it again
    known.add(again.id);
    gap.id = again.id;
    from = placeOf(gap) + 1;
  });
}

const gapsInWords = (count) => (count === 1 ? "1 gap" : `${count} gaps`);

function said(filled) {
  const count = word.gaps.length;
  if (!count) return "Its gaps are not those of the text here, so that it cannot be finished: copy the finished text instead.";
  if (!filled) return "Papers that you use for its gaps are cited in a copy of the file.";
  if (filled === count) return count === 1 ? "Its gap has papers." : `All of its ${count} gaps have papers.`;
  const others = count - filled === 1 ? "The other one stays as it is." : "The others stay as they are.";
  return `${filled} of its ${count} gaps ${filled === 1 ? "has" : "have"} papers. ${others}`;
}

function paint() {
  if (word) follow();
  const here = word && isOfFile();
  $("word").hidden = !here;
  if (!here) return;
  $("word_name").textContent = word.name;
  const says = said(choices().length);
  if ($("word_says").textContent !== says) $("word_says").textContent = says;
  $("word_actions").hidden = !word.gaps.length;
}

function fail(sentence) {
  $("word_error").hidden = !sentence;
  $("word_error").textContent = sentence;
}

async function download() {
  if (running) return;
  fail("");
  const file = word;
  const chosen = choices();
  if (!chosen.length) {
    fail("Use a paper for one of its gaps first: then it is cited in the file.");
    return;
  }
  running = true;
  $("word_download").textContent = "Finishing…";
  try {
    const { files, unfilled } = await finishedDraft({ name: file.name, base64: file.base64 }, chosen, $("word_style").value);
    const name = file.name.replace(/(\.\w+)$/, "-cited$1");
    save(name, Uint8Array.from(atob(files[0].base64), (sign) => sign.charCodeAt(0)), TYPE);
    taken([...new Set(chosen.flatMap((one) => one.papers))]);
    toast(`${name} downloaded${unfilled.length ? `; ${gapsInWords(unfilled.length)} ${unfilled.length === 1 ? "is" : "are"} still open` : ""}`);
  } catch (error) {
    if (error.status === 401) problem(error, download);
    else fail(inPageWords(aboutFile(error.message.replace(/^chosen[\w.]*: /, ""), file.name)));
  } finally {
    running = false;
    $("word_download").textContent = "Download finished .docx";
  }
}

export function setUpWord() {
  $("word_style").append(...styleOptions((name) => name, (label) => label));
  const style = choice("reference_style");
  if (Object.hasOwn(STYLES, style)) $("word_style").value = style;
  $("word_style").addEventListener("change", () => choice("reference_style", $("word_style").value));
  $("word_download").addEventListener("click", download);
  when(["draft", "choice"], paint);
  when(["choice"], () => fail("")); // it was about the choices before
}
