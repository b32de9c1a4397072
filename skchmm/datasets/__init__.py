"""Synthetic problems, and loaders for the file formats of labelled sequences."""

from .casas import load_casas
from .files import get_data_home
from .generators import make_chain, make_protocol
from .genes import load_fly_genes
from .oil import load_oil_prices
from .ordonez import load_ordonez
from .runs import load_runs
from .tables import SequenceChunk, read_sequences
from .transcripts import load_transcripts

__all__ = [
    "SequenceChunk",
    "get_data_home",
    "load_casas",
    "load_fly_genes",
    "load_oil_prices",
    "load_ordonez",
    "load_runs",
    "load_transcripts",
    "make_chain",
    "make_protocol",
    "read_sequences",
]
