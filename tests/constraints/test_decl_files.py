"""Models of Declare tools: .decl files there and back, and the dictionaries of pm4py."""

import time

import pytest

from skchmm import compile
from skchmm.constraints import AtMostVisits, EndsIn, ForbiddenEdges, Occupancy, Precedence, declare

SEPSIS = """
# discovered
activity ER Registration
activity ER Triage
activity Check, twice
bind ER Triage: org:group, Age
org:group: A, B
Age: integer between 20 and 90

Init[ER Registration] | |
Existence1[ER Triage] | |
Absence2[ER Triage]
Exactly2[Check, twice] | |
Existence[ER Registration] | |
End[ER Triage]
Response[ER Registration, ER Triage] | | |
Responded Existence[ER Triage, Check, twice] | |
Not Chain Response[Check, twice, ER Triage] | |
co-existence[ER Registration, ER Triage]
ExclusiveChoice[ER Registration,ER Triage]
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "model.decl"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_reading(file):
    assert declare.read_decl(file(SEPSIS)) == [
        declare.Init("ER Registration"),
        declare.Existence("ER Triage", 1),
        declare.Absence("ER Triage", 2),
        declare.Exactly("Check, twice", 2),
        declare.Existence("ER Registration", 1),
        declare.End("ER Triage"),
        declare.Response("ER Registration", "ER Triage"),
        declare.RespondedExistence("ER Triage", "Check, twice"),
        declare.NotChainResponse("Check, twice", "ER Triage"),
        declare.CoExistence("ER Registration", "ER Triage"),
        declare.ExclusiveChoice("ER Registration", "ER Triage"),
    ]
    assert declare.read_decl(str(file("\ufeffactivity ä\r\nInit[ä] | |\r\n"))) == [
        declare.Init("ä")
    ]
    assert declare.read_decl(file("activity a\n")) == []


def test_there_and_back(tmp_path):
    binary = [
        getattr(declare, name)("pay", "send off")
        for name in declare.__all__
        if name not in ("Existence", "Absence", "Exactly", "Init", "End") and name[0].isupper()
    ]
    assert len(binary) == 21
    rules = [
        declare.Init("a"), declare.End("b, c"), declare.Existence("a", 3), declare.Absence("a"),
        declare.Exactly("a", 0), *binary,
    ]  # fmt: skip
    path = tmp_path / "model.decl"
    declare.write_decl(rules, path)
    assert declare.read_decl(path) == list(dict.fromkeys(rules))
    text = path.read_text()
    declare.write_decl(declare.read_decl(path), path)
    assert path.read_text() == text


def test_rules_of_the_catalog(tmp_path):
    path, states = tmp_path / "model.decl", ["a", "b", "c", "d"]
    rules = [Precedence("a", "b"), ForbiddenEdges([("a", {"b", "c"})]), Occupancy("a", 1, 3),
             EndsIn("c") & Occupancy("c", 1)]  # fmt: skip
    declare.write_decl(rules, path)
    assert compile(declare.read_decl(path), states).equivalent(compile(rules, states))


def test_what_cannot_be_written(tmp_path):
    path = tmp_path / "model.decl"
    wrong = [AtMostVisits("a", 2), declare.Response("a", {"b", "c"}), EndsIn(["a", "b"]),
             declare.Init(3), declare.Init("two\nlines")]  # fmt: skip
    with pytest.raises(ValueError) as caught:
        declare.write_decl([declare.Init("a"), *wrong], path)
    message = str(caught.value)
    assert all(repr(rule) in message for rule in wrong)
    assert "no template of Declare says this" in message
    assert "activities must be strings on one line" in message
    assert not path.exists()
    with pytest.raises(ValueError, match="it would be read as another"):
        declare.write_decl(
            [declare.Init("a"), declare.Init("b"), declare.Init("b, c"), declare.Init("a, b"),
             declare.Init("c"), declare.Response("a, b", "c")], path)  # fmt: skip


def test_everything_wrong_is_said_at_once(file):
    text = """activity a
