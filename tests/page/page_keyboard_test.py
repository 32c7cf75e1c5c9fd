#!/usr/bin/python3
"""The page is used with the keys alone: every stop of the Tab key is seen, has a role and a name, and does what it says.

Skipped where Chromium or chromedriver is not installed, unless OPSERVE_REQUIRE has chromium.
"""

import page_fixture
from web_driver import ARROW_LEFT, ARROW_RIGHT, ELEMENT, ENTER, SHIFT, SPACE, TAB

# Narrow enough for tables to be wider than the page, as on a telephone or with a zoom of 400 %.
NARROW = 360
MOST_STOPS = 40
# What people can operate, or must scroll to see.
STOPS = """return [...document.querySelectorAll("a[href], button, section")].filter((element) =>
    element.localName !== "section" || element.scrollWidth > element.clientWidth);"""
# How an element shows that it has the focus, and whether that is within the window.
LOOKS = """const style = getComputedStyle(arguments[0]);
const place = arguments[0].getBoundingClientRect();
return { outline: style.outlineStyle, width: parseFloat(style.outlineWidth),
         isVisible: arguments[0].matches(":focus-visible"),
         isInside: place.left >= 0 && place.right <= innerWidth && place.top < innerHeight && place.bottom > 0 };"""


class PageKeyboard(page_fixture.PageTest):
    def walk(self, *keys):
        """The elements that get the focus as keys are pressed, up to the last one of the page."""
        stops = []
        for _ in range(MOST_STOPS):
            self.browser.press(*keys)
            stop = self.browser.focused()
            # Beyond the last one is the browser itself, or the first one again.
            if self.browser.run("return arguments[0] === document.body;", stop) or stop in stops:
                return stops
            stops.append(stop)
        self.fail(f"more than {MOST_STOPS} stops")

    def go_to(self, selector):
        """Presses Tab until the first element that a selector matches has the focus, and returns it."""
        wanted = self.browser.find(selector)[0]
        for _ in range(MOST_STOPS):
            self.browser.press(TAB)
            if self.browser.focused() == wanted:
                return wanted
        self.fail(f"{selector} is no stop of the Tab key")

    def test_tab_stops_at_everything_that_can_be_operated_in_its_order(self):
        for width in (1600, NARROW):
            with self.subTest(width=width):
                self.browser.resize(width)
                self.open_page()
                stops = self.walk(TAB)
                self.assertEqual(stops, self.browser.run(STOPS))
                names = [(self.browser.role(stop), self.browser.label(stop)) for stop in stops]
                self.assertEqual(names[:2], [("link", "Skip to the numbers"), ("button", "Pause")])
                self.assertEqual(names[-2:], [("link", "metrics"), ("link", "status.json")])
                regions = names[2:-2]
                self.assertEqual({role for role, _ in regions} - {"region"}, set())
                self.assertNotIn("", [label for _, label in regions])
                self.assertEqual(len(regions), len(set(regions)))
                if width == NARROW:
                    self.assertIn(("region", "Devices"), regions)
                    self.assertIn(("region", "Requests since the start"), regions)
                self.browser.run("document.activeElement.blur();")
                self.assertEqual(self.walk(SHIFT, TAB)[::-1], stops)

    def test_the_focus_is_seen_at_each_stop(self):
        self.browser.resize(NARROW)
        for _ in self.browser.run(STOPS):
            self.browser.press(TAB)
            stop = self.browser.focused()
            for theme in ("light", "dark"):
                self.browser.set_theme(theme)
                looks = self.browser.run(LOOKS, stop)
                with self.subTest(theme=theme, stop=self.browser.label(stop)):
                    self.assertTrue(looks["isVisible"])
                    self.assertTrue(looks["isInside"])
                    self.assertEqual(looks["outline"], "solid")
                    self.assertGreaterEqual(looks["width"], 2)

    def test_the_first_link_skips_what_is_above_the_numbers(self):
        self.browser.resize(NARROW)
        self.go_to(".skip")
        self.browser.press(ENTER)
        self.assertEqual(self.browser.focused(), self.browser.find("main")[0])
        self.browser.press(TAB)
        self.assertEqual(self.browser.label(self.browser.focused()), "Devices")

    def test_pause_holds_what_is_shown_and_lets_it_go_on(self):
        button = self.go_to("button")
        pressed = "return arguments[0].getAttribute('aria-pressed');"
        for stop, go_on in ((SPACE, ENTER), (ENTER, SPACE)):
            self.browser.press(stop)
            self.assertEqual(self.browser.run(pressed, button), "true")
            self.assertEqual(self.text("#link"), "paused")
            shown = self.text("main")
            self.mirror.wait_for_look()
            self.assertEqual(self.text("main"), shown)
            self.browser.press(go_on)
            self.assertEqual(self.browser.run(pressed, button), "false")
            self.assertEqual(self.text("#link"), "live")
            self.assertNotEqual(self.text("main"), shown)

    def test_arrows_scroll_what_is_wider_than_the_page(self):
        self.browser.resize(NARROW)
        for name in ("devices", "work"):
            with self.subTest(table=name):
                box = self.go_to(f"section:has(#{name})")
                left = lambda box=box: self.browser.run("return arguments[0].scrollLeft;", box)
                self.browser.press(ARROW_RIGHT)
                self.wait_until("the table moves", lambda: left() > 0)
                self.browser.press(ARROW_LEFT)
                self.wait_until("the table moves back", lambda: left() == 0)

    def test_links_open_with_enter(self):
        for page in ("metrics", "status.json"):
            self.open_page()
            self.go_to(f"a[href='{page}']")
            self.browser.press(ENTER)
            self.wait_until(page, lambda page=page: self.browser.url == self.mirror.url + page)

    def test_a_refresh_takes_nothing_away_from_who_reads(self):
        self.browser.resize(NARROW)
        self.mirror.wait_for_look()
        parts = ("#devices tbody tr:first-child td:nth-child(6)", "#tiles dd", "#charts svg")
        marked = [self.browser.find(part)[0] for part in parts]
        shown = self.text(parts[0])
        for stop in self.browser.run(STOPS):
            self.browser.press(TAB)
            self.mirror.wait_for_look()
            self.assertEqual(self.browser.focused()[ELEMENT], stop[ELEMENT])
        self.assertNotEqual(self.text(parts[0]), shown)
        self.assertEqual([self.browser.find(part)[0] for part in parts], marked)

    def test_a_table_with_the_focus_that_becomes_short_keeps_it(self):
        self.browser.resize(NARROW)
        box = self.go_to("section:has(#faults)")
        self.mirror.status["faults"] = []
        self.mirror.wait_for_look()
        self.assertEqual(self.text("#faults-none"), "None since the start.")
        self.assertEqual(self.browser.focused(), box)


if __name__ == "__main__":
    page_fixture.main()
