// Where the papers of a graph stand: years from left to right, linked papers near each other. The same papers and links
// give the same places.

const CELL_WIDTH = 60;
const CELL_HEIGHT = 58;
const LEAST_HEIGHT = 290; // so that lines between few rows come apart
const FULL = 4; // papers of a column, above which a further one is worth its width
const SWEEPS = 12;

/**
 * @typedef {{from: number | null, to: number | null, papers: number[]}} Bin Papers by their places; null: no year.
 * @typedef {{x: number, y: number}} Place Centre of a paper, in pixels.
 */

/**
 * The papers by years, each year for itself where there are columns enough; papers without a year come first.
 * @param {(number | null)[]} years Of the papers. @param {number} most Columns.
 * @returns {Bin[]} Oldest first; the neighbours with the fewest papers are put together.
 */
export function binsOf(years, most) {
  const byYear = new Map();
  years.forEach((year, paper) => byYear.set(year || null, [...(byYear.get(year || null) ?? []), paper]));
  const unknown = byYear.get(null);
  byYear.delete(null);
  const bins = [...byYear].sort(([one], [other]) => one - other).map(([year, papers]) => ({ from: year, to: year, papers }));
  while (bins.length > Math.max(1, most - (unknown ? 1 : 0))) {
    let best = 0;
    const cost = (at) => [bins[at].papers.length + bins[at + 1].papers.length, bins[at + 1].to - bins[at].from];
    for (let at = 1; at < bins.length - 1; at += 1) {
      const [count, span] = cost(at);
      const [least, shortest] = cost(best);
      if (count < least || (count === least && span < shortest)) best = at;
    }
    const [one, other] = bins.slice(best, best + 2);
    bins.splice(best, 2, { from: one.from, to: other.to, papers: [...one.papers, ...other.papers] });
  }
  return unknown ? [{ from: null, to: null, papers: unknown }, ...bins] : bins;
}

// How many columns each bin has: one, and further ones for the fullest while there is room.
function columnsOf(bins, most) {
  const counts = bins.map(() => 1);
  const load = (at) => bins[at].papers.length / counts[at];
  for (let left = most - bins.length; left > 0; left -= 1) {
    const fullest = bins.reduce((best, _, at) => (load(at) > load(best) ? at : best), 0);
    if (load(fullest) <= FULL) break;
    counts[fullest] += 1;
  }
  return counts;
}

/**
 * Places papers on a grid.
 * @param {(number | null)[]} years Of the papers, the best one first.
 * @param {[number, number, number][]} links Two papers by their places in `years`, and a weight above 0.
 * @param {number} width Of the picture, in pixels.
 * @returns {{places: Place[], bins: (Bin & {x: number, left: number, right: number})[], height: number}}
 */
export function layout(years, links, width) {
  const most = Math.max(1, Math.floor(width / CELL_WIDTH));
  const bins = binsOf(years, most);
  const counts = columnsOf(bins, most);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const wide = width / total;
  const columns = bins.flatMap(({ papers }, bin) => Array.from({ length: counts[bin] }, (_, at) =>
    papers.filter((_paper, place) => place % counts[bin] === at)));
  const rows = Math.max(...columns.map((column) => column.length), 1);
  const tall = Math.max(CELL_HEIGHT, Math.min(LEAST_HEIGHT / rows, 1.5 * CELL_HEIGHT));
  const near = years.map(() => []);
  for (const [one, other, weight] of links) {
    near[one].push([other, weight]);
    near[other].push([one, weight]);
  }
  const y = years.map(() => 0);
  const set = (column) => column.forEach((paper, place) => { y[paper] = place - (column.length - 1) / 2; });
  columns.forEach(set);
  // Barycentres (Sugiyama, Tagawa and Toda 1981): each paper moves to the mean height of what it is linked with.
  const mean = (paper) => {
    const sum = near[paper].reduce((so, [, weight]) => so + weight, 0);
    return sum ? near[paper].reduce((so, [other, weight]) => so + weight * y[other], 0) / sum : y[paper];
  };
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const order = sweep % 2 ? columns.toReversed() : columns;
    for (const column of order) {
      const means = new Map(column.map((paper) => [paper, mean(paper)]));
      column.sort((one, other) => means.get(one) - means.get(other) || one - other);
      set(column);
    }
  }
  const places = [];
  columns.forEach((column, at) => column.forEach((paper) => {
    places[paper] = { x: (at + 0.5) * wide, y: (y[paper] + rows / 2) * tall };
  }));
  let left = 0;
  const spans = bins.map((bin, at) => {
    const from = left * wide;
    left += counts[at];
    return { ...bin, left: from, right: left * wide, x: (from + left * wide) / 2 };
  });
  return { places, bins: spans, height: rows * tall };
}
