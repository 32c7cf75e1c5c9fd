#!/usr/bin/python3
"""The page is read by people who see little: contrasts in all themes, narrow windows, large letters, no movement.

The bounds are those of WCAG 2.1, level AA. Skipped where Chromium or chromedriver is not installed, unless
OPSERVE_REQUIRE has chromium. With --pictures FOLDER it also takes pictures, narrow and wide, in all themes.
"""

import re

import page_fixture
from web_driver import TAB

LEAST_OF_TEXT = 4.5
LEAST_OF_GRAPHICS = 3
THEMES = ("light", "dark", "forced")
# As wide as 1280 pixels at a zoom of 400 % and of 200 %, and a telephone between them.
WIDTHS = (320, 360, 640)

# The colours of all text that is seen, with those of everything under it, the lowest first. The colours that a
# gradient goes through are one layer each way.
TEXTS = """const seen = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest(".unseen")) continue;
  const layers = [];
  for (let under = element; under; under = under.parentElement) {
    const style = getComputedStyle(under);
    layers.unshift([style.backgroundColor, ...style.backgroundImage.match(/rgba?\\([^)]*\\)/g) || []]);
  }
  seen.push({ text: walker.currentNode.data.trim(), colour: getComputedStyle(element).color, layers });
}
return seen;"""

# Text that sticks out of the window, or of its tile, and is not in a box that scrolls.
CUT_OFF = """const out = [];
const range = document.createRange();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || element.closest(".scroll, .unseen, .skip, script")) continue;
  range.selectNodeContents(walker.currentNode);
  const text = range.getBoundingClientRect();
  const place = (element.closest(".tile, .chart") || document.documentElement).getBoundingClientRect();
  if (text.right > place.right + 0.5 || text.left < place.left - 0.5) out.push(walker.currentNode.data.trim());
}
return out;"""

# As https://www.w3.org/TR/WCAG21/#text-spacing has it.
SPACING = """const sheet = new CSSStyleSheet();
sheet.replaceSync("* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }");
document.adoptedStyleSheets = [sheet];"""


def channels(colour):
    """(red, green, blue, alpha) of a computed colour, each up to 1."""
    red, green, blue, *alpha = map(float, re.findall(r"[\d.]+", colour))
    return red / 255, green / 255, blue / 255, alpha[0] if alpha else 1


def over(colour, ground):
    """What is seen of a colour over an opaque one."""
    alpha = colour[3]
    return tuple(alpha * c + (1 - alpha) * g for c, g in zip(colour[:3], ground)) + (1,)


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour, ground):
    lighter, darker = sorted((luminance(over(colour, ground)), luminance(ground)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def grounds_of(layers):
    """Every colour that may be under a text."""
    grounds = {(1, 1, 1, 1)}
    for colour, *stops in layers:
        grounds = {over(channels(colour), ground) for ground in grounds}
        grounds |= {over(channels(stop), ground) for stop in stops for ground in grounds}
    return grounds


class PageSight(page_fixture.PageTest):
    def pale_texts(self):
        """Texts of too little contrast, and how much they have."""
        texts = self.browser.run(TEXTS)
        self.assertGreater(len(texts), 100)
        least = [(text["text"], round(min(contrast(channels(text["colour"]), ground)
                                          for ground in grounds_of(text["layers"])), 2))
                 for text in texts]
        return {text: ratio for text, ratio in least if ratio < LEAST_OF_TEXT}

    def style(self, selector, name):
        return channels(self.browser.run(
            "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]];", selector, name))

    def test_the_rule_for_contrasts_is_that_of_wcag(self):
        self.assertEqual(round(contrast(channels("rgb(0, 0, 0)"), (1, 1, 1, 1)), 2), 21)
        self.assertEqual(round(contrast(channels("rgb(119, 119, 119)"), (1, 1, 1, 1)), 2), 4.48)
        self.assertEqual(round(contrast(channels("rgba(0, 0, 0, 0.5)"), (1, 1, 1, 1)), 2), 3.98)

    def test_text_has_contrast_whatever_is_shown(self):
        for theme in THEMES:
            self.browser.set_theme(theme)
            with self.subTest(theme=theme, link="live"):
                self.assertEqual(self.pale_texts(), {})
            self.browser.run("document.querySelector('button').click();")
            with self.subTest(theme=theme, link="paused"):
                self.assertEqual(self.text("#link"), "paused")
                self.assertEqual(self.pale_texts(), {})
            self.browser.run("document.querySelector('button').click();")
            self.mirror.is_gone = True
            self.mirror.wait_for_look()
            with self.subTest(theme=theme, link="lost"):
                self.assertEqual(self.text("#link"), "no answer from the server")
                self.assertEqual(self.pale_texts(), {})
            self.mirror.is_gone = False
            self.mirror.wait_for_look()

    def test_lines_and_edges_have_contrast(self):
        for theme in THEMES:
            self.browser.set_theme(theme)
            self.browser.press(TAB)
            body = self.style("body", "backgroundColor")
            card = self.style(".chart", "backgroundColor")
            parts = {"line of a chart": contrast(self.style(".chart .line", "stroke"), card),
                     "edge of the button": contrast(self.style("button", "borderTopColor"), body),
                     "focus": min(contrast(self.style(":focus", "outlineColor"), ground)
                                  for ground in (body, card))}
            with self.subTest(theme=theme):
                self.assertEqual({part: ratio for part, ratio in parts.items()
                                  if ratio < LEAST_OF_GRAPHICS}, {})

    def test_states_are_words_and_not_colours_alone(self):
        states = self.browser.run("""return [...document.querySelectorAll("#devices tbody tr")]
            .map((row) => row.cells[2].textContent.split(":")[0]);""")
        self.assertEqual(states, [device["state"] for device in self.mirror.status["devices"]])

    def test_narrow_windows_and_wide_letters_cut_nothing_off(self):
        self.mirror.wait_for_look()
        for spacing in ("", SPACING):
            self.browser.run(spacing)
            for width in WIDTHS:
                self.browser.resize(width)
                with self.subTest(width=width, spacing=bool(spacing)):
                    self.assertLessEqual(
                        self.browser.run("return document.documentElement.scrollWidth;"), width)
                    self.assertEqual(self.browser.run(CUT_OFF), [])

    def test_nothing_moves_by_itself(self):
        self.assertEqual(self.browser.run("return document.getAnimations().length;"), 0)
        self.assertEqual(self.browser.run("""return [...document.querySelectorAll("*")].map((part) => getComputedStyle(part))
            .filter((style) => style.transitionDuration !== "0s" || style.scrollBehavior !== "auto").length;"""), 0)

    def test_pictures(self):
        folder = self.arguments.pictures
        if folder is None:
            self.skipTest("--pictures names no folder")
        folder.mkdir(parents=True, exist_ok=True)
        for theme in THEMES:
            self.browser.set_theme(theme)
            for width in (360, 1600):
                self.browser.resize(width, 2600)
                self.open_page()
                for _ in range(20):
                    self.mirror.wait_for_look()
                for stop in ("skip", "pause", "table"):
                    self.browser.press(TAB)
                    self.browser.save_picture(folder / f"{theme}-{width}-{stop}.png")


if __name__ == "__main__":
    page_fixture.main()
