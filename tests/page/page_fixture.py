"""What the tests of the page in a driven browser share: a server, its page with much to show, and the browser."""

import argparse
import contextlib
import pathlib
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/testing"))
from page_mirror import PageMirror  # pylint: disable=wrong-import-position
from server_process import ServerProcess, metrics_address  # pylint: disable=wrong-import-position
from web_driver import WebDriver  # pylint: disable=wrong-import-position

LIMIT_S = 60
# The page looks at its server forty times as often.
FAST_CLOCK = """const later = window.setTimeout.bind(window);
window.setTimeout = (call, time, ...rest) => later(call, time / 40, ...rest);"""


class PageTest(unittest.TestCase):
    """A test of the page, which is opened anew for each, 1600 pixels wide and in the light theme."""

    arguments = None

    @classmethod
    def setUpClass(cls):
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        folder = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory(prefix="opserve-page-", ignore_cleanup_errors=True)))
        cls.browser = stack.enter_context(WebDriver(folder))
        cls.server = stack.enter_context(ServerProcess(
            cls.arguments.server, folder, ["--devices", "none", "--metrics-listen", "127.0.0.1:0"]))
        cls.browser.cdp("Page.addScriptToEvaluateOnNewDocument", source=FAST_CLOCK)

    def setUp(self):
        self.mirror = PageMirror(f"http://{metrics_address(self.server)}/")
        self.mirror.__enter__()
        self.addCleanup(self.mirror.__exit__)
        self.browser.resize(1600)
        self.browser.set_theme("light")
        self.open_page()

    def open_page(self):
        """Opens the page anew, and returns once it shows the status."""
        self.browser.open(self.mirror.url)
        self.wait_until("the page is live", lambda: self.text("#link") == "live")

    def wait_until(self, what, condition):
        """Returns once `condition` gives something true, which it returns."""
        deadline = time.monotonic() + LIMIT_S
        while not (value := condition()):
            self.assertLess(time.monotonic(), deadline, what)
        return value

    def text(self, selector):
        """The text of the first element that a selector matches."""
        return self.browser.run("return document.querySelector(arguments[0]).textContent;", selector)


def main():
    """Runs the tests of the program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True, type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path, help="the folder that takes pictures")
    PageTest.arguments, rest = parser.parse_known_args()
    unittest.main(module="__main__", argv=sys.argv[:1] + rest)
