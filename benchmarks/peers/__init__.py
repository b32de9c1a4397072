"""Our code and that of other libraries, side by side: ``python -m benchmarks.peers``."""

import os

# Before anything loads BLAS, numba or XLA: everybody has one thread.
for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR"):
    os.environ.setdefault(f"{_name}_NUM_THREADS", "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)
