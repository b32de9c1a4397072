"""Every threshold of the choice of kernels, in one place.

`chain.py` and `schedule.py` read these when they are called, so a test can change one for a moment.
All of them only trade time and memory: answers do not depend on them.
"""

from dataclasses import dataclass

MiB = 1 << 20


@dataclass
class Settings:
    """Sizes at which another kernel, or another order of work, becomes the better one."""

    # A table over all steps that is larger than this is not kept whole: some of its rows are, and
    # the others are computed again on the way back. What does not fit the cache costs more to store
    # than to compute.
    table_bytes: int = MiB // 2

    # At most so many bytes of log-likelihoods are computed before they are worked on. With fewer,
    # the tables that a kernel sets up would cost more than they save; with more, what is given back
    # after a call goes to the system, which has to clear it for the next one.
    frames_bytes: int = 16 * MiB

    # Eight sequences are worked on side by side, one per lane, while their rows fit the cache,
    # while edges (not whole rows of a matrix) are what a step costs, and while the lanes are not
    # too empty.
    lanes_bytes: int = 4 * MiB
    lanes_edges: int = 3000
    lanes_fill: int = 2  # of the eight lanes, so many must be in use on average
    lanes_smallest_weight: float = 1e-100  # the product of two smaller ones is no double
    # What no other kernel can hold goes through lanes up to this size; log space takes thirty times
    # as long.
    lanes_bytes_at_most: int = 128 * MiB

    # Decoding notes the winner of every step instead of finding it again on graphs up to this size.
    few_nodes: int = 256
    few_edges_per_node: int = 40

    # Delay lines are passed over where the nodes inside make so many times the work. Where the
    # emissions of a step are not so many powers of two apart, exponents stay as they are for many
    # steps: sums over most lines are made in lanes only there. Those over minimum durations of one
    # length are made in lanes unless emissions are near and sequences have so many steps on
    # average: then the row of one sequence is one vector, and that is faster.
    # Counts are made one sequence at a time there, and so, where lanes can be used, only on graphs
    # with more edges than this.
    delay_gain: float = 1.5
    delay_edges: int = 70
    delay_lanes_apart: float = 15.0
    delay_alone_steps: int = 32

    # Expected counts of sequences that are worked on one at a time are added up in this many
    # ranges, whatever the number of threads, so that sums do not depend on it.
    counted_ranges: int = 32
    counted_steps: int = 10_000  # the fewest steps of a range

    # With fewer steps, n_jobs=None does not ask joblib for more threads than one.
    threaded_steps: int = 20_000

    # Continuous time: bytes of matrices that are kept at a time, and how little may be left out of
    # a sum of probabilities, in turn, until its lower and upper bounds agree.
    matrix_bytes: int = 256 * MiB
    negligible: tuple[float, ...] = (1e-30, 1e-100, 1e-280)

    # Where gaps are nearly all different, decoding in continuous time computes rows of matrices as
    # they are needed, from powers that take so much room, on graphs of at most so many nodes.
    power_bytes: int = 640 * MiB
    row_nodes: int = 8192


settings = Settings()
