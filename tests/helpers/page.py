"""What tests of the web page do with it in a browser, and measure on it."""

from __future__ import annotations

from typing import Any

PASSAGE = "We measure the quality of translations with BLEU [CIT] on a held-out test set."
DRAFT = "Topics are found by latent Dirichlet allocation [CIT]. Translations are scored with BLEU [CIT]."
WAIT_MS = 60_000
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""Options of a Chromium that asks nothing of the network."""

FAINT_TEXTS = """() => {
  const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
    .getContext("2d", { willReadFrequently: true });
  const over = (colours) => {
    context.clearRect(0, 0, 1, 1);
    for (const colour of colours) { context.fillStyle = colour; context.fillRect(0, 0, 1, 1); }
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = (rgb) => rgb.map((part) => part / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const grounds = (node) => {
    const found = [];
    for (let at = node; at; at = at.parentElement) found.unshift(getComputedStyle(at).backgroundColor);
    return ["#ffffff", ...found];
  };
  const contrast = (colour, behind) => {
    const [dark, light] = [luminance(over([...behind, colour])), luminance(over(behind))].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const faint = [];
  const check = (node, name, style, behind) => {
    const value = contrast(style.color, behind);
    if (value < 4.5) faint.push(`${name}: ${value.toFixed(2)}`);
  };
  for (const node of document.querySelectorAll("body *")) {
    if (!node.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (node.closest(".sr, .skip")) continue;
    const name = `${node.tagName} .${node.className} ${node.textContent.trim().slice(0, 30)}`;
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    const style = getComputedStyle(node);
    if ((own || node.matches("textarea, input")) && !node.closest("#backdrop")) check(node, name, style, grounds(node));
    if (node.placeholder) check(node, `${name} placeholder`, getComputedStyle(node, "::placeholder"), grounds(node));
    const after = getComputedStyle(node, "::after");
    if (node.matches("mark")) check(node, `${name} number`, after, [...grounds(node), after.backgroundColor]);
  }
  return faint;
}"""
"""Texts on the page whose contrast with what is behind them is below the 4.5 of WCAG 2 AA."""

SMALL_TARGETS = """() => [
  ...document.querySelectorAll("button, select, summary, input, .brand, nav a, .links a, label.check"),
].filter((node) => node.checkVisibility({ visibilityProperty: true }) && !node.matches("label.check input"))
  .filter((node) => node.getBoundingClientRect().height < 44)
  .map((node) => `${node.tagName} ${node.id} ${node.textContent.trim().slice(0, 30)}`)"""
"""Controls that are lower than 44 CSS pixels; of a box to tick, its label counts."""

NAMELESS = """() => [
  ...document.querySelectorAll("button, select, input, textarea, a, dialog, nav, section, [role=region], [role=group]"),
].filter((node) => !node.closest("[hidden]"))
  .filter((node) => {
    const by = (node.getAttribute("aria-labelledby") ?? "").split(" ").filter(Boolean);
    const named = node.getAttribute("aria-label") || node.labels?.length
      || by.some((id) => document.getElementById(id)?.textContent.trim());
    return !named && !(node.matches("button, a") && node.textContent.trim());
  })
  .map((node) => node.outerHTML.slice(0, 80))"""
"""Controls and regions without a name for a screen reader."""


def search(page: Any, text: str) -> None:
    """Put a text into the field, and find papers for it."""
    page.get_by_label("Your text").fill(text)
    page.get_by_role("button", name="Find papers").click()
    settled(page)


def settled(page: Any) -> None:
    """Wait until no answer is on its way."""
    page.locator("#results:not([aria-busy=true])").wait_for(state="attached")


def titles(page: Any) -> list[str]:
    """The titles of the cards, in their order."""
    return page.locator(".card[data-id] h3").all_inner_texts()  # type: ignore[no-any-return]


def use(page: Any, number: int) -> str:
    """Choose the paper of a card, from 0, for the gap in focus; returns its title."""
    page.locator(".card .use").nth(number).click()
    return titles(page)[number]


def clipboard(page: Any) -> str:
    """What was copied."""
    return page.evaluate("navigator.clipboard.readText()")  # type: ignore[no-any-return]


def gap_button(page: Any, number: int) -> Any:
    """The button of a gap, from 1."""
    return page.get_by_role("group", name="Gaps in the text").get_by_role("button").nth(number - 1)