activity b
Respons[a, b] | | |
Response[a, x] | | |
Response[y, z] | | |
Response[a, b] |A.age > 3 | |
Init[a, b] | |
Response[a] | |
what is this
Init2[a]
Absence0[a]
bind q: age
"""
    path = file(text)
    with pytest.raises(ValueError) as caught:
        declare.read_decl(path)
    message = str(caught.value)
    assert message.startswith(f"{path} cannot be read:\n")
    for part in (
        "line 3: unknown template 'Respons' (did you mean 'Response'?)",
        "line 4: unknown activity 'x'; the file names 'a', 'b'",
        "line 5: unknown activities 'y', 'z'",
        "line 6: the condition 'A.age > 3' is about data or time",
        "line 7: Init takes 1 activity, not 'a', 'b'",
        "line 8: Response takes 2 activities, not 'a'",
        "line 9: 'what is this' is no activity, attribute or constraint",
        "line 10: unknown template 'Init2'",
        "line 11: 'Absence0' asks for fewer than 0 events",
        "line 12: unknown activity 'q'",
    ):
        assert part in message, part
    with pytest.raises(ValueError, match="line 1: unknown activity 'a'; no 'activity' line"):
        declare.read_decl(file("Init[a]"))
    with pytest.raises(FileNotFoundError):
        declare.read_decl(path.parent / "none.decl")


def test_models_of_pm4py():
    """All templates that pm4py discovers, with keys as it writes them."""
    counts = {"support": 5, "confidence": 4}
    pair = {("a", "b"): counts}
    model = {
        "existence": {"a": counts}, "exactly_one": {"a": counts, "b": counts},
        "init": {"a": counts}, "absence": {"c": counts},
        "responded_existence": pair, "response": pair, "precedence": pair, "succession": pair,
        "altresponse": pair, "altprecedence": pair, "altsuccession": pair, "chainresponse": pair,
        "chainprecedence": pair, "chainsuccession": pair, "coexistence": pair,
        "noncoexistence": pair, "nonsuccession": pair, "nonchainsuccession": pair,
    }  # fmt: skip
    assert declare.from_pm4py(model) == [
        declare.Existence("a"), declare.Exactly("a"), declare.Exactly("b"), declare.Init("a"),
        declare.Absence("c"), declare.RespondedExistence("a", "b"), declare.Response("a", "b"),
        declare.Precedence("a", "b"), declare.Succession("a", "b"),
        declare.AlternateResponse("a", "b"), declare.AlternatePrecedence("a", "b"),
        declare.AlternateSuccession("a", "b"), declare.ChainResponse("a", "b"),
        declare.ChainPrecedence("a", "b"), declare.ChainSuccession("a", "b"),
        declare.CoExistence("a", "b"), declare.NotCoExistence("a", "b"),
        declare.NotSuccession("a", "b"), declare.NotChainSuccession("a", "b"),
    ]  # fmt: skip
    assert declare.from_pm4py({}) == []


def test_models_that_are_none():
    model = {"respons": {("a", "b"): {}}, "magic": {}, "response": {"a": {}}, 3: {}}
    with pytest.raises(ValueError) as caught:
        declare.from_pm4py(model)
    for part in ("'respons' (did you mean 'Response'?)", "'magic'", "takes 2 activities, not 'a'"):
        assert part in str(caught.value)
    with pytest.raises(ValueError, match="template -> activities"):
        declare.from_pm4py([("a", "b")])


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "model.decl"
    path.write_bytes(b"activity a\n\x80")
    with pytest.raises(ValueError, match=r"model\.decl is not a text in UTF-8"):
        declare.read_decl(path)


def test_numbers_are_read_whole(file):
    """A number of ten digits is not taken for its first nine."""
    text = "activity a\nAbsence10000000000[a] | |\n"
    with pytest.raises(ValueError, match="line 2: 'Absence10000000000' asks for too many events"):
        declare.read_decl(file(text))
    assert declare.read_decl(file("activity a\nAbsence999999999[a]\n")) == [
        declare.Absence("a", 999_999_999)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "activity a\nResponse[" + "," * 900_000 + "] | |",
        "activity " + "a," * 200_000 + "b\nResponse[" + "a," * 400_000 + "] | |",
        "activity a\n" + "1" * 900_000 + "x[a] | |",
        "".join(f"activity s{i}\n" for i in range(30_000)) + "Init[x]\n" * 30_000,
        "activity a\nResponse[" + "] |" * 300_000,
    ],
    ids=["commas", "a name of commas", "digits", "unknown activities", "brackets"],
)
def test_large_files_that_are_wrong(file, text):
    """An error soon; before, memory grew with the square of a line."""
    path = file(text)
    begin = time.process_time()
    with pytest.raises(ValueError, match="cannot be read"):
        declare.read_decl(path)
    assert time.process_time() - begin < 5
