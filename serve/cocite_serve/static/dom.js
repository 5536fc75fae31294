// Builds elements. Text from the corpus or the author only ever becomes a text node: markup in it stays text.

/** @param {string} id @returns {any} The element of the page with this id. */
export const $ = (id) => document.getElementById(id);

/**
 * An element. Of the attributes, `on` has its listeners and `style` its style properties, by name; those that are
 * false, null or undefined are left out, and so are children that are null or undefined.
 * @param {string} tag @param {Record<string, any>} attributes @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") node.className = value;
    else if (name === "on") for (const [event, run] of Object.entries(value)) node.addEventListener(event, run);
    else if (name === "style") for (const [key, to] of Object.entries(value)) node.style.setProperty(key, to);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/**
 * An element of SVG.
 * @param {string} tag @param {Record<string, string | number>} attributes @param {...(Node | string)} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/** A button with a title that is taken away by it. @param {string} name For screen readers; has the title in it. */
export function titleChip(title, name, run) {
  return el("button", { type: "button", class: "chip closes", title, "aria-label": name, on: { click: run } },
    el("span", { class: "cut" }, title));
}

/** Runs what was asked for last, once nothing was asked for a while. @param {() => void} run @param {number} ms */
export function debounce(run, ms) {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(run, ms); };
}

// The beginning or end of a text, whole words, with a mark where something was cut off.
export const firstWords = (text, most) => (text.length <= most ? text : `${text.slice(0, most).replace(/\s\S*$/, "")} …`);
export const lastWords = (text, most) => (text.length <= most ? text : `… ${text.slice(-most).replace(/^\S*\s/, "")}`);

let toastTimer;
const SHORTEST = 2_600; // milliseconds that a sentence is shown
const BY_CHARACTER = 55; // so many of them take to read it
const LONGEST = 20_000;

/** Says a sentence, above everything, for as long as reading it takes. @param {string} text */
export function toast(text) {
  const node = $("toast");
  node.textContent = text;
  node.classList.add("show");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => node.classList.remove("show"), Math.min(LONGEST, Math.max(SHORTEST, BY_CHARACTER * text.length)));
}

/** Lets the browser save a file. @param {string} name @param {string | Uint8Array} content @param {string} type */
export function save(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Puts a text on the clipboard. @param {string} text @throws {Error} Where the browser refuses. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Outside a secure context (plain HTTP from another machine) there is no clipboard API.
    const area = el("textarea", { class: "sr", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("The browser did not allow copying.");
  }
}
