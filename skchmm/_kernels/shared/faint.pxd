cdef extern from "shared/faint.h" nogil:
    unsigned faint_off()
    void faint_back(unsigned before)
