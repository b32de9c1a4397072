"""Looks for what Microsoft's compiler would refuse in the kernels, without having it.

    python .ci/msvc.py                        called by make cross

clang (of ziglang, as in cross.py) reads them as if it were MSVC: with its predefined macros, so
that their branches for it are taken, its keywords, a C library made to look like its own (msvc.h),
and numpy's headers of the Windows wheel. Nothing is compiled. What clang knows and MSVC does not,
it would let pass: builtins and attributes of GNU are looked for by name, in what the preprocessor
leaves.
"""

import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

import ziglang
from cross import KERNELS, OUT, ROOT, ZIG, headers, run

FLAGS = ["--target=x86_64-pc-windows-msvc", "-fms-compatibility", "-fms-extensions"]
FLAGS += ["-fms-compatibility-version=19.30", "-std=c99", "-U__STDC_VERSION__", "-nostdinc"]
# instructions that MSVC lets use without being told to
FLAGS += ["-mavx2", "-mfma", "-mavx512f", "-mavx512dq"]
FLAGS += ["-DNPY_NO_DEPRECATED_API=NPY_2_0_API_VERSION"]
# arrays of a variable size, statements in expressions, arithmetic on void *, ...
REFUSED = ["-Werror=vla", "-Werror=gnu", "-Werror=pointer-arith", "-Werror=c11-extensions"]
REFUSED += ["-Werror=implicit-function-declaration", "-Wno-gnu-zero-variadic-macro-arguments"]
REFUSED += ["-Wno-incompatible-pointer-types-discards-qualifiers"]
# not those that stand for vector instructions in clang's own headers
GNU = re.compile(
    r"\b(__(?:builtin|sync|atomic)_(?!ia32_)\w+|__attribute__|__asm__|__typeof__|_Atomic|restrict)\b"
)


def of_gnu(source, command):
    """Names of GNU in lines of the kernels, after the preprocessor."""
    found, here = [], False
    for line in run(*command, "-E", source).splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            here = marker[1].startswith(str(KERNELS))
        elif here and (name := GNU.search(line)):
            found.append(f"{source}: {name[1]}: {line.strip()}")
    return found


def check(source, command):
    """What is wrong with a file."""
    try:
        run(*command, *REFUSED, "-fsyntax-only", source)
    except SystemExit as refused:
        return [str(refused)]
    return of_gnu(source, command)


folder = OUT / "x86_64-windows-msvc"
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
python, numpy = headers("x86_64-windows-msvc", "win_amd64", folder)
library = Path(ziglang.__file__).parent / "lib"
system = [library / "include", library / "libc" / "include" / "any-windows-any", python, numpy]
command = [*ZIG, "clang", *FLAGS, *(f"-isystem{path}" for path in system), f"-I{KERNELS}"]
command += ["-include", ROOT / ".ci" / "msvc.h"]
sources = sorted(KERNELS.rglob("*.c"))
with ThreadPoolExecutor(cpu_count()) as pool:
    wrong = [each for found in pool.map(lambda s: check(s, command), sources) for each in found]
if wrong or not sources:
    sys.exit("\n".join(wrong) or "there are no C files: make build first")
print(f"x86_64-windows-msvc: {len(sources)} extensions read as MSVC would")
