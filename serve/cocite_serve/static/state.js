// What the page knows, and who wants to hear when it changes.

/**
 * @typedef {{id: string, title: string, gap: number | null}} Chosen A paper that is to be cited at a gap; null: anywhere.
 * @typedef {{id: string, title: string, likes: boolean, gap: number | null}} Mark A paper whose like is wanted, or not
 * wanted, in the list of a gap; null: in every list.
 * @typedef {{papers: {id: string, title: string}[], citation: string}} Filling
 * @typedef {{at: number, before: string, after: string}} Place Of a gap in a file: its number from 0, and the words beside it.
 * @typedef {{key: string, title: string, id: string | null}} Cited A key of the draft; without an id the corpus lacks it.
 */
export const state = {
  text: "",
  /** @type {import("./sentences.js").Suggested[]} Sentences that seem to need a citation, those too that the text has no more. */
  suggested: [],
  /** @type {import("./api.js").Quality | null} How often they are right, where that is known. */
  quality: null,
  /** @type {import("./gaps.js").Gap[]} Of the text, and of the suggested sentences that it has, in their order. */
  gaps: [],
  /** The gap in focus, by its place in `gaps`. */
  focus: 0,
  /** The answer that the cards show, and what was asked for it. */
  answer: null,
  request: null,
  /** Of which suggestion the answer is, as "suggestion 1 of 2"; of a gap or a text "". */
  suggestion: "",
  /** The papers of the answer whose cards stand on the page, in their order. */
  shown: [],
  /** @type {Chosen[]} */
  chosen: [],
  /** Ids of papers whose key was put into the text, in that order. */
  cited: new Set(),
  /** @type {string[]} Keys of the text that were not put there from here, and that those papers' keys had to differ from. */
  taken: [],
  /**
   * What was put into the text in place of a gap, by its id; of a visit before, by a number below zero.
   * @type {Map<number, Filling & Partial<Place>>}
   */
  filled: new Map(),
  /** @type {Mark[]} */
  marks: [],
  /** @type {Cited[]} What the draft cites, as far as it is known. */
  cites: [],
  /** @type {import("./evidence.js").Source[]} Papers that others cite together with those. */
  together: [],
  /** Papers left out: id -> title. */
  excluded: new Map(),
  /** Tokens of answers with papers of two releases: id of the paper -> token. */
  tokens: new Map(),
  /** Of the corpus, as far as it is known. */
  newest: "",
  corpusKnown: false,
};

const bus = new EventTarget();

/** @param {"draft" | "focus" | "choice" | "answer" | "library" | "shown"} what */
export const changed = (what) => bus.dispatchEvent(new Event(what));

/** @param {string[]} events @param {() => void} run */
export function when(events, run) {
  for (const event of events) bus.addEventListener(event, run);
}

/** The gap in focus; undefined in a text without gaps. */
export const gapInFocus = () => state.gaps[state.focus];

/** Whether a gap is the end of a suggested sentence: no mark of the author stands there. */
export const isSuggested = (gap) => gap.probability !== undefined;

/** The gaps that the author marked. */
export const markedGaps = () => state.gaps.filter((gap) => !isSuggested(gap));

const alike = (gap) => state.gaps.filter((one) => isSuggested(one) === isSuggested(gap));

/** What a gap is called: "gap 2", or "suggestion 1". */
export const nameOf = (gap) => `${isSuggested(gap) ? "suggestion" : "gap"} ${alike(gap).indexOf(gap) + 1}`;

/** What it is called among the others: "suggestion 1 of 2". */
export const nameAmong = (gap) => `${nameOf(gap)} of ${alike(gap).length}`;

/** Papers chosen for a gap; null: for the text as a whole. @param {number | null} gap */
export const chosenFor = (gap) => state.chosen.filter((one) => one.gap === gap);

/** The marks that steer the list of the gap in focus. */
export const marksInForce = () => state.marks.filter(({ gap }) => gap === null || gap === gapInFocus()?.id);

/** Ids of the papers that the draft cites and the corpus has: they are left out. */
export const citedIds = () => [...new Set(state.cites.map(({ id }) => id).filter(Boolean))];

/** Ids of all papers to export: first those with a key in the text, so that their keys stay. */
export function selectedIds() {
  return [...new Set([...state.cited, ...state.chosen.map((one) => one.id)])];
}
