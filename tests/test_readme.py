"""The code in README.rst and in the pages of doc/ runs, and prints what they say it prints.

In a file, blocks share their names, top to bottom. Blocks with prompts are doctests; blocks of
``.. code-block:: python`` without them are executed. A block of another library's code, which
is there to be compared with, has ``:class: other-library`` and only has to be valid Python. So does
one that needs Dask, Ray, Spark or Arrow, with ``:class: engine``; those are run by tests/engines.
"""

import ast
import doctest
import re
import textwrap
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.rst", ROOT / "CONTRIBUTING.rst"]
PAGES += [
    page
    for page in sorted((ROOT / "doc").rglob("*.rst"))
    if not {"_build", "auto_examples", "generated"} & set(page.parts)
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
DIRECTIVE = re.compile(r"^( *)\.\. (code-block|code|sourcecode):: *(\S*) *$")


def blocks(text):
    """(first line, language, options, code) of directives; plain paragraphs of prompts too."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        found = DIRECTIVE.match(lines[number])
        if found:
            start, indent = number + 1, len(found[1])
            number = start
            while number < len(lines) and (
                not lines[number].strip()
                or len(lines[number]) - len(lines[number].lstrip()) > indent
            ):
                number += 1
            body = lines[start:number]
            options = []
            while body and body[0].strip().startswith(":"):
                options.append(body.pop(0).strip())
                start += 1
            yield start, found[3], options, textwrap.dedent("\n".join(body)) + "\n"
        elif lines[number].lstrip().startswith(">>> "):
            start = number
            while number < len(lines) and lines[number].strip():
                number += 1
            yield start, "python", [], textwrap.dedent("\n".join(lines[start:number])) + "\n"
        else:
            number += 1


def run_page(path):
    names = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    parser, report, n_blocks = doctest.DocTestParser(), [], 0
    for line, language, options, code in blocks(path.read_text()):
        if language not in ("python", "pycon"):
            continue
        n_blocks += 1
        if {":class: other-library", ":class: engine"} & {*options}:
            ast.parse(code)
        elif ">>> " in code:
            test = parser.get_doctest(code, names, path.name, str(path), line)
            runner.run(test, out=report.append, clear_globs=False)
            names.update(test.globs)
        else:
            exec(compile(code, f"{path}, line {line}", "exec"), names)
    return n_blocks, report


@pytest.fixture
def quiet(monkeypatch, tmp_path):
    """Somewhere to write files; no windows; scikit-learn's settings as they were."""
    from sklearn import config_context

    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    with config_context():
        yield
    from matplotlib import pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_code_blocks_run(path, quiet):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, report = run_page(path)
    assert not report, "\n" + "".join(report)


def test_blocks_are_found(quiet):
    n_blocks, _ = run_page(ROOT / "README.rst")
    assert n_blocks >= 1


def test_wrong_output_is_noticed(tmp_path):
    page = tmp_path / "page.rst"
    page.write_text("Text.\n\n.. code-block:: python\n\n    >>> 1 + 1\n    3\n\n>>> 2\n2\n")
    n_blocks, report = run_page(page)
    assert n_blocks == 2
    assert "Expected:\n    3\nGot:\n    2" in "".join(report)


def test_only_the_migration_page_shows_code_of_others():
    for path in PAGES:
        others = [o for *_, options, _ in blocks(path.read_text()) for o in options]
        assert path.name == "migration.rst" or ":class: other-library" not in others


def test_only_the_page_on_large_data_needs_engines():
    for path in PAGES:
        others = [o for *_, options, _ in blocks(path.read_text()) for o in options]
        assert path.name == "large_data.rst" or ":class: engine" not in others


def test_continuous_integration_runs_the_readmes_command():
    assert "make test" in (ROOT / "README.rst").read_text()
    script = ROOT / ".ci" / "run"
    if script.exists():  # not in a source distribution
        assert "make test" in script.read_text()
