// Keeps the draft in this browser alone, so that a reload loses nothing. Nothing of it is sent anywhere.

const DRAFT = "cocite-draft";
const LIBRARY = "cocite-library";
const MOST = 2_000_000; // characters

/** @returns {Record<string, unknown>} What was kept; {} when there is nothing, or storage is off. */
export function kept() {
  try {
    const value = JSON.parse(localStorage.getItem(DRAFT) ?? "{}");
    return value && typeof value === "object" && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

/** Keeps a draft in place of the one before; one that is too long is kept no more. @param {Record<string, unknown>} value */
export function keep(value) {
  const text = JSON.stringify(value);
  try {
    if (text.length <= MOST) localStorage.setItem(DRAFT, text);
    else localStorage.removeItem(DRAFT); // an earlier text would come back in its place
  } catch { /* storage is off or full: for this visit only */ }
}

export function forget() {
  try { localStorage.removeItem(DRAFT); } catch { /* storage is off: there is nothing to forget */ }
}

/** A choice of the reader, such as the form of citations. @param {string} name @param {string} [value] */
export function choice(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(`cocite-${name}`);
    localStorage.setItem(`cocite-${name}`, value);
  } catch { /* storage is off: for this visit only */ }
  return value ?? null;
}

/** The library that was kept: the name of its file, the number of its papers, and the names of all. */
export function keptLibrary() {
  try {
    const value = JSON.parse(localStorage.getItem(LIBRARY) ?? "null");
    const fits = value && typeof value.file === "string" && Number.isInteger(value.count) && Array.isArray(value.names);
    return fits ? { ...value, names: value.names.filter((name) => typeof name === "string") } : null;
  } catch {
    return null;
  }
}

/**
 * Keeps a library in place of the one before; null: keeps none.
 * @param {{file: string, count: number, names: string[]} | null} value
 * @returns {boolean} Whether it is kept beyond this visit.
 */
export function keepLibrary(value) {
  try {
    localStorage.removeItem(LIBRARY);
    if (!value) return true;
    const text = JSON.stringify(value);
    if (text.length > MOST) return false;
    localStorage.setItem(LIBRARY, text);
    return true;
  } catch {
    return false; // storage is off or full: for this visit only
  }
}
