"""What tests of the web page do with it in a browser, and measure on it."""

from __future__ import annotations

import base64
import json
from typing import Any

PASSAGE = "We measure the quality of translations with BLEU [CIT] on a held-out test set."
DRAFT = "Topics are found by latent Dirichlet allocation [CIT]. Translations are scored with BLEU [CIT]."
CITING = "Translation by attention alone \\cite{v:17, gone}, without recurrence \\cite{?}."
BIB = (
    "@inproceedings{v:17, title = {{Attention} Is All You Need}, year = 2017}\n"
    "@misc{gone, title = {A paper that no corpus has}}\n"
    "@misc{private, title = {An entry that the text does not cite}}\n"
)
"""The bibliography of `CITING`: an entry of the corpus, one that it lacks, and one that is not cited."""
WAIT_MS = 180_000
START_MS = 240_000
"""Milliseconds that a browser may take until it is up."""
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
  ...document.querySelectorAll("button, select, summary, input, .brand, nav a, .links a, .card h3 a, label.check"),
].filter((node) => node.checkVisibility({ visibilityProperty: true }) && !node.matches("label.check input"))
  .map((node) => [node, node.getBoundingClientRect()])
  .filter(([, { width, height }]) => width < 44 || height < 44)
  .map(([node, { width, height }]) =>
    `${node.tagName} ${node.id} ${node.textContent.trim().slice(0, 30)}: ${width.toFixed(1)} x ${height.toFixed(1)}`)"""
"""Controls that are narrower or lower than 44 CSS pixels; of a box to tick, its label counts."""

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


DROP = """([files, kind]) => {
  const transfer = new DataTransfer();
  for (const [name, data] of files) {
    transfer.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name));
  }
  const event = new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: transfer });
  document.getElementById("results").dispatchEvent(event);
  return event.defaultPrevented;
}"""
"""Drops files on the page, and returns whether it took them."""


def search(page: Any, text: str) -> None:
    """Put a text into the field, and find papers for it."""
    page.get_by_label("Your text").fill(text)
    page.get_by_role("button", name="Find papers").click()
    settled(page)


def settled(page: Any) -> None:
    """Wait until no answer is on its way."""
    page.locator("#results:not([aria-busy=true])").wait_for(state="attached")


def kept_with_its_answer(page: Any) -> None:
    """Wait until the draft is kept; the page does it a moment after the last change."""
    # Playwright's own waiting evaluates a string in the page, which the page's Content-Security-Policy forbids.
    for _ in range(WAIT_MS // 100):
        if page.evaluate("JSON.parse(localStorage.getItem('cocite-draft') ?? '{}').searched === true"):
            return
        page.wait_for_timeout(100)
    raise AssertionError("the draft is not kept")


def keep(page: Any, value: str) -> None:
    """Load the page where it has kept a value as the draft."""
    address = page.url
    # One of the same origin that keeps nothing itself: the page would write over the value when it is left. A browser
    # asks for an icon of a file that names none.
    page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    page.goto(f"{address}static/theme.js")
    page.evaluate("value => localStorage.setItem('cocite-draft', value)", value)
    page.goto(address)


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


def drop(page: Any, files: dict[str, bytes], kind: str = "drop") -> bool:
    """Drop files on the page, beside the text field; returns whether the page took them."""
    encoded = [[name, base64.b64encode(data).decode()] for name, data in files.items()]
    return page.evaluate(DROP, [encoded, kind])  # type: ignore[no-any-return]


def give(page: Any, name: str, text: str) -> None:
    """Give a file as the library."""
    page.locator("#library_file").set_input_files(
        {"name": name, "mimeType": "text/plain", "buffer": text.encode()}
    )


def requests_of(page: Any, path: str = "/v1/recommend") -> list[dict[str, Any]]:
    """The requests to a path, for papers where none is named, from now on."""
    sent: list[dict[str, Any]] = []
    page.on(
        "request",
        lambda request: sent.append(json.loads(request.post_data)) if request.url.endswith(path) else None,
    )
    return sent


def id_of(page: Any, number: int) -> str:
    """The id of the paper of a card, from 0."""
    return page.locator(".card[data-id]").nth(number).get_attribute("data-id")  # type: ignore[no-any-return]


def mark(page: Any, name: str, number: int) -> tuple[str, str]:
    """Mark the paper of a card, from 0; returns its id and title."""
    id_, title = id_of(page, number), titles(page)[number]
    page.get_by_role("button", name=f"{name}: {title}", exact=True).click()
    page.locator(f'.card[data-id="{id_}"]').wait_for(state="detached")
    settled(page)
    return id_, title


def go_to_gap(page: Any, number: int) -> None:
    """Press the button of a gap, from 1, and wait for its papers."""
    gap_button(page, number).click()
    page.locator("#summary").filter(has_text=f"for gap {number} of").wait_for()
    settled(page)


def calibrate(page: Any) -> None:
    """Give answers the probabilities and the note of a calibrated model whose papers all are improbable but one."""

    def answer(route: Any) -> None:
        response = route.fetch()
        if not response.ok:
            route.fulfill(response=response)
            return
        body = response.json()
        for paper, confidence in zip(body["papers"], (0.087, 0.004, 0.999, 0), strict=False):
            paper["confidence"] = confidence
        route.fulfill(response=response, json=body | {"note": "nothing here fits: no paper reaches 10 %"})

    page.route("**/v1/recommend", answer)
