// Finds the sentences that seem to need a citation in the text, as it is edited.

const END = /[.?!:;…](?:['"’”)\]}])*$/; // of a sentence
const CLOSING = /^(?:['"’”)\]}]|[*_]{1,3})*/; // braces and signs behind one that ends without such a sign
const CITES = /^[\s~]*(?:\\[a-zA-Z]*cite|\[@|\[\s*CIT)/i;

/**
 * @typedef {{id: number, sentence: string, source: string, probability: number, shown: boolean}} Suggested
 * A sentence that seems to need a citation: its words, its part of the text, the probability that one like it cites, and
 * whether the page shows it.
 */

/**
 * The sentences of a server's answer, each with its part of the text; without those whose place is not known.
 * @param {string} text Of the answer.
 * @param {{sentence: string, probability: number, start: number | null, end: number | null}[]} suggestions
 * @returns {{sentence: string, source: string, probability: number}[]}
 */
export function withSources(text, suggestions) {
  const signs = [...text]; // the server counts characters, of which some are two units of a string here
  return suggestions.filter(({ start, end }) => Number.isInteger(start) && Number.isInteger(end))
    .map(({ sentence, probability, start, end }) => ({ sentence, probability, source: signs.slice(start, end).join("") }));
}

/**
 * Sentences as places of a text where a citation is missing: an empty gap at the end of each, before the sign that ends
 * it. One that is not there, or that has a gap or a citation by now, has no place.
 * @param {string} text @param {Suggested[]} suggested In their order. @param {import("./gaps.js").Gap[]} gaps Of the text.
 * @returns {(import("./gaps.js").Gap & Suggested & {from: number})[]} `from` is where the sentence begins.
 */
export function placesOf(text, suggested, gaps) {
  const behind = new Map(); // source -> where it is looked for: a text may have a sentence twice
  return suggested.flatMap((one) => {
    const from = text.indexOf(one.source, behind.get(one.source) ?? 0);
    if (from < 0) return [];
    const last = from + one.source.length;
    behind.set(one.source, last);
    const end = END.exec(one.source)?.index;
    const at = end === undefined ? last + CLOSING.exec(text.slice(last))[0].length : from + end;
    const known = CITES.test(text.slice(last)) || CITES.test(text.slice(at)) || gaps.some((gap) => gap.start < at + 2 && gap.end > from);
    return known ? [] : [{ ...one, from, start: at, end: at, mark: "" }];
  });
}
