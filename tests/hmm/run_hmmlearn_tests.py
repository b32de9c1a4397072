#!/usr/bin/env python3
"""Run hmmlearn's own test files, unchanged, against another module.

    python tests/hmm/run_hmmlearn_tests.py --standin skchmm.hmm
    HMM_STANDIN=skchmm.hmm python tests/hmm/run_hmmlearn_tests.py

hmmlearn must be installed: its tests ship inside its wheel, and everything
that is not replaced (hmmlearn.base, .vhmm, .utils, _hmmc ...) stays the real
one.  ``--tests DIR`` takes the test files of an unpacked sdist instead
(.../src/hmmlearn/tests).  No hmmlearn code is kept here.

How: the real submodules are imported first, then the stand-in, and only then
are ``sys.modules["hmmlearn.hmm"]`` and the attribute ``hmmlearn.hmm`` pointed
at the stand-in.  So ``from hmmlearn import hmm``, ``from .. import hmm`` and
``from ..hmm import GMMHMM`` in the tests all find it, while hmmlearn's own
modules keep the real one.  After collection every test module is checked for
names that still come from the real module; such a leak is an error (exit 3).

Each test is put into one group by reading its source (and that of the helpers
it calls):
    public     uses the stand-in through public names only
    private    uses the stand-in and some ``_name`` of it (``_check`` ...)
    unrelated  never touches what was replaced: says nothing of the stand-in
The exit status is 0 when no test of the chosen groups failed, else 1.
"""

import argparse
import ast
import collections
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import sys
import textwrap
import time

REAL = ("_utils", "utils", "stats", "_kl_divergence", "_hmmc", "base", "_emissions", "hmm", "vhmm")
GROUPS = ("public", "private", "unrelated")
OUTCOMES = ("passed", "failed", "error", "xfailed", "xpassed", "skipped")


# --------------------------------------------------------------- replacing
def install(replace, tests):
    """Point hmmlearn.<sub> at another module for each sub in *replace*."""
    hmmlearn = importlib.import_module("hmmlearn")
    real = {s: importlib.import_module("hmmlearn." + s) for s in REAL}
    standins = {s: importlib.import_module(m) for s, m in replace.items()}
    for sub, mod in standins.items():
        sys.modules["hmmlearn." + sub] = mod
        setattr(hmmlearn, sub, mod)
    # The tests are a package and use relative imports: make the directory
    # asked for the package ``hmmlearn.tests``, wherever it lies.
    spec = importlib.util.spec_from_file_location(
        "hmmlearn.tests", tests / "__init__.py", submodule_search_locations=[str(tests)]
    )
    pkg = importlib.util.module_from_spec(spec)
    sys.modules["hmmlearn.tests"] = pkg
    hmmlearn.tests = pkg
    spec.loader.exec_module(pkg)
    return hmmlearn, real, standins


def leaks(module, real, standins):
    """Names in a test module that still come from a replaced real module."""
    out = []
    for name, obj in vars(module).items():
        for sub, alt in standins.items():
            if alt is real[sub]:
                continue
            home = "hmmlearn." + sub
            if obj is real[sub] or (
                inspect.isclass(obj)
                and obj.__module__ == home
                and getattr(alt, obj.__name__, None) is not obj
            ):
                out.append(name)
    return out


# ----------------------------------------------------------- classification
def _tree(obj):
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(obj)))
    except (OSError, TypeError, SyntaxError, IndentationError):
        return None


def targets(real, standins):
    """ids of the replaced modules and of what they stand in for."""
    out = set()
    for sub, mod in standins.items():
        names = getattr(real[sub], "__all__", None) or [
            n
            for n, v in vars(real[sub]).items()
            if getattr(v, "__module__", None) == "hmmlearn." + sub
        ]
        out |= {id(mod)} | {id(getattr(mod, n)) for n in names if hasattr(mod, n)}
    return out


