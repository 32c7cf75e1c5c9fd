#!/usr/bin/python3
"""The page is listened to: landmarks, headings, tables and charts have roles and names, and only changes are announced.

Skipped where Chromium or chromedriver is not installed, unless OPSERVE_REQUIRE has chromium.
"""

import re

import page_fixture

TABLES = {
    "devices": ("Devices", "State, work and faults of each device"),
    "leases": ("Leases of GPUs", "Who has a GPU to himself, and then who waits, in their order"),
    "faults": ("Latest faults of devices", "Faults of devices, the latest first"),
    "clients": ("Who uses what", "Requests and bytes of each client"),
    "errors": ("Errors since the start", "Errors by their reasons"),
    "closed": ("Connections that the server ended or did not take",
               "Connections by why the server ended them or did not take them"),
    "work": ("Requests since the start", "Requests by operator, type, device and code"),
    "catalogue": ("Operators", "What each operator computes, and the types it takes"),
}
CHARTS = ["Requests per second", "Time of requests, 99 of 100 below", "Requests in queues",
          "Requests per batch"]
# Elements whose changes are announced.
LIVE = "[role=status], [role=alert], [role=log], [aria-live]"
# Writes down each text that a change leaves in such an element.
LISTEN = """window.heard = [];
for (const region of document.querySelectorAll(arguments[0]))
  new MutationObserver(() => heard.push(region.textContent))
      .observe(region, { childList: true, characterData: true, subtree: true });"""


class PageReader(page_fixture.PageTest):
    def named(self, selector):
        """(role, name) of each element that a selector matches."""
        return [(self.browser.role(element), self.browser.label(element))
                for element in self.browser.find(selector)]

    def heard(self):
        return self.browser.run("return heard;")

    def test_the_document_has_a_language_a_title_and_headings_in_order(self):
        self.assertEqual(self.browser.run("return document.documentElement.lang;"), "en")
        self.assertEqual(self.browser.run("return document.title;"), "Status of opserve")
        levels = self.browser.run(
            "return [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((head) => head.localName);")
        self.assertEqual(levels, ["h1"] + ["h2"] * (2 + len(TABLES)))

    def test_landmarks_have_roles_and_the_names_of_their_headings(self):
        self.assertEqual(self.named("header, main, footer"),
                         [("banner", ""), ("main", ""), ("contentinfo", "")])
        titles = ["Now", "Last four minutes", *(title for title, _ in TABLES.values())]
        self.assertEqual(self.named("section"), [("region", title) for title in titles])
        self.assertEqual([label for _, label in self.named("h2")], titles)

    def test_tables_have_captions_and_heads_of_columns_and_rows(self):
        for name, (_, caption) in TABLES.items():
            with self.subTest(table=name):
                self.assertEqual(self.named(f"#{name}"), [("table", caption)])
                columns = self.named(f"#{name} thead th")
                self.assertEqual({role for role, _ in columns}, {"columnheader"})
                self.assertNotIn("", [label for _, label in columns])
                row = self.browser.find(f"#{name} tbody tr:first-child > *")
                self.assertEqual([self.browser.role(cell) for cell in row],
                                 ["rowheader"] + ["cell"] * (len(columns) - 1))
        cells = self.browser.run("return [...document.querySelectorAll('th, td')].map((cell) => cell.textContent);")
        self.assertEqual([cell for cell in cells if not re.search(r"\w", cell)], [])

    def test_a_table_without_rows_is_a_sentence(self):
        self.mirror.status["leases"] = []
        self.mirror.wait_for_look()
        box = "section:has(#leases)"
        self.assertEqual(self.browser.run(f"return document.querySelector('{box}').innerText.trim();"),
                         "Nobody has a GPU to himself, or waits for one.")

    def test_charts_say_their_numbers(self):
        self.mirror.wait_for_look()
        for chart, title in zip(self.browser.find("#charts svg"), CHARTS, strict=True):
            with self.subTest(chart=title):
                self.assertIn(self.browser.role(chart), ("img", "image"))
                self.assertRegex(self.browser.label(chart),
                                 rf"^{title}: [\d.]+\S*( \S+)? now, least [\d.]+\S*( \S+)?, most [\d.]+")
        # The numbers stand still to be compared.
        self.browser.run("document.querySelector('button').click();")
        self.assertIn(f": {self.text('#tiles dd')} now,",
                      self.browser.label(self.browser.find("#charts svg")[0]))

    def test_numbers_that_change_are_not_announced(self):
        self.browser.run(LISTEN, LIVE)
        shown = self.text("#devices")
        for _ in range(3):
            self.mirror.wait_for_look()
        self.assertNotEqual(self.text("#devices"), shown)
        self.assertEqual(self.heard(), [])
        self.assertEqual(len(self.browser.find(LIVE)), 2)

    def test_a_connection_that_is_lost_and_comes_back_is_announced_once_each(self):
        self.browser.run(LISTEN, LIVE)
        self.mirror.is_gone = True
        for _ in range(3):
            self.mirror.wait_for_look()
        self.assertEqual(self.heard(), ["no answer from the server"])
        self.mirror.is_gone = False
        for _ in range(3):
            self.mirror.wait_for_look()
        self.assertEqual(self.heard(), ["no answer from the server", "live"])

    def test_devices_whose_states_change_are_announced_once(self):
        self.browser.run(LISTEN, LIVE)
        devices = self.mirror.status["devices"]
        devices[0] = dict(devices[0], state="lost", reason="removed")
        for _ in range(3):
            self.mirror.wait_for_look()
        devices[0] = dict(devices[0], state="ready", reason="")
        self.mirror.wait_for_look()
        self.assertEqual(self.heard(), ["gpu0 is lost: removed", "gpu0 is ready"])
        self.assertEqual(self.text("#devices tbody tr:first-child td:nth-child(3)"), "ready")


if __name__ == "__main__":
    page_fixture.main()
