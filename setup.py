import os
from glob import glob

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup

# Portable flags only: kernels that profit from wider vectors choose at run time.
FLAGS = [] if os.name == "nt" else ["-O3", "-g0", "-fno-math-errno", "-fno-trapping-math"]

extensions = [
    Extension(
        path[: -len(".pyx")].replace(os.sep, "."),
        [path],
        include_dirs=[np.get_include(), os.path.join("skchmm", "_kernels")],
        depends=sorted(glob("skchmm/_kernels/*.h")),
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
        extra_compile_args=FLAGS,
    )
    for path in sorted(glob(os.path.join("skchmm", "_kernels", "*.pyx")))
]

# Cython starts processes that may import this file.
if __name__ == "__main__":
    setup(
        ext_modules=cythonize(
            extensions,
            nthreads=int(os.environ.get("SKCHMM_BUILD_JOBS", "0")),
            compiler_directives={
                "language_level": 3,
                "boundscheck": False,
                "wraparound": False,
                "cdivision": True,
                "initializedcheck": False,
                "freethreading_compatible": True,
            },
        )
    )