def classify(item, replaced):
    """(group, sorted private names used) for one collected test."""
    func, cls = item.function, getattr(item, "cls", None)
    todo, seen, touched, private = [func], set(), False, set()
    if cls is not None:  # setup code runs for each test of the class
        todo += [getattr(cls, n) for n in ("setup_method",) if hasattr(cls, n)]
        for n in dir(cls):
            f = getattr(cls, n)
            if type(f).__name__ == "FixtureFunctionDefinition":
                todo.append(f._get_wrapped_function())
    while todo:
        f = todo.pop()
        f = inspect.unwrap(f) if callable(f) else f
        if id(f) in seen:
            continue
        seen.add(id(f))
        tree = _tree(f)
        if tree is None:
            continue
        ns = f.__globals__ if hasattr(f, "__globals__") else vars(sys.modules[f.__module__])
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                a = node.attr
                if a.startswith("_") and not a.startswith("__"):
                    private.add(a)
                if (
                    cls is not None
                    and isinstance(node.value, ast.Name)
                    and node.value.id in ("self", "cls")
                ):
                    m = inspect.getattr_static(cls, a, None)
                    m = getattr(m, "__func__", m)  # static- or classmethod
                    if inspect.isfunction(m):
                        todo.append(m)
            elif isinstance(node, ast.Name) and node.id in ns:
                obj = ns[node.id]
                if id(obj) in replaced:
                    touched = True
                if inspect.ismodule(obj):
                    if obj.__name__.rpartition(".")[2].startswith("_"):
                        private.add(obj.__name__)
                elif (inspect.isfunction(obj) or inspect.isclass(obj)) and str(
                    getattr(obj, "__module__", "")
                ).startswith("hmmlearn.tests"):
                    todo.append(obj)
    group = "unrelated" if not touched else "private" if private else "public"
    return group, sorted(private)


# ------------------------------------------------------------------- pytest
class Plugin:
    def __init__(self, real, standins, groups):
        self.real, self.standins, self.groups = real, standins, groups
        self.info, self.result, self.secs = {}, {}, collections.Counter()
        self.leaks, self.collect_errors, self.messages = {}, [], {}

    def pytest_collectreport(self, report):
        if report.failed:
            self.collect_errors.append((report.nodeid, str(report.longrepr)))

    def pytest_collection_modifyitems(self, config, items):
        keep, drop, replaced = [], [], targets(self.real, self.standins)
        for it in items:
            bad = leaks(it.module, self.real, self.standins)
            if bad:
                self.leaks[it.module.__name__] = bad
            group, private = classify(it, replaced)
            self.info[it.nodeid] = (it.path.name, group, private)
            (keep if group in self.groups else drop).append(it)
        if drop:
            config.hook.pytest_deselected(items=drop)
            items[:] = keep

    def pytest_runtest_logreport(self, report):
        self.secs[report.nodeid] += report.duration
        xf = hasattr(report, "wasxfail")
        if report.when == "call" or report.outcome != "passed":
            if xf:
                out = "xpassed" if report.outcome == "passed" else "xfailed"
            elif report.when != "call" and report.outcome == "failed":
                out = "error"
            else:
                out = report.outcome
            if self.result.get(report.nodeid) not in ("failed", "error"):
                self.result[report.nodeid] = out
            if out in ("failed", "error"):
                crash = getattr(report.longrepr, "reprcrash", None)
                self.messages[report.nodeid] = (
                    (crash.message if crash else str(report.longrepr)).splitlines() or [""]
                )[0][:160]


def table(rows, head):
    rows = [[str(c) for c in r] for r in [head, *rows]]
    w = [max(len(r[i]) for r in rows) for i in range(len(head))]
    for r in rows:
        print("  ".join(c.ljust(w[i]) if i == 0 else c.rjust(w[i]) for i, c in enumerate(r)))


