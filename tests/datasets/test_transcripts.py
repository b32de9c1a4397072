import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skchmm import datasets
from skchmm.datasets import load_fly_genes, load_transcripts

STATES = ("UTR5", "START", "CDS", "STOP", "UTR3")
COMPLEMENT = dict(zip("ACGT", "TGCA"))
HEADER = "transcript\tgene\tarm\tcds_start0\tcds_end0\tmrna"


def write_table(path, rows):
    lines = [HEADER] + ["\t".join(map(str, row)) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def labels(mrna, start, end):
    """By the definition: the CDS is start:end, its ends are START and STOP."""
    return [
        "UTR5" if i < start
        else "START" if i < start + 3
        else "CDS" if i < end - 3
        else "STOP" if i < end
        else "UTR3"
        for i in range(len(mrna))
    ]  # fmt: skip


def test_table(tmp_path):
    mrna = "acATGAAATAGgg"
    rows = [("t1", "g1", "2L", 2, 11, mrna), ("t2", "g1", "2L", 2, 12, "ACATGAAAATAGGG")]
    data = load_transcripts(write_table(tmp_path / "t.tsv", rows))
    assert "".join(data.X[0]) == mrna.upper()
    assert data.y[0].tolist() == labels(mrna, 2, 11)
    assert data.ids.tolist() == ["t1", "t2"]
    assert data.groups.tolist() == ["g1", "g1"]
    assert data.states == STATES
    one = load_transcripts(tmp_path / "t.tsv", one_per_gene=True)
    assert one.ids.tolist() == ["t2"]
    (tmp_path / "t.tsv.gz").write_bytes(gzip.compress((tmp_path / "t.tsv").read_bytes()))
    X, y = load_transcripts("t.tsv.gz", data_home=tmp_path, return_X_y=True)
    assert np.array_equal(X[1], data.X[1])
    assert np.array_equal(y[1], data.y[1])


def test_only_transcripts_with_all_labels_are_loaded(tmp_path):
    rows = [
        ("whole", "g", "2L", 1, 10, "A" * 12),
        ("no UTR5", "g", "2L", 0, 10, "A" * 12),
        ("no UTR3", "g", "2L", 1, 12, "A" * 12),
        ("no CDS", "g", "2L", 1, 7, "A" * 12),
    ]
    data = load_transcripts(write_table(tmp_path / "t.tsv", rows))
    assert data.ids.tolist() == ["whole"]
    assert data.n_left_out == 3


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("t", "g", "2L", "x", 9, "ACGT"), "integers"),
        (("t", "g", "2L", 1, 9, "ACGT"), "not within the mRNA"),
        (("t", "g", "2L", 1, 3), "expected 6 tab-separated fields, got 5"),
        (("t", "g", "2L", 1, 3, "AC GT"), "letters"),
    ],
)
def test_malformed_rows_of_a_table(tmp_path, row, message):
    good = ("t0", "g", "2L", 1, 10, "A" * 12)
    path = write_table(tmp_path / "t.tsv", [good, row])
    with pytest.raises(ValueError, match=rf"t\.tsv, line 3: .*{message}"):
        load_transcripts(path)


