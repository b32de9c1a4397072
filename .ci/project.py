"""Looks at what describes the project: metadata, workflows, citation, recipe, licences of data.

    python .ci/project.py                     called by make check-project

Needs the packages of the extra "release". Says what is wrong, and ends with 1 if anything is.
"""

import gzip
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
DATA = ROOT / "skchmm" / "datasets" / "data"
wrong = []


def run(name, *arguments):
    """A tool of the environment, or else on the path; whether it is there."""
    tool = next((p for p in (BIN / name, shutil.which(name)) if p and Path(p).exists()), None)
    if tool is None:
        return False
    done = subprocess.run([tool, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)
    print(f"{name}: {'fine' if done.returncode == 0 else 'failed'}")
    if done.returncode:
        wrong.append(f"{name}\n{done.stdout}{done.stderr}")
    return True


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
run("cffconvert", "--validate", "-i", "CITATION.cff")
workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
run("zizmor", "--offline", "--quiet", "--min-severity", "medium", ".github")
if not run("actionlint", *workflows):
    print("actionlint: not here (https://github.com/rhysd/actionlint), so not run")
check_version()
check_data()
if wrong:
    sys.exit("\n".join(wrong))
