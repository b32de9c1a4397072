#ifndef SKCHMM_CLOCK_H
#define SKCHMM_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Only differences mean something, and only while nobody sets the clock. */
static inline uint64_t microseconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (uint64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

#endif
