"""Look at the built pages as a reader does: ``python doc/check.py doc/_build/html``.

First the files alone: every link within the site leads to a page, a file or a place in a page that
exists, and every image has a text. Links to other sites are not followed: they need a network,
and what they lead to is not ours. Then every page is opened in headless Chromium, at three widths,
light and dark. It fails on scrolling sideways, errors in the console, files that are not found,
files from other servers, pages without style and a navigation bar that does not fit. Screenshots
are kept in ``screenshots`` beside the site.

Nothing needs to be installed besides Chromium (on Debian: ``apt-get install chromium``). Where
there is none, the files alone are checked.
"""

import argparse
import base64
import os
import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag, urlsplit

import browser as chromium

WIDTHS = (400, 1000, 1300)
THEMES = ("light", "dark")
HEIGHT = 900
LONGEST = 3000  # pixels of a page that a screenshot shows
REFERENCE_VIEWS = {(400, "light"), (1300, "dark")}  # which of the reference are kept, cut at HEIGHT
SEARCHES = {  # what people type, and a page that must be among the first results
    "minimum duration": "user_guide/which_constraint",
    "BIC": "user_guide/number_of_states",
    "softmax": "user_guide/neural_scores",
    "valid BIO": "user_guide/neural_scores",
    "illness-death": "user_guide/continuous",
    "survival": "user_guide/continuous",
}

DRAWN = "new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => d())))"
FOUND = """new Promise(done => (function look() {
  const said = document.querySelector('.search-summary')?.textContent || '';
  if (!/finished|did not match/.test(said)) return setTimeout(look, 100);
  done([...document.querySelectorAll('#search-results li a')].map(a => a.getAttribute('href')));
})())"""
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


# ------------------------------------------------------------------- in a browser
def check_looks(site, command, screenshots, names):
    """(page, problem) of what Chromium shows; also writes the screenshots.

    One browser per core, each with one page at a time, takes the next name of a shared list.
    """
    handler = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    waiting, problems = list(reversed(names)), []

    def look_at_pages():
        browser = chromium.Browser(command)
        try:
            while waiting:
                name = waiting.pop()
                problems.extend((name, each) for each in look(browser, address, name, screenshots))
                if len(waiting) % 20 == 0:
                    print(f"{len(names) - len(waiting)} of {len(names)} pages", flush=True)
                if name == "search.html":
                    problems.extend((name, each) for each in check_search(browser, address))
        finally:
            browser.close()

    try:
        with ThreadPoolExecutor() as pool:
            for each in [pool.submit(look_at_pages) for _ in range(min(os.cpu_count() or 1, 4))]:
                each.result()
    finally:
        server.shutdown()
    return sorted(problems)


def look(browser, address, name, screenshots):
    """Open a page at all widths, light and dark; what is wrong with it."""
    reference = name.startswith("api/generated/")
    browser.open(f"{address}/{quote(name)}")
    for theme in THEMES:
        feature = {"name": "prefers-color-scheme", "value": theme}
        browser.call("Emulation.setEmulatedMedia", features=[feature])
        for width in WIDTHS:
            size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            browser.call("Emulation.setDeviceMetricsOverride", **size)
            browser.evaluate(DRAWN)
            seen = browser.evaluate(LOOK.replace("DARK", str(theme == "dark").lower()))
            for problem in seen["problems"]:
                yield f"{problem} ({width}, {theme})"
            if reference and (width, theme) not in REFERENCE_VIEWS:
                continue
            clip = {"x": 0, "y": 0, "width": width, "scale": 1}
            clip["height"] = HEIGHT if reference else min(seen["height"], LONGEST)
            picture = browser.call(
                "Page.captureScreenshot", format="jpeg", quality=70, clip=clip,
                captureBeyondViewport=True,
            )  # fmt: skip
            file = screenshots / name.replace(".html", f".{width}.{theme}.jpg")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(base64.b64decode(picture["data"]))
    for error in browser.errors():
        yield f"an error in the console: {error}"


def check_search(browser, address):
    """Searches that do not find the page they should."""
    for query, page in SEARCHES.items():
        browser.open(f"{address}/search.html?q={quote(query)}")
        pages = list(dict.fromkeys(link.split(".html")[0] for link in browser.evaluate(FOUND)))
        if page not in pages[:5]:
            yield f'"{query}" does not find {page} but {pages[:5]}'


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("site", type=Path, help="the folder with the built pages")
    parser.add_argument("pages", nargs="*", help="open these alone, e.g. index.html; default: all")
    options = parser.parse_args(arguments)
    site = options.site.resolve()
    names = options.pages or [path.relative_to(site).as_posix() for path in pages_of(site)]
    problems = list(check_files(site))
    command = next(filter(None, map(shutil.which, chromium.NAMES)), None)
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
