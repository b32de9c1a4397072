"""The machine, the versions, and one thread."""

import os
import platform
from contextlib import contextmanager, nullcontext
from importlib import metadata
from pathlib import Path


def describe_machine():
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def versions(packages):
    """Name -> version, None where not installed."""
    found = {"Python": platform.python_version()}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


@contextmanager
def one_thread():
    """BLAS and OpenMP keep to one thread."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        limits = nullcontext()
    else:
        limits = threadpool_limits(1)
    with limits:
        yield


def processor_time():
    """Seconds of all processors so far: (busy, wanted but taken by the host), where Linux tells."""
    try:
        times = list(map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:]))
    except OSError:
        return 0.0, 0.0
    ticks = os.sysconf("SC_CLK_TCK")
    idle, stolen = times[3] + times[4], times[7]
    return (sum(times[:8]) - idle - stolen) / ticks, stolen / ticks


def _processor():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown processor"
