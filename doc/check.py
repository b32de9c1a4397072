"""Look at the built pages as a reader does: ``python doc/check.py doc/_build/html``.

First the files alone: every link within the site leads to a page, a file or a place in a page that
exists, and every image has a text. Links to other sites are not followed: they need a network,
and what they lead to is not ours. Then every page is opened in headless Chromium, at three widths,
light and dark. It fails on scrolling sideways, errors in the console, files that are not found,
files from other servers, pages without style and a navigation bar that does not fit. Screenshots
are kept in ``screenshots`` beside the site.

Chromium is spoken to through a pipe (``--remote-debugging-pipe``: JSON that ends in a zero byte),
so nothing needs to be installed besides it. On Debian: ``apt-get install chromium``. Where there
is none, the files alone are checked.
"""

import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag, urlsplit

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTHS = (400, 1000, 1300)
THEMES = ("light", "dark")
HEIGHT = 900
LONGEST = 3000  # pixels of a page that a screenshot shows; of the reference, HEIGHT
SECONDS = 60  # to wait for any answer

DRAWN = "new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => d())))"
LOOK = Path(__file__).with_suffix(".js").read_text()


# ------------------------------------------------------------------- the files alone
class Page(HTMLParser):
    """The ids, links and images of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.bare_images = {"", "top"}, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids |= {attributes[key] for key in ("id", "name") if attributes.get(key)}
        self.links += [attributes[key] for key in ("href", "src") if attributes.get(key)]
        if tag == "img" and not (attributes.get("alt") or "").strip():
            self.bare_images.append(attributes.get("src") or "?")


def pages_of(site):
    """The pages, without the templates that themes leave among their files."""
    return [p for p in sorted(site.rglob("*.html")) if p.relative_to(site).parts[0] != "_static"]


def check_files(site):
    """(page, problem) of links that lead nowhere and of images without text."""
    pages = {path: Page(path) for path in pages_of(site)}
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        for source in page.bare_images:
            yield name, f"an image has no text: {source}"
        for link in sorted(set(page.links)):
            if urlsplit(link).scheme or link.startswith("//"):
                continue
            file, anchor = urldefrag(link)
            file = unquote(urlsplit(file).path)
            target = path
            if file:
                target = Path(os.path.normpath(path.parent / file))
                target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield name, f"a link leads nowhere: {link}"
            elif target in pages and unquote(anchor) not in pages[target].ids:
                yield name, f"a link leads to no place in its page: {link}"


# ------------------------------------------------------------------- a browser
class Browser:
    """One page in headless Chromium, spoken to in the DevTools protocol."""

    def __init__(self, command):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command = [
            *(command, "--headless=new", "--remote-debugging-pipe", "--disable-gpu"),
            *("--no-first-run", "--hide-scrollbars", "--disable-dev-shm-usage"),
            f"--user-data-dir={self.profile.name}",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
        ]
        there, self.to = os.pipe()
        self.back, here = os.pipe()

        def files_three_and_four():  # where Chromium reads and writes
            reads, writes = os.dup(there), os.dup(here)
            os.dup2(reads, 3)
            os.dup2(writes, 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        self.process = subprocess.Popen(
            command, preexec_fn=files_three_and_four, close_fds=False, stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(there)
        os.close(here)
        self.count, self.rest, self.events, self.session = 0, b"", [], {}
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def receive(self):
        while b"\0" not in self.rest:
            part = os.read(self.back, 1 << 20)
            if not part:
                raise RuntimeError("Chromium has ended")
            self.rest += part
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def call(self, method, **params):
        """The result of a method; events that come before it are kept."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": params, **self.session}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        timer = threading.Timer(SECONDS, self.process.kill)
        timer.start()
        try:
            while (answer := self.receive()).get("id") != self.count:
                self.events.append(answer)
        finally:
            timer.cancel()
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def evaluate(self, expression):
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def open(self, address):
        """Load a page and all of its images."""
        self.events.clear()
        self.call("Page.navigate", url=address)
        self.evaluate(
            "new Promise(done => document.readyState === 'complete' ? done()"
            " : addEventListener('load', () => done()))"
        )
        self.evaluate(
            "document.head.appendChild(document.createElement('style')).textContent ="
            " '* { transition: none !important; animation: none !important; }'"
        )
        self.evaluate(
            "Promise.allSettled([...document.images].map(i => (i.loading = 'eager', i.decode())))"
            ".then(() => 0)"
        )

    def errors(self):
        """What the console has shown since the page was opened."""
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
                yield params["entry"]["text"] + " " + params["entry"].get("url", "")
            elif event.get("method") == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                yield details.get("exception", {}).get("description", details["text"])
            elif event.get("method") == "Runtime.consoleAPICalled" and params["type"] == "error":
                yield " ".join(str(a.get("value", a.get("description"))) for a in params["args"])

    def close(self):
        self.process.terminate()
        self.process.wait(SECONDS)
        self.profile.cleanup()


def check_looks(site, command, screenshots, names):
    """(page, problem) of what Chromium shows; also writes the screenshots."""
    browser = Browser(command)
    handler = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for name in names:
            longest = HEIGHT if name.startswith("api/generated/") else LONGEST
            browser.open(f"http://127.0.0.1:{server.server_port}/{quote(name)}")
            for theme in THEMES:
                feature = {"name": "prefers-color-scheme", "value": theme}
                browser.call("Emulation.setEmulatedMedia", features=[feature])
                for width in WIDTHS:
                    size = {
                        "width": width,
                        "height": HEIGHT,
                        "deviceScaleFactor": 1,
                        "mobile": False,
                    }
                    browser.call("Emulation.setDeviceMetricsOverride", **size)
                    browser.evaluate(DRAWN)
                    look = browser.evaluate(LOOK.replace("DARK", str(theme == "dark").lower()))
                    for problem in look["problems"]:
                        yield name, f"{problem} ({width}, {theme})"
                    clip = {"x": 0, "y": 0, "width": width, "height": min(look["height"], longest)}
                    picture = browser.call(
                        "Page.captureScreenshot", format="jpeg", quality=70,
                        captureBeyondViewport=True, clip={**clip, "scale": 1},
                    )  # fmt: skip
                    file = screenshots / name.replace(".html", f".{width}.{theme}.jpg")
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(base64.b64decode(picture["data"]))
            for error in browser.errors():
                yield name, f"an error in the console: {error}"
    finally:
        browser.close()
        server.shutdown()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("site", type=Path, help="the folder with the built pages")
    parser.add_argument("pages", nargs="*", help="open these alone, e.g. index.html; default: all")
    options = parser.parse_args(arguments)
    site = options.site.resolve()
    names = options.pages or [path.relative_to(site).as_posix() for path in pages_of(site)]
    problems = list(check_files(site))
    command = next(filter(None, map(shutil.which, BROWSERS)), None)
    if command:
        problems += check_looks(site, command, site.parent / "screenshots", names)
        print(f"{len(names)} pages; screenshots are in {site.parent / 'screenshots'}")
    else:
        print("No Chromium found (Debian: apt-get install chromium): the pages were not opened.")
    for name, problem in dict.fromkeys(problems):
        print(f"{name}: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
