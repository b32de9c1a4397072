"""The check of the built pages finds what it looks for, and nothing in a page without faults."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "doc" / "check.py"
STYLE = "<style>:root {background: #fff} body {font-family: sans-serif; color: #000} "
DARK = "@media (prefers-color-scheme: dark) {:root {background: #111} body {color: #eee}}</style>"
HEAD = f"<!DOCTYPE html><html><head><title>x</title>{STYLE}{DARK}</head><body>"

sys.path.insert(0, str(SCRIPT.parent))
spec = importlib.util.spec_from_file_location("doc_check", SCRIPT)
check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check)
sys.path.remove(str(SCRIPT.parent))


def site(folder, **pages):
    for name, body in pages.items():
        (folder / f"{name}.html").write_text(HEAD + body)
    return folder


def test_links_and_images_are_followed(tmp_path):
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "template.html").write_text("<a href='{{ nowhere }}'>")
    (tmp_path / "a b.png").write_bytes(b"")
    good = (
        "<p id='here'><a href='#here'>x</a><a href='b.html#there'>x</a><a href='#'>x</a>"
        "<a href='https://example.org/none'>x</a><img src='a%20b.png?v=1' alt='A picture'>"
    )
    bad = "<p id='there'><a href='none.html'>x</a><a href='a.html#none'>x</a><img src='a b.png'>"
    found = list(check.check_files(site(tmp_path, a=good, b=bad)))
    assert found == [
        ("b.html", "an image has no text: a b.png"),
        ("b.html", "a link leads to no place in its page: a.html#none"),
        ("b.html", "a link leads nowhere: none.html"),
    ]


def test_without_a_browser_the_files_alone_are_checked(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(check.shutil, "which", lambda name: None)
    assert check.main([str(site(tmp_path, a="<p>x</p>"))]) == 0
    assert "No Chromium found" in capsys.readouterr().out
    assert check.main([str(site(tmp_path, b="<a href='none.html'>x</a>"))]) == 1


@pytest.mark.skipif(not any(map(shutil.which, check.chromium.NAMES)), reason="no Chromium")
def test_pages_are_looked_at(tmp_path):
    pages = tmp_path / "html"
    pages.mkdir()
    site(
        pages,
        good="<h1>Good</h1><div style='overflow-x: auto'><div style='width: 3000px'>x</div></div>",
        wide="<p style='width: 900px'>wide</p>",
        broken="<script>console.error('first'); undefined.second;</script><p>x</p>",
        missing="<img src='data:,none' alt='x'>",
    )
    (pages / "bare.html").write_text("<!DOCTYPE html><html><body><p>x</p></body></html>")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(pages)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 1, done.stderr
    said = done.stderr.splitlines()
    for page, words in [
        ("wide", "scrolls sideways"),
        ("broken", "first"),
        ("broken", "second"),
        ("missing", "an image is not shown"),
        ("bare", "is without style"),
    ]:
        assert any(line.startswith(f"{page}.html: ") and words in line for line in said), (
            done.stderr
        )
    assert any("(400, light)" in line and "wide" in line for line in said)
    assert not any("1300" in line and "wide.html" in line for line in said)
    assert not any(line.startswith("good.html") for line in said), done.stderr
    assert (tmp_path / "screenshots" / "good.400.dark.jpg").stat().st_size > 500