def main(argv=None):
    ap = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="Further arguments go to pytest."
    )
    ap.add_argument(
        "--standin",
        default=os.environ.get("HMM_STANDIN", "hmmlearn.hmm"),
        help="module to stand in for hmmlearn.hmm "
        "(default: $HMM_STANDIN, else hmmlearn.hmm itself)",
    )
    ap.add_argument(
        "--replace",
        action="append",
        default=[],
        metavar="SUB=MODULE",
        help="also replace hmmlearn.SUB, e.g. base=skchmm.base",
    )
    ap.add_argument(
        "--tests", type=pathlib.Path, help="hmmlearn's tests directory (default: the installed)"
    )
    ap.add_argument(
        "--group",
        action="append",
        choices=GROUPS,
        help="run only this group (may repeat; default: all)",
    )
    ap.add_argument(
        "--files", action="append", default=[], help="run only these test files, by name"
    )
    ap.add_argument(
        "--seed", type=int, default=0, help="seed that hmmlearn's conftest reads (default 0)"
    )
    ap.add_argument("--json", type=pathlib.Path, help="write results there")
    ap.add_argument("--list", action="store_true", help="only list the tests and their groups")
    args, rest = ap.parse_known_args(argv)

    # The script's directory must not shadow anything; the current one is
    # where a stand-in under development usually lies.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        import pytest
    except ImportError:
        ap.error("pytest is not installed")
    spec = importlib.util.find_spec("hmmlearn")
    if spec is None:
        ap.error("hmmlearn is not installed")
    tests = args.tests or pathlib.Path(spec.origin).parent / "tests"
    tests = tests.resolve()
    if not (tests / "__init__.py").exists():
        ap.error(f"no hmmlearn tests in {tests}")
    replace = {"hmm": args.standin}
    replace.update(r.split("=", 1) for r in args.replace)
    unknown = set(replace) - set(REAL)
    if unknown:
        ap.error(f"hmmlearn has no {unknown}")

    os.environ["HMMLEARN_SEED"] = str(args.seed)
    hmmlearn, real, standins = install(replace, tests)
    plug = Plugin(real, standins, args.group or list(GROUPS))
    paths = [str(tests / f) for f in args.files] if args.files else [str(tests)]
    opts = [
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tests.parent),
        "-c",
        os.devnull,
        "--disable-warnings",
        "--tb=no",
        "--no-header",
        "--no-summary",
        "--continue-on-collection-errors",
    ]
    if args.list:
        opts += ["--collect-only", "-qq"]
    t0 = time.perf_counter()
    code = int(pytest.main([*opts, *rest, *paths], plugins=[plug]))
    secs = time.perf_counter() - t0

    print(f"\nhmmlearn {hmmlearn.__version__}, tests from {tests}")
    for sub, mod in standins.items():
        print(
            f"hmmlearn.{sub} -> {mod.__name__} "
            f"({getattr(mod, '__file__', None)})" + ("  [the real one]" if mod is real[sub] else "")
        )
    if args.list:
        for nid, (_f, g, priv) in plug.info.items():
            print(f"{g:9s} {nid}" + (f"   {','.join(priv)}" if priv else ""))
        return code
    for key, pos in (("file", 0), ("group", 1)):
        count = collections.defaultdict(collections.Counter)
        dur = collections.Counter()
        for nid, out in plug.result.items():
            k = plug.info[nid][pos]
            count[k][out] += 1
            dur[k] += plug.secs[nid]
        print()
        rows = [
            [k, *(count[k][o] for o in OUTCOMES), sum(count[k].values()), f"{dur[k]:.1f}"]
            for k in sorted(count)
        ]
        tot = sum(count.values(), collections.Counter())
        rows.append(
            ["total", *(tot[o] for o in OUTCOMES), sum(tot.values()), f"{sum(dur.values()):.1f}"]
        )
        table(rows, [key, *OUTCOMES, "all", "s"])
    bad = [n for n, o in plug.result.items() if o in ("failed", "error")]
    if bad:
        print("\nnot passed:")
        for n in bad:
            print(f"  [{plug.info[n][1]}] {n.rpartition('tests/')[2]}: {plug.messages.get(n, '')}")
    for nid, msg in plug.collect_errors:
        print(f"\nnot collected: {nid}\n{msg.splitlines()[-1]}")
    print(f"\nwall {secs:.0f} s, seed {args.seed}")
    if args.json:
        args.json.write_text(
            json.dumps(
                {
                    n: {
                        "file": plug.info[n][0],
                        "group": plug.info[n][1],
                        "private": plug.info[n][2],
                        "outcome": o,
                        "seconds": round(plug.secs[n], 4),
                    }
                    for n, o in plug.result.items()
                },
                indent=1,
            )
        )
    if plug.leaks:
        print("LEAK: still from the real hmmlearn:", plug.leaks)
        return 3
    if plug.collect_errors or not plug.result:
        return 2
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
