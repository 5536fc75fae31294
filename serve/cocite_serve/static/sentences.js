// Finds sentences, of which the words alone are known, in the text that they came from.

const BETWEEN = String.raw`(?:\\[a-zA-Z]+\*?|[^\p{L}\p{N}]){1,40}?`; // between words: spaces, signs, commands of LaTeX
const FIRST = 8; // words that are enough where a formula or a command stands between the others
const REST = String.raw`(?:(?!\n\s*\n)[^]){0,600}?(?=[.?!](?:\s|$))`;
const CLOSING = /^[^\s.?!:;,\p{L}\p{N}]*/u;
const CITES = /^[\s~]*(?:\\[a-zA-Z]*cite|\[@|\[\s*CIT)/i;

/**
 * @typedef {{id: number, sentence: string, probability: number}} Suggested
 * A sentence that seems to need a citation, and the probability that one like it cites.
 */

function matchOf(text, sentence) {
  const words = sentence.match(/[\p{L}\p{N}]+/gu) ?? [];
  if (!words.length) return null;
  const pattern = (some, rest) => new RegExp(String.raw`(?<![\p{L}\p{N}])${some.join(BETWEEN)}(?![\p{L}\p{N}])${rest}`, "u");
  return pattern(words, "").exec(text) ?? (words.length > FIRST ? pattern(words.slice(0, FIRST), REST).exec(text) : null);
}

/**
 * Sentences as places of a text where a citation is missing: an empty gap at the end of each, before the sign that ends
 * it. One that is not there, or that has a gap or a citation by now, has no place.
 * @param {string} text @param {Suggested[]} suggested @param {import("./gaps.js").Gap[]} gaps Of the text.
 * @returns {(import("./gaps.js").Gap & Suggested & {from: number})[]} `from` is where the sentence begins.
 */
export function placesOf(text, suggested, gaps) {
  return suggested.flatMap((one) => {
    const match = matchOf(text, one.sentence);
    if (!match) return [];
    const from = match.index;
    const last = from + match[0].length;
    const at = last + CLOSING.exec(text.slice(last))[0].length;
    const known = CITES.test(text.slice(last)) || CITES.test(text.slice(at)) || gaps.some((gap) => gap.start < at + 2 && gap.end > from);
    return known ? [] : [{ ...one, from, start: at, end: at, mark: "" }];
  });
}
