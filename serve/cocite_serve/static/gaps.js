// The gaps of a text: where a citation is missing.

// As GAP_PATTERN of cocite/drafts/gaps.py, which a test compares: both count the same gaps.
const MISSING = String.raw`\?{1,9}|cite?|todo|tbd|missing|xxx`;
const SPACE = String.raw`[ \t\r\n\xa0]`;
const NOTES = String.raw`(?:\[[^\[\]{}]{0,200}\]){0,2}`;
const MISSING_KEYS = String.raw`\{(?:${SPACE}{0,9}|(?:[^{},]{0,200},){0,30}${SPACE}{0,9}(?:${MISSING})${SPACE}{0,9}`
  + String.raw`(?:,[^{},]{0,200}){0,30})\}`;
export const GAP_PATTERN = [
  String.raw`\[${SPACE}{0,9}CIT${SPACE}{0,9}\]`,
  String.raw`(?<![A-Za-z0-9_])TARGETCIT(?![A-Za-z0-9_])`,
  String.raw`\[${SPACE}{0,9}@?\?{1,9}${SPACE}{0,9}\]`,
  String.raw`\[@\]`,
  String.raw`[(\[]${SPACE}{0,9}citations?${SPACE}{1,9}needed${SPACE}{0,9}[)\]]`,
  String.raw`\\(?!no)[a-z]{0,12}cites(?:\([^(){}]{0,200}\)){0,2}(?:${NOTES}\{[^{}]{0,200}\}){0,9}?`
    + String.raw`${NOTES}${MISSING_KEYS}(?:${NOTES}\{[^{}]{0,200}\}){0,9}`,
  String.raw`\\(?!no|set)[a-z]{0,12}cite(?!style|titlefont)[a-z]{0,12}\*?${NOTES}${MISSING_KEYS}`,
  String.raw`\\todo(?:\[[^\[\]{}]{0,200}\])?`
    + String.raw`\{(?=[^{}]{0,200}?(?<![A-Za-z0-9_])(?:cit(?:e|ation|ations|es|ing)?|refs?|references?)(?![A-Za-z0-9_]))`
    + String.raw`[^{}]{0,200}\}`,
].join("|");

const PLAIN_TITLE = 250;

/**
 * @typedef {{id: number, start: number, end: number, mark: string}} Gap
 * A gap of a text: its place in UTF-16 units, and what marks it. The id stays while the text around it is edited.
 */

/** Whether a key of a citation is still to be found. @param {string} key */
export const isMissing = (key) => new RegExp(`^(?:${MISSING})?$`, "i").test(key.trim());

/** @param {string} text @returns {{start: number, end: number, mark: string}[]} The gaps in their order. */
export function findGaps(text) {
  return [...text.matchAll(new RegExp(GAP_PATTERN, "gi"))].map((match) =>
    ({ start: match.index, end: match.index + match[0].length, mark: match[0] }));
}

let lastId = 0;

/** An id for a place in the text that no other has. */
export const newId = () => ++lastId;

/**
 * The gaps of an edited text. One in the unchanged beginning or end of the text keeps its id.
 * @param {{text: string, gaps: Gap[]}} before
 * @param {string} text
 * @returns {Gap[]}
 */
export function followGaps(before, text) {
  const shorter = Math.min(before.text.length, text.length);
  let head = 0;
  while (head < shorter && before.text[head] === text[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.text.at(-1 - tail) === text.at(-1 - tail)) tail += 1;
  const shift = text.length - before.text.length;
  const known = new Map();
  for (const gap of before.gaps) {
    if (gap.end <= head) known.set(gap.start, gap);
    else if (gap.start >= before.text.length - tail) known.set(gap.start + shift, gap);
  }
  return findGaps(text).map((gap) => {
    const same = known.get(gap.start);
    return { ...gap, id: same?.mark === gap.mark ? same.id : newId() };
  });
}

/** Whether a text has a word beside its gaps and its commands of LaTeX. @param {string} text */
export function hasWords(text) {
  return /\p{L}/u.test(text.replace(new RegExp(GAP_PATTERN, "gi"), " ").replaceAll(/\\[a-zA-Z]+/g, " "));
}

/** How the server reads a text, in words. @param {string} text @param {number} count Gaps in it. */
export function reading(text, count) {
  if (!text.trim()) return "";
  if (count) return count === 1 ? "Reads as a passage with one gap" : `Reads as a passage with ${count} gaps`;
  const [first, ...rest] = text.trim().split("\n");
  const short = first.trim().length <= PLAIN_TITLE && !/^(\\[a-zA-Z]|%|##)/.test(first);
  if (/\\title\{/.test(text) || (short && rest.join("").trim())) return "Reads as a title and abstract";
  return short && !rest.length && !/[.?!]$/.test(first.trim()) ? "Reads as a title" : "Reads as an abstract";
}
