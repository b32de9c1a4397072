"""The experiments of Patel and Damiano, *Controller-Augmented Hidden Markov Models*, run again.

``python -m benchmarks.paper NAME``. "The paper", in the files of this folder, is theirs
(``doc/references.rst``).
"""
