/* The flag that ends a call, of the thread that made it or of those that work for it. */
#ifndef SKCHMM_INTERRUPT_H
#define SKCHMM_INTERRUPT_H

#include <stddef.h>
#include <stdint.h>

#include "shared/atomics.h"
#include "shared/clock.h"

static THREAD_LOCAL long own_flag = 0;
static THREAD_LOCAL long *shared_flag = NULL;

static inline long *flag_here(void)
{
    return shared_flag != NULL ? shared_flag : &own_flag;
}

/* Tenths of a second; only differences mean something. */
static inline int64_t tenths(void)
{
    return (int64_t)(microseconds() / 100000);
}

#endif
