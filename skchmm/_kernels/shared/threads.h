/* Threads that live from call to call and share the work of one of them at a time.
 *
 * They never touch the interpreter, so they need no lock of it: that they begin and end within
 * microseconds is what makes them pay for calls of a millisecond.
 */
#ifndef SKCHMM_THREADS_H
#define SKCHMM_THREADS_H

#include <pythread.h>
#include <stdint.h>

#include "shared/atomics.h"
#include "shared/clock.h"
#include "shared/pieces.h"

typedef void (*Task)(void *work, int64_t thread);

/* A worker that waits looks for so many microseconds before it sleeps: to be woken takes 50. */
enum { PATIENCE = 1000, LOOKS = 64 };

enum { ASLEEP, AWAKE, CALLED, WORKING }; /* of a worker */
enum { OPEN, WAITED_FOR, ENDED };        /* of the task */

typedef struct {
    PyThread_type_lock bell;
    int64_t number;
    long state;
    char apart[64]; /* from the next one, which another thread looks at */
} Worker;

/* How many threads kernels that this one calls may use. */
static THREAD_LOCAL int64_t allowed = 1;

static struct {
    PyThread_type_lock taken; /* by the call whose task it is */
    PyThread_type_lock over;
    Task task;
    void *work;
    long unfinished; /* threads, the calling one included */
    long state;
    int64_t n_workers;
    Worker *workers;
} pool;

/* Wait a little for what mostly comes soon: whether `*p` became `value`. */
static int spin_until(volatile long *p, long value)
{
    uint64_t begin = microseconds();
    do { /* a clock that is set back ends it as well */
        for (int i = 0; i < LOOKS; i++) {
            if (ATOMIC_LOAD(p) == value)
                return 1;
            PAUSE();
        }
    } while (microseconds() - begin < PATIENCE);
    return 0;
}

static void finish_one(void)
{
    if (ATOMIC_ADD(&pool.unfinished, -1) == 0 && ATOMIC_SWAP(&pool.state, ENDED) == WAITED_FOR)
        PyThread_release_lock(pool.over);
}

static void serve(void *arg)
{
    Worker *self = arg;
    for (;;) {
        if (!spin_until(&self->state, CALLED) && ATOMIC_SWAP_IF(&self->state, AWAKE, ASLEEP))
            PyThread_acquire_lock(self->bell, WAIT_LOCK);
        /* The call may have been taken back. */
        if (ATOMIC_SWAP_IF(&self->state, CALLED, WORKING)) {
            pool.task(pool.work, self->number);
            ATOMIC_SWAP(&self->state, AWAKE);
            finish_one();
        }
    }
}

/* A pool without threads; after a fork, those of the parent are not there. */
static int new_pool(void)
{
    pool.n_workers = 0;
    pool.taken = PyThread_allocate_lock();
    pool.over = PyThread_allocate_lock();
    pool.workers = PyMem_RawCalloc(MOST_THREADS, sizeof(Worker));
    if (pool.taken == NULL || pool.over == NULL || pool.workers == NULL)
        return -1;
    PyThread_acquire_lock(pool.over, WAIT_LOCK);
    return 0;
}

static void hire(int64_t n_workers)
{
    while (pool.n_workers < n_workers && pool.n_workers < MOST_THREADS - 1) {
        Worker *worker = pool.workers + pool.n_workers;
        if (worker->bell == NULL && (worker->bell = PyThread_allocate_lock()) == NULL)
            return;
        PyThread_acquire_lock(worker->bell, NOWAIT_LOCK);
        worker->state = AWAKE;
        worker->number = pool.n_workers + 1;
        if (PyThread_start_new_thread(serve, worker) == PYTHREAD_INVALID_THREAD_ID)
            return;
        pool.n_workers++;
    }
}

/* Wake them, if they are asleep, since there will be work soon. */
static void rouse(int64_t n_threads)
{
    int64_t i;
    if (n_threads <= 1 || !PyThread_acquire_lock(pool.taken, NOWAIT_LOCK))
        return;
    hire(n_threads - 1);
    for (i = 0; i < n_threads - 1 && i < pool.n_workers; i++)
        if (ATOMIC_SWAP_IF(&pool.workers[i].state, ASLEEP, AWAKE))
            PyThread_release_lock(pool.workers[i].bell);
    PyThread_release_lock(pool.taken);
}

/* Call task(work, thread) in this thread and in up to n_threads - 1 others. Another call's task is not
 * waited for: then this thread works alone. */
static void in_threads(Task task, void *work, int64_t n_threads)
{
    int64_t i, n = n_threads - 1;
    if (n <= 0 || !PyThread_acquire_lock(pool.taken, NOWAIT_LOCK)) {
        task(work, 0);
        return;
    }
    n = n < pool.n_workers ? n : pool.n_workers;
    pool.task = task;
    pool.work = work;
    pool.unfinished = n + 1;
    pool.state = OPEN;
    for (i = 0; i < n; i++)
        if (ATOMIC_SWAP(&pool.workers[i].state, CALLED) == ASLEEP)
            PyThread_release_lock(pool.workers[i].bell);
    task(work, 0);
    for (i = 0; i < n; i++)
        if (ATOMIC_SWAP_IF(&pool.workers[i].state, CALLED, AWAKE))
            ATOMIC_ADD(&pool.unfinished, -1);
    finish_one();
    if (!spin_until(&pool.state, ENDED) && ATOMIC_SWAP(&pool.state, WAITED_FOR) != ENDED)
        PyThread_acquire_lock(pool.over, WAIT_LOCK);
    PyThread_release_lock(pool.taken);
}

#endif
