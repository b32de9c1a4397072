"""Everything in doc/api.rst is documented: parameters, what comes back, an example, See Also.

Methods are shown on the page of their class. Their example may be in the docstring of the class,
and doc/_ext/related.py says what they are related to.
"""

import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import skchmm.graph

ROOT = Path(__file__).parent.parent
NOT_OURS = re.compile(r"_|set_.*_request$|set_params$|get_params$|set_output$|set_callbacks$")

# What an emission does for an estimator; described once, in doc/user_guide/emissions.rst.
PROTOCOL = {
    *("accumulate", "encode", "fit_supervised", "initialise", "log_likelihood", "maximise"),
    *("n_parameters", "name_states", "sample"),
    *("cdf", "count", "estimate", "grown", "log_prior", "scales", "settle", "survey"),
    "name_of",  # of a Product: for names of parameters
}
# What the parts of the package ask of each other; not on the pages of the reference.
INSIDE = {"accepts_encoded", "check_length", "check_lengths", "encode", "over"}
INSIDE |= {"matches", "unconstrained"}
INSIDE |= {"as_dict", "of_dict"}  # how a model keeps statistics
INSIDE |= {"count", "ending", "scored", "weighing"}  # how soft rules get into a graph


def listed():
    """Full name and object of each entry of doc/api.rst."""
    module, inside = None, False
    for line in (ROOT / "doc" / "api.rst").read_text().splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif line and not line.startswith(" "):
            inside = line.startswith(".. autosummary::")
        elif inside and re.match(r"   \w", line):
            found = importlib.import_module(module)
            for part in line.strip().split("."):
                found = getattr(found, part)
            yield f"{module}.{line.strip()}", found


OBJECTS = dict(listed())
PAGES = [*(ROOT / "examples").glob("*.py"), *(ROOT / "doc" / "user_guide").glob("*.rst")]
GALLERY = "\n".join(path.read_text() for path in PAGES)
CLASSES = {name: thing for name, thing in OBJECTS.items() if inspect.isclass(thing)}


def methods():
    """Each public method of ours once, where it is defined: (the first class, it, its name)."""
    seen = {}
    for owner in CLASSES.values():
        for name, member in inspect.getmembers(owner, callable):
            function = inspect.unwrap(getattr(member, "__func__", member))
            ours = str(getattr(function, "__module__", "")).startswith("skchmm")
            if not ours or NOT_OURS.match(name) or inspect.isclass(member):
                continue
            hidden = PROTOCOL if issubclass(owner, skchmm.emissions.Emission) else INSIDE
            if name not in hidden:
                seen.setdefault(f"{function.__module__}.{function.__qualname__}", (owner, member))
    return {name: (*found, name.split(".")[-1]) for name, found in seen.items()}


METHODS = methods()


def is_said_in_a_line(method):
    """Whether a summary is enough: it takes one argument at most, and says what comes back."""
    return len(inspect.signature(method).parameters) <= 2 and "\n" not in inspect.getdoc(method)


def sections(thing):
    """{title: text} of the sections of a docstring."""
    text = inspect.getdoc(thing) or ""
    parts = re.split(r"(?m)^([A-Z][A-Za-z ]+)\n-{3,}$", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def undocumented(thing):
    """The parameters that the docstring does not name."""
    try:
        signature = inspect.signature(thing)
    except ValueError:  # an exception without a constructor of its own
        return []
    if inspect.isclass(thing) and issubclass(thing, Exception) and "__init__" not in vars(thing):
        return []
    heads = re.findall(r"(?m)^(\S.*?)(?: :.*)?$", sections(thing).get("Parameters", ""))
    named = {name.strip(" *") for head in heads for name in head.split(",")}
    hidden = {"self", "cls", "weights"}  # **weights of fit is sample_weight
    if inspect.isclass(thing) and "Attributes" in sections(thing) and not heads:
        return []  # made by the package, for users to read
    return [name for name in signature.parameters if name not in named | hidden]


def returns_something(function):
    annotation = inspect.signature(function).return_annotation
    return annotation not in (None, "None", inspect.Signature.empty)


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_are_documented(name):
    thing, found = OBJECTS[name], sections(OBJECTS[name])
    assert "See Also" in found
    if name in ("skchmm.plotting.label_colors", "skchmm.plotting.add_legend"):
        return  # for the pictures themselves; what they take is what matplotlib takes
    assert not undocumented(thing)
    if not inspect.isclass(thing):
        assert "Returns" in found
    if not (inspect.isclass(thing) and issubclass(thing, (Exception, skchmm.emissions.Emission))):
        assert ">>>" in found.get("Examples", "")


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_documented(name):
    owner, method, short = METHODS[name]
    assert is_said_in_a_line(method) or not undocumented(method)
    if returns_something(method) and not is_said_in_a_line(method):
        assert {"Returns", "Yields"} & set(sections(method)), "says not what it returns"
    called = re.compile(rf"\.{short}\(")
    homes = [owner for owner in CLASSES.values() if hasattr(owner, short)]
    shown = ">>>" in (inspect.getdoc(method) or "") or any(
        called.search(sections(home).get("Examples", "")) for home in homes
    )
    if owner.__module__.startswith("skchmm.plotting"):  # pictures are shown as pictures
        shown = shown or f".{short}(" in GALLERY or short == "plot"
    assert shown, f"no example calls {short}"


def test_methods_say_what_they_are_related_to():
    spec = importlib.util.spec_from_file_location("related", ROOT / "doc" / "_ext" / "related.py")
    related = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(related)
    names = {short for *_, short in METHODS.values()}
    assert not names - set(related.RELATED)
    assert not set(related.RELATED) - names
    for name, others in related.RELATED.items():
        owners = [owner for owner in CLASSES.values() if hasattr(owner, name)]
        for other in others.split():
            assert any(hasattr(owner, other) for owner in owners), f"{name}: {other}"
