"""Tests of the kernels on Windows, by wine.

    python .ci/wine.py FOLDER [arguments of pytest]      called by make test-windows

FOLDER has the embeddable package of Python for Windows, unpacked, of the version that runs this:
cross.py has compiled for that. Needs wine and objdump. What is made stays in build/wine.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from cross import OUT, ROOT, VERSION, ZIG, run

HOME = ROOT / "build" / "wine"
TARGET = OUT / "x86_64-windows-gnu"
# The first three as in .ci/arm64; under wine, workers of joblib do not end. Some tests of threads
# (tests/inference/test_guest.py) fail there, so those of inference are not run unless asked for.
LEFT_OUT = "not interrupts and not limits and not after_a_fork and not workers_of_joblib"
# Functions of complex numbers, of the C library, that numpy asks for and wine 8 does not have.
COMPLEX = ["cabs", "carg", "catan", "ccos", "ccosh", "cexp", "clog", "cpow", "csin", "csinh"]
COMPLEX += ["csqrt", "ctan", "ctanh"]


def packages():
    folder = HOME / f"packages-{VERSION}"
    if not folder.exists():
        run(sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--target",
            folder, "--only-binary=:all:", "--implementation", "cp", "--platform", "win_amd64",
            "--platform", "any", "numpy", "scipy", "scikit-learn", "pandas", "pytest",
            "hypothesis", "colorama")  # fmt: skip
    return folder


def put_before(library, folder):
    """The C library of wine under another name, and one in its place that has the rest too.

    What numpy needs to be imported does what it should; what no test calls ends the program.
    """
    shutil.copy(library, folder / "ucrtwine.dll")
    table = run("objdump", "-p", library).partition("[Ordinal/Name Pointer] Table")[2]
    names = [line.split()[-1] for line in table.splitlines() if line.startswith("\t[")]
    code = ["int DllMainCRTStartup(void *a, unsigned b, void *c) { return 1; }", "int _fltused;"]
    ours = set()
    for end, real in (("", "double"), ("f", "float"), ("l", "double")):
        code.append(f"typedef struct {{ {real} parts[2]; }} complex{end};")
        for part, name in enumerate(("creal", "cimag")):
            code.append(f"{real} our_{name}{end}(complex{end} z) {{ return z.parts[{part}]; }}")
        code += [f"void our_{name}{end}(void) {{ __builtin_trap(); }}" for name in COMPLEX]
        ours |= {name + end for name in (*COMPLEX, "creal", "cimag")}
    (HOME / "ucrt.c").write_text("\n".join(code))
    exports = [f"{n} = {'our_' if n in ours else 'ucrtwine.'}{n}\n" for n in names]
    (HOME / "ucrt.def").write_text("LIBRARY ucrtbase.dll\nEXPORTS\n" + "".join(exports))
    run(*ZIG, "cc", "-target", "x86_64-windows-gnu", "-shared", "-nostdlib", "-O1", HOME / "ucrt.c",
        HOME / "ucrt.def", "-o", folder / "ucrtbase.dll")  # fmt: skip


def windows(path):
    return "Z:" + str(path).replace("/", "\\")


if __name__ == "__main__":
    given, *asked = sys.argv[1:]
    python = HOME / f"python-{VERSION}"
    shutil.rmtree(python, ignore_errors=True)
    shutil.copytree(given, python)
    paths = [f"python{VERSION}.zip", ".", windows(TARGET), windows(packages()), "import site"]
    (python / f"python{VERSION}._pth").write_text("\n".join(paths) + "\n")
    put_before(next(Path("/usr/lib").rglob("wine/x86_64-windows/ucrtbase.dll")), python)

    shutil.rmtree(TARGET / "tests", ignore_errors=True)
    shutil.copytree(ROOT / "tests", TARGET / "tests")
    shutil.copy(ROOT / "pyproject.toml", TARGET)
    wine = {"WINEPREFIX": str(HOME / "prefix"), "WINEDEBUG": "-all"}
    subprocess.run(["wine", "wineboot", "--init"], env=os.environ | wine, check=True)
    wine["WINEDLLOVERRIDES"] = "ucrtbase=n"  # from here on not wine's own
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    asked = asked or ["tests/kernels", "tests/graph", "tests/controller"]
    command = ["wine", python / "python.exe", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    # Through a pipe: Python under wine cannot write to a file as its standard output.
    tests = subprocess.Popen(
        [*map(str, command), "-k", LEFT_OUT, *asked], cwd=TARGET, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=os.environ | wine | threads,
    )  # fmt: skip
    for line in tests.stdout:
        print(line.decode(errors="replace").rstrip(), flush=True)
    sys.exit(tests.wait())