def test_header_without_a_column(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("transcript\tgene\nt\tg\n")
    with pytest.raises(ValueError, match="no column cds_start0, cds_end0, mrna"):
        load_transcripts(path)


@st.composite
def genes(draw):
    """A genome, exons (1-based, closed), strand, and the coding part of the spliced mRNA."""
    sizes = draw(st.lists(st.integers(2, 12), min_size=1, max_size=4).filter(lambda s: sum(s) > 10))
    gaps = draw(st.lists(st.integers(1, 5), min_size=len(sizes), max_size=len(sizes)))
    exons, position = [], 0
    for gap, size in zip(gaps, sizes):
        exons.append((position + gap + 1, position + gap + size))
        position += gap + size
    genome = draw(st.text("ACGT", min_size=position + 3, max_size=position + 3))
    total = sum(sizes)
    start = draw(st.integers(1, total - 9))
    end = draw(st.integers(start + 7, total - 1))
    return genome, exons, draw(st.sampled_from("+-")), start, end


def spliced(genome, exons, strand):
    """Positions in the genome (1-based) in the order of the mRNA, and the mRNA."""
    positions = [p for first, last in exons for p in range(first, last + 1)]
    letters = [genome[p - 1] for p in positions]
    if strand == "-":
        positions, letters = positions[::-1], [COMPLEMENT[x] for x in letters[::-1]]
    return positions, "".join(letters)


def stretches(positions):
    """Closed intervals that cover the positions, whatever their order."""
    found = []
    for p in sorted(positions):
        if found and p == found[-1][1] + 1:
            found[-1][1] = p
        else:
            found.append([p, p])
    return found


def feature(kind, interval, strand, attributes):
    return "\t".join(
        ["chr1", "x", kind, str(interval[0]), str(interval[1]), ".", strand, ".", attributes]
    )


def annotation(style, gene):
    genome, exons, strand, start, end = gene
    positions, _ = spliced(genome, exons, strand)
    lines = ["# a comment"]

    def add(kind, intervals, attributes):
        lines.extend(feature(kind, interval, strand, attributes) for interval in intervals)

    if style == "gtf":
        mark = 'gene_id "g1"; transcript_id "t 1";'
        add("exon", exons, mark)
        add("CDS", stretches(positions[start : end - 3]), mark)
        add("start_codon", stretches(positions[start : start + 3]), mark)
        add("stop_codon", stretches(positions[end - 3 : end]), mark)
        return "\n".join(lines)
    lines[0] = "##gff-version 3"
    add("mRNA", [(exons[0][0], exons[-1][1])], "ID=t%201;Parent=g1")
    if style == "gff3":
        add("exon", exons[::-1], "ID=e;Parent=t%201,t2")
    else:  # exons only through their parts
        add("five_prime_UTR", stretches(positions[:start]), "Parent=t%201")
        add("three_prime_UTR", stretches(positions[end:]), "Parent=t%201")
    add("CDS", stretches(positions[start:end]), "ID=c;Parent=t%201")
    return "\n".join(lines)


@pytest.mark.parametrize("style", ["gtf", "gff3", "gff3 parts"])
@pytest.mark.parametrize("embedded", [False, True])
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(gene=genes())
def test_annotations_are_spliced(tmp_path, style, embedded, gene):
    genome, exons, strand, start, end = gene
    sequence = ">other thing\nNNNN\n>chr1 of something\n" + genome[:7] + "\n" + genome[7:].lower()
    path, fasta = tmp_path / "a.gff", tmp_path / "genome.fa"
    text = annotation(style, gene)
    if embedded:
        path.write_text(text + "\n##FASTA\n" + sequence + "\n")
        fasta = None
    else:
        path.write_text(text + "\n")
        fasta.write_text(sequence + "\n")
    data = load_transcripts(path, fasta)
    _, mrna = spliced(genome, exons, strand)
    assert data.ids.tolist() == ["t 1"]
    assert data.groups.tolist() == ["g1"]
    assert "".join(data.X[0]) == mrna
    assert data.y[0].tolist() == labels(mrna, start, end)


def test_gtf_without_stop_codon_lines_is_prolonged_by_one(tmp_path):
    genome = "CCATGAAATAGCC"
    (tmp_path / "g.fa").write_text(f">chr1\n{genome}\n")
    mark = 'gene_id "g"; transcript_id "t";'
    for last in (8, 11):  # the stop codon outside of the CDS, and in it
        lines = [feature("exon", (1, 13), "+", mark), feature("CDS", (3, last), "+", mark)]
        (tmp_path / "a.gtf").write_text("\n".join(lines))
        data = load_transcripts(tmp_path / "a.gtf", tmp_path / "g.fa")
        assert data.y[0].tolist() == labels(genome, 2, 11)


def test_transcripts_on_two_strands_are_left_out(tmp_path):
    (tmp_path / "g.fa").write_text(">chr1\n" + "ACGT" * 10 + "\n")
    both, fine = 'gene_id "g"; transcript_id "both";', 'gene_id "g"; transcript_id "fine";'
    lines = [
        feature("exon", (1, 15), "+", both),
        feature("exon", (20, 30), "-", both),
        feature("CDS", (3, 12), "+", both),
        feature("exon", (1, 15), "+", fine),
        feature("CDS", (3, 12), "+", fine),
    ]
    (tmp_path / "a.gtf").write_text("\n".join(lines))
    data = load_transcripts(tmp_path / "a.gtf", tmp_path / "g.fa")
    assert data.ids.tolist() == ["fine"]
    assert data.n_left_out == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("chr1\tx\texon\t1\t9", "line 2: expected 9 tab-separated columns .* got 5"),
        (feature("exon", (9, 1), "+", 'transcript_id "t";'), "line 2: start and end .* got 9, 1"),
        (feature("exon", ("a", 1), "+", 'transcript_id "t";'), "line 2: start and end"),
        (feature("exon", (1, 9), ".", 'transcript_id "t";'), "line 2: the strand"),
        (feature("exon", (1, 9), "+", 'gene_id "g";'), "line 2: .* needs a transcript_id"),
        (feature("exon", (1, 3), "+", 'transcript_id "t0";'), "line 1: the CDS of t0"),
    ],
)
def test_malformed_annotations(tmp_path, line, message):
    (tmp_path / "g.fa").write_text(">chr1\n" + "ACGT" * 5 + "\n")
    first = feature("CDS", (5, 14), "+", f'transcript_id "{"t0" if "t0" in line else "t"}";')
    (tmp_path / "a.gtf").write_text(first + "\n" + line + "\n")
    with pytest.raises(ValueError, match=rf"a\.gtf, {message}"):
        load_transcripts(tmp_path / "a.gtf", tmp_path / "g.fa")


