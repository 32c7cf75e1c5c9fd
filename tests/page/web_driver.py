"""Drives headless Chromium as a person at a keyboard would, over WebDriver: JSON over HTTP, spoken by Debian's chromedriver.

https://www.w3.org/TR/webdriver2/ has the commands; `cdp` reaches what only Chromium's own protocol has.
"""

import base64
import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request

from free_port import free_port
from required import skip_without

# The key under which an answer has the number of an element.
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
TAB, ENTER, SHIFT, SPACE = "\ue004", "\ue007", "\ue008", " "
ARROW_LEFT, ARROW_RIGHT = "\ue012", "\ue014"
LIMIT_S = 60

# A browser that runs as root, has no GPU, and asks nobody but the page.
CHROMIUM_FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                  "--disable-background-networking", "--disable-component-update", "--disable-sync"]


class WebDriverError(Exception):
    """What chromedriver answers in place of a result."""


class WebDriver:
    """A browser with one window, for the time of a `with` block. `folder` takes its profile."""

    def __init__(self, folder):
        self._folder = folder
        self._log = folder / "chromedriver.log"
        self._driver = None
        self._port = None
        self._session = ""

    def __enter__(self):
        for program in ("chromium", "chromedriver"):
            if shutil.which(program) is None:
                skip_without("chromium", f"{program} is not installed")
        with self._log.open("wb") as log:
            self._driver = subprocess.Popen(["chromedriver", f"--port={free_port()}"],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=log, text=True)
        try:
            self._port = self._read_port()
            options = {"binary": shutil.which("chromium"),
                       "args": [*CHROMIUM_FLAGS, f"--user-data-dir={self._folder}/driven"]}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options}
            session = self.call("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self._stop()
            raise
        self._session = "/" + session["sessionId"]
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", "")
        finally:
            self._stop()

    def _stop(self):
        self._driver.terminate()
        self._driver.wait(LIMIT_S)
        self._driver.stdout.close()

    def _read_port(self):
        for line in self._driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                return int(found.group(1))
        raise WebDriverError("chromedriver ended before it listened: " + self._log.read_text())

    def call(self, method, path, body=None):
        """The result of a command of the session; raises WebDriverError with the driver's words."""
        if method == "POST" and body is None:
            body = {}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/session{self._session}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise WebDriverError(f"{method} {path}: {value['error']}: {value['message']}") from None

    def cdp(self, command, **parameters):
        """The result of a command of Chromium's own protocol."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    @property
    def url(self):
        """Where the window is."""
        return self.call("GET", "/url")

    def run(self, script, *arguments):
        """What a script's `return` gives. Arguments may be elements."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def press(self, *keys):
        """Holds keys down in their order, and lets them go again: `press(SHIFT, TAB)`."""
        actions = [{"type": "keyDown", "value": key} for key in keys]
        actions += [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self.call("POST", "/actions",
                  {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def focused(self):
        """The element that has the focus; the body where none has."""
        return self.call("GET", "/element/active")

    def find(self, selector):
        """The elements that a CSS selector matches, in the order of the document."""
        return self.call("POST", "/elements", {"using": "css selector", "value": selector})

    def role(self, element):
        """What assistive technology takes an element for."""
        return self.call("GET", f"/element/{element[ELEMENT]}/computedrole")

    def label(self, element):
        """How assistive technology names an element."""
        return self.call("GET", f"/element/{element[ELEMENT]}/computedlabel")

    def resize(self, width, height=800):
        """Gives the page a size in CSS pixels, smaller ones than a window has included."""
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)

    def set_theme(self, theme):
        """Has the page think that its reader prefers "light" or "dark", or has "forced" colours of his own."""
        is_forced = theme == "forced"
        self.cdp("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if is_forced else theme},
                           {"name": "forced-colors", "value": "active" if is_forced else "none"}])

    def save_picture(self, path):
        path.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))
