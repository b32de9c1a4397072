"""Progress of iterative fits: scikit-learn's callbacks where it has them, else prints."""

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:
        """Stands in where scikit-learn has no callbacks."""

        def _init_callback_context(self, max_subtasks=0):
            return None

    def with_callbacks(method):
        return method


class Progress:
    """Tells callbacks and the terminal about iterations.

    Parameters
    ----------
    estimator : the estimator being fitted
    context : callback context or None
    verbose : int
    what : str
        What an iteration is called.
    """

    def __init__(self, estimator, context, verbose, what="EM iteration"):
        self.estimator = estimator
        self.context = context
        self.verbose = verbose
        self.what = what
        self._task = None

    def begin(self):
        if self.context is not None:
            self._task = self.context.subcontext(task_name=self.what)
            self._task.call_on_fit_task_begin(estimator=self.estimator)

    def end(self, iteration, value, change):
        """Report an iteration; True if a callback asks to stop."""
        if self.verbose:
            delta = "" if change is None else f"  ({change:+.3e})"
            print(f"{self.what} {iteration:4d}  {value:.6f}{delta}", flush=True)
        if self._task is None:
            return False
        return bool(self._task.call_on_fit_task_end(estimator=self.estimator))
