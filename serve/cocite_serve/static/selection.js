// The bar of selected papers: copies and downloads their references.

import { $, copyText, save, toast } from "./dom.js";
import { writtenAs } from "./keys.js";
import { refused } from "./results.js";
import { changed, selectedIds, state, when } from "./state.js";
import { choice } from "./storage.js";
import { styleOptions } from "./styles.js";

const FORMS = {
  bibtex: { name: "BibTeX", file: "cocite.bib", type: "application/x-bibtex" },
  ris: { name: "RIS", file: "cocite.ris", type: "application/x-research-info-systems" },
  formatted: { name: "Formatted text", file: "cocite.txt", type: "text/plain" },
  "csl-json": { name: "CSL-JSON", file: "cocite.json", type: "application/json" },
};

/** The form that is chosen, and of formatted text its style. @returns {["bibtex" | "ris" | "csl-json" | "formatted", string | undefined]} */
const chosenForm = () => $("form_of_references").value.split(":");

/**
 * Copies references in the form that is chosen.
 * @param {string[]} ids @param {(ids: string[]) => void} taken Called when the papers were taken.
 */
export async function copyReferences(ids, taken) {
  const [form, style] = chosenForm();
  try {
    await copyText(await writtenAs(form, ids, style));
    taken(ids);
    toast(ids.length === 1 ? `${FORMS[form].name} copied` : `${FORMS[form].name} of ${ids.length} papers copied`);
  } catch (error) {
    refused(error, () => copyReferences(ids, taken));
  }
}

async function download(ids, taken) {
  const [form, style] = chosenForm();
  try {
    save(FORMS[form].file, await writtenAs(form, ids, style), FORMS[form].type);
    taken(ids);
  } catch (error) {
    refused(error, () => download(ids, taken));
  }
}

function paint() {
  const count = selectedIds().length;
  const inText = state.cited.size;
  $("tray").hidden = !count;
  document.body.classList.toggle("has-tray", count > 0);
  $("tray_count").textContent = (count === 1 ? "1 paper selected" : `${count} papers selected`)
    + (inText ? `, ${inText} in the text` : "");
}

/** @param {(ids: string[]) => void} taken */
export function setUpSelection(taken) {
  const forms = $("form_of_references");
  forms.append(...styleOptions((name) => `formatted:${name}`, (label) => `Formatted text (${label})`));
  const form = choice("form");
  if ([...forms.options].some(({ value }) => value === form)) forms.value = form;
  forms.addEventListener("change", () => { choice("form", forms.value); changed("choice"); });
  $("copy").addEventListener("click", () => copyReferences(selectedIds(), taken));
  $("download").addEventListener("click", () => download(selectedIds(), taken));
  $("unselect").addEventListener("click", () => {
    state.chosen = [];
    state.cited.clear();
    state.filled.clear();
    changed("choice");
  });
  // On a narrow screen the bar has one line, and this button shows the rest of it.
  $("tray_more").addEventListener("click", () => {
    const open = $("tray").classList.toggle("unfolded");
    $("tray_more").setAttribute("aria-expanded", String(open));
  });
  when(["choice", "draft"], paint);
  paint();
}
