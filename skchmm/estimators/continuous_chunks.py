"""Learning from chunks in continuous time: the same steps, with times."""

from collections.abc import Collection
from typing import Any, Self

from .statistics import Statistics


class CTChunksMixin:
    """`e_step` and `partial_fit` that take times."""

    def e_step(
        self,
        X: Any,
        y: Any = None,
        *,
        times: Any = None,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        sample_weight: Any = None,
        chunk: Any = None,
    ) -> Statistics:
        """Expected statistics of some sequences under the present parameters.

        Parameters
        ----------
        X, times, lengths, groups : the sequences
        y : labels in the same form, optional
            Known ones are held, as in `fit`.
        sample_weight : sequence of float, optional
            As in `fit`.
        chunk : int or str, optional
            Number or name of this chunk of the data, so that none is counted twice. Default: a
            digest of what was found.

        Returns
        -------
        Statistics

        See Also
        --------
        skchmm.ConstrainedHMM.e_step : the same in discrete time.

        Examples
        --------
        >>> from skchmm import CTConstrainedHMM
        >>> X, times = list("xxyyzzx"), [0.0, 1.5, 2.0, 4.0, 4.5, 6.0, 9.0]
        >>> model = CTConstrainedHMM(2, n_iter=0, random_state=0).fit(X, times=times)
        >>> statistics = model.e_step(X, times=times) + model.e_step(list("xy"), times=[0.0, 3.0])
        >>> statistics.n_sequences, statistics.n_steps
        (2, 9)
        """
        return self._e_step(X, y, lengths, groups, sample_weight, chunk, times=times)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        times: Any = None,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from more labelled sequences, as if all had come at once.

        Parameters
        ----------
        X, times, lengths, groups : the sequences
        y : labels in the same form
            All of them.
        sample_weight : sequence of float, optional
            As in `fit`.

        Returns
        -------
        self

        See Also
        --------
        skchmm.ConstrainedHMM.partial_fit : the same in discrete time.

        Examples
        --------
        >>> from skchmm import CTConstrainedHMM
        >>> model = CTConstrainedHMM().partial_fit(list("xxy"), list("aab"), times=[0.0, 1.0, 4.0])
        >>> model = model.partial_fit(list("yzz"), list("bcc"), times=[2.0, 2.5, 7.0])
        >>> model.classes_
        array(['a', 'b', 'c'], dtype='<U1')
        """
        if self.panel:
            raise ValueError(
                "partial_fit counts labels, and with panel=True the rates are learned by EM: use "
                "fit or fit_chunks."
            )
        return self._partial_fit(X, y, lengths, groups, sample_weight, times=times)
