"""Headless Chromium, spoken to in the DevTools protocol through a pipe.

With ``--remote-debugging-pipe`` Chromium reads and writes JSON that ends in a zero byte, so nothing
needs to be installed besides it. On Debian: ``apt-get install chromium``.
"""

import json
import os
import subprocess
import tempfile
import threading

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 120  # to wait for any answer


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
