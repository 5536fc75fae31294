/** The languages of drafts that the server completes, and how each writes a citation. */

type Markup = "latex" | "markdown";

export const LANGUAGES: Readonly<Record<string, Markup>> = {
  latex: "latex",
  tex: "latex",
  plaintex: "latex",
  context: "latex",
  markdown: "markdown",
  quarto: "markdown",
  rmd: "markdown",
  rmarkdown: "markdown",
  pandoc: "markdown",
};

/**
 * What is written before and behind the key of a new citation.
 *
 * @param language - of the document, as the editor names it; one that LANGUAGES lacks is taken for LaTeX.
 * @param before - the text of the line before the caret: a word there gets a space that holds the citation to it.
 */
export function citationAround(language: string, before: string): [string, string] {
  const afterWord = /[^\s~([{]$/.test(before);
  return LANGUAGES[language] === "markdown"
    ? [afterWord ? " [@" : "[@", "]"]
    : [afterWord ? "~\\cite{" : "\\cite{", "}"];
}
