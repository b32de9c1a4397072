import os
from glob import glob

import Cython
import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup

KERNELS = os.path.join("skchmm", "_kernels")
SHARED = "skchmm._kernels._cython"

# Portable flags only: kernels that profit from wider vectors choose at run time.
FLAGS = [] if os.name == "nt" else ["-O3", "-g0", "-fno-math-errno", "-fno-trapping-math"]
# Files that are translated, and compiled, at a time.
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
JOBS = int(os.environ.get("SKCHMM_BUILD_JOBS") or CORES)
# More of them, after these: for sanitizers.
MORE_FLAGS = os.environ.get("SKCHMM_FLAGS", "").split()
FLAGS += MORE_FLAGS


# C files are made from the declarations of one numpy, and may not compile with another's headers:
# that of another Python, say, which was used in this checkout before.
MADE_WITH = os.path.join(KERNELS, "made_with.txt")
VERSIONS = f"numpy {np.__version__}, Cython {Cython.__version__}"


def made_with():
    if not os.path.exists(MADE_WITH):
        return None
    with open(MADE_WITH) as file:
        return file.read()


def sources(suffix):
    return sorted(glob(os.path.join(KERNELS, "**", f"*.{suffix}"), recursive=True))


extensions = [
    Extension(
        path[: -len(".pyx")].replace(os.sep, "."),
        [path],
        include_dirs=[np.get_include(), KERNELS],
        depends=sources("h"),
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
        extra_compile_args=FLAGS,
        extra_link_args=MORE_FLAGS,
    )
    for path in sources("pyx")
]
# What Cython needs for typed arrays, compiled once instead of into every kernel; no step of a
# recursion runs in it.
extensions.append(
    Extension(
        SHARED,
        [os.path.join(KERNELS, "_cython.c")],
        extra_compile_args=[flag.replace("-O3", "-O1") for flag in FLAGS],
        extra_link_args=MORE_FLAGS,
    )
)

# Cython starts processes that may import this file.
if __name__ == "__main__":
    modules = cythonize(
        extensions,
        force=made_with() != VERSIONS,
        nthreads=JOBS if JOBS > 1 and os.name != "nt" else 0,
        shared_utility_qualified_name=SHARED,
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
            # Shown by tests/inference/test_stress.py: "Threads" in doc/developers.rst.
            "freethreading_compatible": True,
        },
    )
    with open(MADE_WITH, "w") as file:
        file.write(VERSIONS)
    setup(ext_modules=modules, options={"build_ext": {"parallel": JOBS}})
