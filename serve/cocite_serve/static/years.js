// How the papers of an answer are spread over the years, as bars.

import { $, el } from "./dom.js";

const MOST_BARS = 30;

/**
 * The papers by years; each bar has the same number of years.
 * @param {(number | null)[]} years Of papers; those without a year are in no bar.
 * @returns {{from: number, to: number, count: number}[]} Oldest first, those without papers too.
 */
export function spread(years) {
  const known = years.filter(Boolean);
  if (!known.length) return [];
  const first = Math.min(...known);
  const last = Math.max(...known);
  const wide = Math.ceil((last - first + 1) / MOST_BARS);
  const bars = Array.from({ length: Math.ceil((last - first + 1) / wide) }, (_, place) =>
    ({ from: first + place * wide, to: Math.min(last, first + place * wide + wide - 1), count: 0 }));
  for (const year of known) bars[Math.floor((year - first) / wide)].count += 1;
  return bars;
}

const papers = (count) => (count === 1 ? "1 paper" : `${count} papers`);
const span = ({ from, to }) => (from === to ? String(from) : `${from} to ${to}`);

let drawn = [];

/**
 * A click on a bar chooses its years, and a drag those from one bar to another. The fields beside the bars do the same
 * for the keyboard.
 * @param {(from: number, to: number) => void} choose
 */
export function setUpYears(choose) {
  let first = null;
  const barAt = (event) => {
    const { left, width } = $("bars").getBoundingClientRect();
    const place = Math.floor(((event.clientX - left) / width) * drawn.length);
    return drawn[Math.max(0, Math.min(place, drawn.length - 1))];
  };
  $("bars").addEventListener("pointerdown", (event) => {
    if (event.button || !drawn.length) return;
    first = barAt(event);
    $("bars").setPointerCapture(event.pointerId);
  });
  $("bars").addEventListener("pointercancel", () => { first = null; });
  $("bars").addEventListener("pointerup", (event) => {
    if (!first || !drawn.length) return;
    const last = barAt(event);
    choose(Math.min(first.from, last.from), Math.max(first.to, last.to));
    first = null;
  });
}

/** Draws the years of the papers that are shown; of papers of one year there is nothing to draw. @param {(number | null)[]} years */
export function showYears(years) {
  const bars = spread(years);
  drawn = bars;
  $("histogram").hidden = bars.length < 2;
  if (bars.length < 2) return;
  const most = Math.max(...bars.map((bar) => bar.count));
  const says = bars.filter((bar) => bar.count).map((bar) => `${span(bar)}: ${papers(bar.count)}`);
  $("bars").setAttribute("aria-label", `Papers by year. ${says.join("; ")}.`);
  $("bars").replaceChildren(...bars.map((bar) => el("span", {
    class: bar.count ? "has" : false,
    title: `${span(bar)}: ${bar.count ? papers(bar.count) : "no paper"}. Click or drag to see some years alone.`,
    style: { "--part": `${(100 * bar.count) / most}%` },
  })));
  $("bars_first").textContent = String(bars[0].from);
  $("bars_last").textContent = String(bars.at(-1).to);
}
