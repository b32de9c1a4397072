"""Compiles and links the kernels for other platforms; nothing of it is run.

    python .ci/cross.py [TARGET ...]          called by make cross

Needs ziglang (PyPI), which brings compilers, C libraries and linkers for all targets, and the C
files that Cython wrote (make build). Python's headers are those of the interpreter that runs this,
with a pyconfig.h for the target; numpy's come from its wheel for the target. What is made lies in
build/cross/TARGET, and for Linux can be imported there by the same version of Python.

Symbols of Python are left to the interpreter; all others must be in the C library of the target.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "skchmm" / "_kernels"
OUT = ROOT / "build" / "cross"
VERSION = f"{sys.version_info[0]}{sys.version_info[1]}"
FLAGS = ["-g0", "-fno-math-errno", "-fno-trapping-math", "-Wall", "-Wno-unused-function"]
FLAGS += ["-Werror=implicit-function-declaration", "-DNPY_NO_DEPRECATED_API=NPY_2_0_API_VERSION"]

# What of Linux's pyconfig.h does not hold on macOS.
MACOS = """
#undef HAVE_CRYPT_H
#undef SIZEOF_LONG_DOUBLE
#define SIZEOF_LONG_DOUBLE 8
"""
# What the headers ask for on Windows; there are no such parts in pyconfig.h of another system.
WINDOWS = """
#define MS_WINDOWS 1
#define MS_WIN32 1
#define MS_WIN64 1
#define NT_THREADS 1
#define WITH_THREAD 1
#define HAVE_DECLSPEC_DLL 1
#define Py_NO_ENABLE_SHARED_DEFAULT 1
#define Py_ENABLE_SHARED 1
#define PLATFORM "win32"
#define PY_SSIZE_T_MAX 0x7fffffffffffffffLL
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_INT 4
#define SIZEOF_SHORT 2
#define SIZEOF_DOUBLE 8
#define SIZEOF_FLOAT 4
#define SIZEOF_OFF_T 4
#define SIZEOF_FPOS_T 8
#define SIZEOF_WCHAR_T 2
#define ALIGNOF_SIZE_T 8
#define ALIGNOF_MAX_ALIGN_T 16
#define HAVE_STDARG_PROTOTYPES 1
#define HAVE_STDDEF_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_WCHAR_H 1
#define HAVE_ERRNO_H 1
typedef long long Py_ssize_t;
#define HAVE_PY_SSIZE_T 1
"""
# By target of zig: platform of numpy's wheel, how an extension's name ends, flags of the linker.
TARGETS = {
    "aarch64-linux-gnu.2.28": (
        "manylinux_2_28_aarch64",
        f".cpython-{VERSION}-aarch64-linux-gnu.so",
        ["-shared"],
    ),
    "aarch64-linux-musl": (
        "musllinux_1_2_aarch64",
        f".cpython-{VERSION}-aarch64-linux-musl.so",
        ["-shared"],
    ),
    "x86_64-linux-musl": (
        "musllinux_1_2_x86_64",
        f".cpython-{VERSION}-x86_64-linux-musl.so",
        ["-shared"],
    ),
    "x86_64-windows-gnu": ("win_amd64", f".cp{VERSION}-win_amd64.pyd", ["-shared"]),
    "aarch64-macos": (
        "macosx_14_0_arm64",
        f".cpython-{VERSION}-darwin.so",
        ["-shared", "-Wl,-undefined,dynamic_lookup"],
    ),
    "x86_64-macos": (
        "macosx_14_0_x86_64",
        f".cpython-{VERSION}-darwin.so",
        ["-shared", "-Wl,-undefined,dynamic_lookup"],
    ),
}
# Run by .ci/arm64, so compiled as by setup.py; to see that others compile takes less.
RUN = "aarch64-linux-gnu.2.28"
ZIG = [sys.executable, "-m", "ziglang"]


def run(*command):
    """Its output; ends the program, with that, where it fails."""
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def headers(target, platform, folder):
    """Folders with the headers of Python and numpy for a target."""
    python = folder / "python"
    shutil.copytree(sysconfig.get_path("include"), python)
    text = Path(sysconfig.get_config_h_filename()).read_text()
    if "windows" in target:
        text = WINDOWS
    elif "macos" in target:
        text += MACOS
    (python / "pyconfig.h").write_text(text)

    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q"]
    platforms = ["--platform", platform]
    if platform.startswith("macosx"):
        platforms += ["--platform", platform.replace("14_0", "11_0")]
        platforms += ["--platform", platform.replace("14_0", "10_14")]
    if platform.startswith("manylinux"):
        platforms += ["--platform", platform.replace("2_28", "2_27")]
    run(*pip, "--no-deps", "--only-binary=:all:", *platforms, "-d", wheels,
        f"numpy=={np.__version__}")  # fmt: skip
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
        inside = [name for name in wheel.namelist() if name.startswith("numpy/_core/include/")]
        wheel.extractall(folder, inside)
    return python, folder / "numpy" / "_core" / "include"


def import_library(objects, folder):
    """A library that says of the symbols of Python that they will be there."""
    undefined = run(shutil.which("llvm-nm") or "nm", "-u", *objects)
    names = sorted(
        {n.removeprefix("__imp_") for n in re.findall(r"\b(?:__imp_)?_?Py\w+", undefined)}
    )
    definition = folder / "python.def"
    data = re.compile(r"_?Py_\w+Struct|Py\w+_Type|PyExc_\w+|_Py_No\w+|_Py_\w+Object")
    definition.write_text(
        f"LIBRARY python{VERSION}.dll\nEXPORTS\n"
        + "".join(f"  {name}{' DATA' if data.fullmatch(name) else ''}\n" for name in names)
    )
    library = folder / "libpython.a"
    run(*ZIG, "dlltool", "-m", "i386:x86-64", "-d", definition, "-l", library)
    return library


def build(target):
    platform, ending, link = TARGETS[target]
    folder = OUT / target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    python, numpy = headers(target, platform, folder)
    sources = sorted(KERNELS.rglob("*.c"))
    if not sources:
        sys.exit("there are no C files: make build first")
    cc = [*ZIG, "cc", "-target", target, "-O3" if target == RUN else "-O1"]
    include = [f"-I{path}" for path in (python, numpy, KERNELS)]

    def compiled(source):
        out = folder / source.relative_to(ROOT).with_suffix(".o")
        out.parent.mkdir(parents=True, exist_ok=True)
        warnings = run(*cc, *FLAGS, *include, "-fPIC", "-c", source, "-o", out)
        return out, warnings

    with ThreadPoolExecutor(cpu_count()) as pool:
        done = list(pool.map(compiled, sources))
    ours = sorted({line for _, text in done for line in text.splitlines()
                   if re.search(r"\.h:\d+:\d+: warning", line)})  # fmt: skip
    print(*ours, sep="\n", end="\n" if ours else "")
    objects = [out for out, _ in done]
    library = [import_library(objects, folder)] if "windows" in target else []
    for out in objects:
        run(*cc, *link, out, *library, "-o", out.with_name(out.stem + ending))
        out.unlink()
    for path in [*ROOT.glob("skchmm/**/*.py"), *ROOT.glob("skchmm/datasets/data/*")]:
        to = folder / path.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    print(f"{target}: {len(objects)} extensions compiled and linked", flush=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or TARGETS:
        if name not in TARGETS:
            sys.exit(f"{name} is not one of {', '.join(TARGETS)}")
        build(name)
