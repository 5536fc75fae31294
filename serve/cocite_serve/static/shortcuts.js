// What single keys do outside of text fields, and the dialog that lists them.

import { $, el } from "./dom.js";
import { choice } from "./storage.js";

/**
 * @typedef {{keys: string[], says: string, run?: (event: KeyboardEvent) => void, always?: boolean}} Shortcut
 * `always`: also within a text field, or while single keys are off.
 */

const isTyping = (node) => node instanceof HTMLElement && (node.isContentEditable
  || node.matches("textarea, select, input:not([type=checkbox])"));

function named(event) {
  const parts = [];
  if (event.ctrlKey || event.metaKey) parts.push("Ctrl");
  if (event.altKey) parts.push("Alt");
  return [...parts, event.key.length === 1 ? event.key.toLowerCase() : event.key].join("+");
}

/** Moves the focus by some cards. @param {number} step */
export function moveCard(step) {
  const cards = [...document.querySelectorAll(".card[data-id]")];
  const at = cards.indexOf(document.activeElement?.closest(".card"));
  const next = cards[at < 0 ? (step > 0 ? 0 : cards.length - 1) : at + step];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** Presses a button of the card in focus. @param {string} selector */
export function pressOnCard(selector) {
  document.activeElement?.closest(".card")?.querySelector(selector)?.click();
}

/** @param {Shortcut[]} shortcuts */
export function setUpShortcuts(shortcuts) {
  const dialog = $("help");
  const open = () => dialog.showModal();
  const all = [...shortcuts, { keys: ["?"], says: "Open this list", run: open }];
  $("shortcuts").replaceChildren(...all.flatMap(({ keys, says }) => [
    el("dt", {}, ...keys.map((key) => el("kbd", {}, key.replace("ArrowDown", "↓").replace("ArrowUp", "↑").replace("Enter", "↵")))),
    el("dd", {}, says)]));
  $("single_keys").checked = choice("single-keys") !== "off";
  $("single_keys").addEventListener("change", () => choice("single-keys", $("single_keys").checked ? "on" : "off"));
  $("open_help").addEventListener("click", open);
  document.addEventListener("keydown", (event) => {
    if (dialog.open || event.isComposing) return;
    const key = named(event);
    const found = all.find((one) => one.keys.includes(key));
    if (!found || (!found.always && (isTyping(event.target) || !$("single_keys").checked))) return;
    if (event.altKey && event.target instanceof HTMLSelectElement) return; // opens its list
    event.preventDefault();
    found.run(event);
  });
}