def test_bad_rows_of_an_annotation_are_listed_or_left_out_with_their_transcripts(tmp_path):
    (tmp_path / "g.fa").write_text(">chr1\n" + "ACGT" * 10 + "\n")
    fine, hurt = 'gene_id "g"; transcript_id "fine";', 'gene_id "g"; transcript_id "hurt";'
    lines = [
        feature("exon", (1, 15), "+", hurt),
        feature("exon", ("nine", 30), "+", hurt),
        feature("CDS", (3, 12), "+", hurt),
        "chr1\tx\texon",
        feature("exon", (1, 15), "+", fine),
        feature("CDS", (3, 12), "+", fine),
    ]
    path = tmp_path / "a.gtf"
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"(?s)a\.gtf, 2 bad rows; .*line 2: .*line 4: expected 9"):
        load_transcripts(path, tmp_path / "g.fa")
    with pytest.warns(UserWarning, match=r"2 bad rows were skipped, the first is line 2: start"):
        data = load_transcripts(path, tmp_path / "g.fa", on_bad_rows="skip")
    assert data.ids.tolist() == ["fine"]
    assert data.n_left_out == 1
    with pytest.raises(ValueError, match="on_bad_rows must be"):
        load_transcripts(path, tmp_path / "g.fa", on_bad_rows="ignore")


def test_missing_sequences(tmp_path):
    (tmp_path / "a.gtf").write_text(feature("CDS", (1, 9), "+", 'transcript_id "t";') + "\n")
    with pytest.raises(ValueError, match="give the genome"):
        load_transcripts(tmp_path / "a.gtf")
    (tmp_path / "g.fa").write_text(">chr2\nACGT\n")
    with pytest.raises(ValueError, match="'chr1' is not in"):
        load_transcripts(tmp_path / "a.gtf", tmp_path / "g.fa")
    (tmp_path / "g.fa").write_text("ACGT\n")
    with pytest.raises(ValueError, match=r"g\.fa, line 1: expected '>'"):
        load_transcripts(tmp_path / "a.gtf", tmp_path / "g.fa")


GENOME = "ACGTATGAAACCCTAAGGTT"  # CDS 5..16, in both UTRs something is left
LINES = """\
{arm}\tx\texon\t1\t20\t.\t+\t.\ttranscript_id "t"; gene_id "g";
{arm}\tx\tCDS\t5\t16\t.\t+\t.\ttranscript_id "t"; gene_id "g";
"""


