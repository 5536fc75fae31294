// The links of a graph: what each paper has to do with the others, and what is drawn of it.

const MOST_DRAWN = 24;

/**
 * @typedef {{cites: number[], citedBy: number[], together: [number, number][]}} Links Of one paper: others by their
 * places, and for those cited together with it how often, most often first.
 * @typedef {{citations: [number, number][], together: [number, number, number][], of: Links[], uncounted: number[]}} Graph
 */

/**
 * @param {string[]} ids Of the papers.
 * @param {import("./api.js").LinksAnswer} answer
 * @returns {Graph} Pairs most often cited together come first.
 */
export function graphOf(ids, { citations, cocitations, uncounted }) {
  const place = new Map(ids.map((id, at) => [id, at]));
  const cites = citations.map(({ citing, cited }) => [place.get(citing), place.get(cited)]);
  const together = cocitations.map(({ first, second, papers }) => [place.get(first), place.get(second), papers])
    .sort((one, other) => other[2] - one[2] || one[0] - other[0] || one[1] - other[1]);
  const of = ids.map(() => ({ cites: [], citedBy: [], together: [] }));
  for (const [one, other] of cites) {
    of[one].cites.push(other);
    of[other].citedBy.push(one);
  }
  for (const [one, other, count] of together) {
    of[one].together.push([other, count]);
    of[other].together.push([one, count]);
  }
  for (const links of of) {
    links.cites.sort((one, other) => one - other);
    links.citedBy.sort((one, other) => one - other);
  }
  return { citations: cites, together, of, uncounted: uncounted.map((id) => place.get(id)) };
}

/** The pairs that are drawn: all of them would hide each other. @param {Graph} graph */
export const drawn = (graph) => graph.together.slice(0, MOST_DRAWN);

/** What pulls papers together in the picture. @param {Graph} graph @returns {[number, number, number][]} */
export function pulls(graph) {
  const most = graph.together[0]?.[2] ?? 1;
  return [...graph.citations.map(([one, other]) => [one, other, 1]),
    ...drawn(graph).map(([one, other, count]) => [one, other, count / most])];
}

const times = (count, one, many) => (count === 1 ? `1 ${one}` : `${count.toLocaleString("en")} ${many}`);

/** What links all the papers, in a sentence. @param {Graph} graph */
export function summaryOf(graph) {
  if (!graph.citations.length && !graph.together.length) return "None of these papers cites another, and no paper cites two of them.";
  const parts = [graph.citations.length ? `${times(graph.citations.length, "citation", "citations")} among them` : "No citation among them"];
  parts.push(graph.together.length ? `${times(graph.together.length, "pair is", "pairs are")} cited together` : "no two are cited together");
  const few = drawn(graph).length < graph.together.length ? `, of which the ${drawn(graph).length} cited most often are drawn` : "";
  return `${parts.join("; ")}${few}.`;
}

/** What links one paper with the others, in words for a screen reader. @param {Links} links */
export function says({ cites, citedBy, together }) {
  const parts = [];
  if (cites.length) parts.push(`cites ${cites.length}`);
  if (citedBy.length) parts.push(`cited by ${citedBy.length}`);
  if (together.length) parts.push(`cited together with ${together.length}`);
  return parts.length ? `${parts.join(", ")} of these` : "linked with none of these";
}
