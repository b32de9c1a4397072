"""Room for tables that is kept from call to call: never what somebody still holds."""

import threading

import numpy as np

from skchmm import ConstrainedHMM
from skchmm._kernels.data.kept import Kept
from skchmm.emissions import Gaussian

N = 1 << 15


def address(array):
    return array.__array_interface__["data"][0]


def test_room_is_used_again_when_nobody_holds_it():
    kept = Kept()
    first = kept.room(N)
    place = address(first)
    del first
    second = kept.room(N // 2)
    assert address(second) == place and len(second) == N // 2
    view = second.reshape(-1, 2)[3:, 1]
    del second
    third = kept.room(N)  # the view is still there
    third[:] = 1.0
    view[:] = 2.0
    assert (third == 1.0).all()
    fourth = kept.room(N)
    fourth[:] = 3.0
    assert (third == 1.0).all() and (view == 2.0).all()


def test_little_and_much_is_not_kept():
    for n in (1 << 10, (1 << 21) + 1):
        kept = Kept()
        first = kept.room(n)
        assert first.base is None and len(first) == n


def test_threads_have_room_of_their_own():
    kept, wrong = Kept(), []

    def work(value):
        for _ in range(300):
            mine = kept.room(N)
            mine[:] = value
            if not (mine == value).all():
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_frames_that_are_held_stay_as_they_are():
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(9000, 2)) for _ in range(2)], [rng.integers(4, size=9000)] * 2
    model = ConstrainedHMM(emission=Gaussian()).fit(X, y)
    emission = model.emission_
    frames = [emission.log_likelihood(emission.encode(each, reset=False)) for each in X]
    copies = [each.table.copy() for each in frames]
    answers = [model.predict_proba([each])[0] for each in X]
    again = model.predict_proba(X)
    for each, copy in zip(frames, copies, strict=True):
        np.testing.assert_array_equal(each.table, copy)
    for one, other in zip(answers, again, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
