// Papers whose like is wanted, or not wanted: they steer the list of a gap, and travel in a link by their ids.

import { links, references } from "./api.js";
import { $, copyText, titleChip, toast } from "./dom.js";
import { again } from "./search.js";
import { changed, gapInFocus, marksInForce, nameOf, state, when } from "./state.js";

const MOST = 50; // of each kind, as the server takes them

/** Marks a paper for the list of the gap in focus, or of the whole text. @param {{id: string, title: string}} paper @param {boolean} likes */
export function mark({ id, title }, likes) {
  if (marksInForce().filter((one) => one.likes === likes).length >= MOST) {
    toast(`At most ${MOST} papers can be marked so for one list.`);
    return;
  }
  const gap = gapInFocus()?.id ?? null;
  const before = marksInForce();
  state.marks = state.marks.filter((one) => one.id !== id || !before.includes(one));
  state.marks.push({ id, title, likes, gap });
  if (!likes) state.chosen = state.chosen.filter((one) => one.id !== id || one.gap !== gap);
  changed("choice");
  again();
}

function unmark(one) {
  state.marks = state.marks.filter((other) => other !== one);
  changed("choice");
  again();
}

function chips(row, says, marks, name) {
  row.replaceChildren(...(marks.length ? [says, ...marks.map((one) => titleChip(one.title, name(one.title), () => unmark(one)))] : []));
}

function paint() {
  const marks = marksInForce();
  const focused = [...$("marks").querySelectorAll(".chip")].indexOf(document.activeElement);
  $("marks").hidden = !marks.length;
  $("marks_where").textContent = gapInFocus() ? `Steering the list of ${nameOf(gapInFocus())}` : "Steering the list";
  chips($("liked"), "More like", marks.filter((one) => one.likes), (title) => `No more like ${title}`);
  chips($("disliked"), "Not like", marks.filter((one) => !one.likes), (title) => `Allow papers like ${title}`);
  if (focused < 0) return;
  const left = [...$("marks").querySelectorAll(".chip")];
  (left[Math.min(focused, left.length - 1)] ?? $("results")).focus();
}

/** The address of the page with the marks that are in force, and with more. @param {[string, string][]} more */
export function linkTo(more = []) {
  const marks = marksInForce().map((one) => [one.likes ? "like" : "dislike", one.id]);
  return `${location.origin}${location.pathname}#${new URLSearchParams([...marks, ...more])}`;
}

async function copyLink() {
  try {
    await copyText(linkTo());
    toast("Link copied: it names these papers, and nothing of your text");
  } catch (error) {
    toast(error.message);
  }
}

/** Papers as marks with their titles; those that the corpus lacks are left out. */
async function found(ids, likes) {
  if (!ids.length) return [];
  const { unknown } = await links(ids);
  const known = ids.filter((id) => !unknown.includes(id));
  const items = known.length ? JSON.parse(await references("csl-json", known, "cocite")) : [];
  if (unknown.length) toast(`Not in this corpus: ${unknown.join(", ")}`);
  return known.map((id, at) => ({ id, title: items[at].title || id, likes, gap: null }));
}

/**
 * Takes over the marks of the link by which the page was opened, in place of those for every list.
 * @returns {Promise<boolean>} Whether there are any.
 */
export async function takeLink() {
  const given = new URLSearchParams(location.hash.slice(1));
  const ids = (name) => [...new Set(given.getAll(name).filter(Boolean))].slice(0, MOST);
  const liked = ids("like");
  const disliked = ids("dislike").filter((id) => !liked.includes(id));
  if (!liked.length && !disliked.length) return false;
  // The page keeps them from here on: a later reload must not bring back what was taken away.
  history.replaceState(null, "", location.pathname + location.search);
  let marks = [...liked.map((id) => ({ id, title: id, likes: true, gap: null })), ...disliked.map((id) => ({ id, title: id, likes: false, gap: null }))];
  try {
    marks = [...await found(liked, true), ...await found(disliked, false)];
  } catch { /* the ids have to do for titles: a search says what is wrong */ }
  const names = new Set(marks.map((one) => one.id));
  state.marks = [...state.marks.filter((one) => one.gap !== null && !names.has(one.id)), ...marks];
  changed("choice");
  return marks.length > 0;
}

export function setUpMarks() {
  $("marks_link").addEventListener("click", copyLink);
  when(["choice", "focus", "draft"], paint);
}
