from libc.math cimport log


cdef inline double log_lossy(double smallest) noexcept nogil:
    """Emission ratios below this may lose something; `smallest` is the smallest weight.

    Those below 1e-100 may, and those that with a weight use up what is below 1e-200.
    """
    return max(-230.0, -253.0 - log(smallest))