@pytest.mark.parametrize("named", ["2L", "chr2L", "Chr2L"])
@pytest.mark.parametrize("found", ["2L", "chr2L"])
def test_arms_with_and_without_chr_are_the_same(tmp_path, named, found):
    (tmp_path / "a.gtf").write_text(LINES.format(arm=named))
    (tmp_path / "g.fa").write_text(f">{found} an arm\n{GENOME}\n>chr\nA\n")
    data = load_transcripts(tmp_path / "a.gtf", tmp_path / "g.fa")
    assert ["".join(x) for x in data.X] == [GENOME] and data.n_left_out == 0


def test_a_sequence_that_comes_twice(tmp_path):
    (tmp_path / "a.gtf").write_text(LINES.format(arm="2L"))
    (tmp_path / "g.fa").write_text(f">2L\n{GENOME}\n>chr2L\n{GENOME}\n")
    with pytest.raises(ValueError, match=r"g\.fa, line 3: the sequence '2L' comes twice"):
        load_transcripts(tmp_path / "a.gtf", tmp_path / "g.fa")


def test_transcripts_beyond_the_end_are_left_out_and_counted(tmp_path):
    beyond = LINES.format(arm="2L").replace('"t"', '"u"').replace("\t20\t", "\t21\t")
    (tmp_path / "a.gtf").write_text(LINES.format(arm="2L") + beyond)
    (tmp_path / "g.fa").write_text(f">2L\n{GENOME}\n")
    with pytest.warns(UserWarning, match=r"1 transcripts reach beyond .* first is u, line 3"):
        data = load_transcripts(tmp_path / "a.gtf", tmp_path / "g.fa")
    assert data.ids.tolist() == ["t"] and data.n_left_out == 1


def test_bad_rows_of_a_table_can_be_skipped(tmp_path):
    header = "transcript\tgene\tcds_start0\tcds_end0\tmrna\n"
    rows = [f"t{k}\tg\t4\t{end}\t{GENOME}\n" for k, end in enumerate([16, "x", 99, 16])]
    path = tmp_path / "t.tsv"
    path.write_text(header + "".join(rows) + "short\n")
    with pytest.raises(ValueError, match=r"(?s)t\.tsv, 3 bad rows.*line 3: .*line 4: .*line 6: "):
        load_transcripts(path)
    with pytest.warns(UserWarning, match=r"3 bad rows were skipped, the first is line 3"):
        data = load_transcripts(path, on_bad_rows="skip")
    assert data.ids.tolist() == ["t0", "t3"] and data.n_left_out == 3
    with pytest.raises(ValueError, match="on_bad_rows must be 'raise' or 'skip', got 'drop'"):
        load_transcripts(path, on_bad_rows="drop")


def test_labels_with_codon_positions(tmp_path):
    path = write_table(tmp_path / "t.tsv", [("t", "g", "2L", 2, 14, "ACATGAAACCCTAGGG")])
    plain, data = load_transcripts(path), load_transcripts(path, codon_positions=True)
    parts = ("START", "CDS", "CDS", "STOP")
    coding = [f"{part}{position}" for part in parts for position in (1, 2, 3)]
    assert data.y[0].tolist() == ["UTR5", "UTR5", *coding, "UTR3", "UTR3"]
    assert set(data.y[0]) == set(data.states)
    assert [data.parts[label] for label in data.y[0]] == plain.y[0].tolist()
    assert plain.parts == {state: state for state in STATES}


def test_the_genes_of_the_package():
    genes = load_fly_genes()
    assert len(genes.X) == len(set(genes.groups)) == 44
    assert genes.n_left_out == 0
    for x, y in zip(genes.X, genes.y):
        codons = "".join(x[np.isin(y, ["START", "CDS", "STOP"])])
        assert len(codons) % 3 == 0
        assert codons.startswith("ATG")
        stops = [k for k in range(0, len(codons), 3) if codons[k : k + 3] in ("TAA", "TAG", "TGA")]
        assert stops == [len(codons) - 3]
        assert genes.states == tuple(dict.fromkeys(y.tolist()))
    X, y = load_fly_genes(codon_positions=True, return_X_y=True)
    assert np.array_equal(X[0], genes.X[0])
    assert "CDS2" in y[0]


def test_the_licence_stands_beside_the_genes():
    text = (Path(datasets.__file__).parent / "data" / "fly_genes.rst").read_text()
    assert "Licence of the data: MIT" in text
    assert "KorfLab/datacore2024" in text
