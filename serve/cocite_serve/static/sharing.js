// A link that holds the text: behind the # of an address, which browsers send to no server.

import { $, copyText, el, toast } from "./dom.js";
import { focusGap, replace } from "./editor.js";
import { linkTo } from "./marks.js";
import { forgetAnswer } from "./search.js";
import { gapInFocus, markedGaps, state, when } from "./state.js";

const MOST = 8_000; // characters of the part behind the #: mail and chats cut longer addresses

const gapNumber = () => markedGaps().indexOf(gapInFocus()) + 1;
const address = () => linkTo([["text", state.text], ...(gapNumber() > 1 ? [["gap", String(gapNumber())]] : [])]);
const lengthOf = (link) => link.length - link.indexOf("#") - 1;

function paint() {
  const given = Boolean(state.text.trim());
  $("share_box").hidden = !given;
  if (!given || !$("share_box").open) return;
  const length = lengthOf(address());
  const fits = length <= MOST;
  $("share_copy").hidden = !fits;
  $("share_says").textContent = fits
    ? `The link holds your whole text (${state.text.length.toLocaleString("en")} characters) and the ids of the papers that you marked for this list, and nothing else. Whoever gets the link can read them. Opening it sends the text nowhere until its reader presses Find papers.`
    : `Your text is too long for a link: there it takes ${length.toLocaleString("en")} characters, and at most ${MOST.toLocaleString("en")} fit. Share a passage of it.`;
}

async function copy() {
  try {
    await copyText(address());
    toast("Link copied: it holds your text");
  } catch (error) {
    toast(error.message);
  }
}

function put(text, gap) {
  $("linked").hidden = true;
  forgetAnswer(); // where a list is shown, a gap that comes into focus would be asked for
  replace(0, $("text").value.length, text); // as typing does, so that undo brings the text before it back
  if (gap > 0) focusGap(state.gaps.indexOf(markedGaps()[Math.min(gap, markedGaps().length) - 1]));
  toast("The text of the link: press Find papers to search with it");
}

/** Takes the text over of the link by which the page was opened; one that is in the field already stays until its author agrees. */
export function takeText() {
  const given = new URLSearchParams(location.hash.slice(1));
  const text = given.get("text") ?? "";
  const gap = Number(given.get("gap"));
  if (!given.has("text")) return;
  const fits = lengthOf(location.hash) <= MOST;
  for (const name of ["text", "gap"]) given.delete(name);
  // The text is no longer in the address from here on: not in a bookmark, nor in what is copied from the browser's bar.
  history.replaceState(null, "", `${location.pathname}${location.search}${given.size ? `#${given}` : ""}`);
  if (!fits) toast(`The link's text is too long: at most ${MOST.toLocaleString("en")} characters are taken`);
  else if (!text.trim() || text === state.text) return;
  else if (!state.text.trim()) put(text, gap);
  else {
    $("linked").hidden = false;
    $("linked").replaceChildren(el("p", {}, "The link that you opened holds a text. Yours is in the field."),
      el("div", { class: "linked-actions" },
        el("button", { type: "button", on: { click: () => put(text, gap) } }, "Put the link's text in its place"),
        el("button", { type: "button", on: { click: () => { $("linked").hidden = true; $("text").focus(); } } }, "Keep mine")));
  }
}

export function setUpSharing() {
  $("share_copy").addEventListener("click", copy);
  $("share_box").addEventListener("toggle", paint);
  when(["draft", "focus", "choice"], paint);
}
