"""One word for one meaning: parameters of public names, options of commands; and plain English."""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

import rankloop
from house import ROOT, SOURCE, modules, short, tree
from rankloop.cli import app

# Words that the design has another word for.
INSTEAD = {
    "rounds": "iterations (epochs of networks, trees of trees)",
    "n_rounds": "iterations",
    "max_rounds": "iterations",
    "max_iter": "iterations",
    "max_iterations": "iterations",
    "n_iter": "iterations",
    "num_iterations": "iterations",
    "steps": "iterations",
    "n_estimators": "trees",
    "num_trees": "trees",
    "n_epochs": "epochs",
    "tol": "tolerance",
    "relevant_from": "relevance_threshold",
    "labels_from": "relevance_threshold",
    "min_label": "relevance_threshold",
    "max_grade": "max_label",
    "highest_label": "max_label",
    "top_k": "k",
    "cutoff": "k",
    "cut_off": "k",
    "error": "confidence",
    "error_rate": "confidence",
    "level": "confidence",
    "significance": "confidence",
    "draws": "resamples (of a bootstrap or permutation test) or samples (Monte Carlo)",
    "repeats": "resamples",
    "n_samples": "resamples",
    "n_resamples": "resamples",
    "n_bootstrap": "resamples",
    "bootstraps": "resamples",
    "random_state": "seed",
    "random_seed": "seed",
    "shown_by": "logging_policy",
    "policy_scores": "logging_policy",
    "curvature": "hessian",
    "forces": "lambdas",
    "on": "backend",
    "runner": "backend",
    "library": "backend",
}
ENGINES = {"search", "engines", "serve", "demo", "cli"}  # where an engine is a search engine
# Words with another meaning: alpha is a rate of redundancy (Clarke et al., 2008), error a numerical one.
MEANT = {("metrics.alpha_dcg", "alpha"), ("metrics.alpha_ndcg", "alpha"), ("rankers.Contributions", "error")}
# Options that a command names otherwise.
OPTIONS = {
    "--judgments": "--qrels",
    "--shown-by": "--logging-policy",
    "--from": "a source told by its content",
    "--index": "a source told by its content",
    "--output": "--out",
    "--plot": "--out",
    "--input-format": "--log-format",
    "--clicks-format": "--log-format",
    "--output-format": "--format",
}
# Phrases that a reader stumbles over, and what to say instead.
QUAINT = {
    r"anew": "again",
    r"at hand": "installed, or available",
    r"given up": "cancelled",
    r"by (however )?little": "narrowly",
    r"wholly": "entirely",
    r"suffices": "is enough",
    r"some ten": "about ten",
    r"stands (in|beside|above|between)": "is in, is listed in",
    r"here stands": "this shows",
    r"in truth": "the true value, or really",
    r"cannot be told": "cannot be known",
    r"hangs up": "disconnects",
    r"unasked": "unless asked for",
    r"in halves": "in part",
    r"(\w+'s|in the) manner": "as in ...",
    r"exchang\w+ (of )?(two )?neighbours": "swap of adjacent results",
    r"neighbours (were |are )?exchanged": "adjacent results are swapped",
    r"goes on where": "resumes where, continues where",
    r"somebody": "someone, a client, an attacker",
    r"whoever": "anyone who, those who",
    r"thrown away": "discarded",
    r"[Ii]t wants": "it requires, it needs",
    r"not taught": "did not learn from",
    r"what became of": "what happened to",
    r"as (he|she) (likes|pleases)": "as they choose",
    r"shall": "will, or must",
    r"(to be|can be) had": "available",
    r"(is|are|was|were) told": "is reported, is shown",
    r"what serves": "the version in production",
    r"hung up": "disconnected",
    r"taken out again": "removed",
    r"(is|are) wanted": "is needed",
    r"is there twice": "appears twice",
    r"say the same": "mean the same",
    r"for its end": "until it ends",
    r"brings? itself up to date": "updates itself",
    r"counts? for nothing": "is not counted",
    r"an answer each": "an answer for each",
    r"the sum of (this|the) table": "the summary",
    r"tell (it|them) apart by": "distinguish by",
    r"beside (the true|LightGBM|XGBoost|tantivy|those of|the logged|[\d.])": "compared with, next to",
}
# In errors also "{path} is no table", which is said as "is not a table".
QUAINT_ERRORS = {**QUAINT, r"(?<!there )is (no\b(?! longer| such)|none\b(?! of| or))": "is not a ..."}
# Old words that are still there: (where, word). To be emptied.
NOT_YET: set[tuple[str, str]] = set()


def complaints(where: str, signature: inspect.Signature) -> Iterator[tuple[str, str, str]]:
    """(where, parameter, what is wrong) of one signature."""
    names = list(signature.parameters)
    family = where.split(".")[0]
    for name in names:
        if (where, name) in MEANT:
            continue
        if name in INSTEAD:
            yield where, name, f"{where}({name}=): say {INSTEAD[name]}"
        if name == "engine" and family not in ENGINES:
            yield where, name, f"{where}(engine=): say backend; an engine is a search engine"
        if name == "alpha":
            yield where, name, f"{where}(alpha=): say confidence for an error rate, else name what it is"
    if {"log", "data"} <= set(names) and names.index("log") > names.index("data"):
        yield where, "log", f"{where}: the order of arguments is (log, data, ...)"
    given = signature.parameters.get("confidence")
    if given is not None and isinstance(given.default, float) and given.default < 0.5:
        yield (
            where,
            "confidence",
            f"{where}(confidence={given.default}): confidence is 0.95, not an error rate",
        )


def public_signatures() -> Iterator[tuple[str, inspect.Signature]]:
    """Every function, constructor and public method that a family or the root exports."""
    for family in ["rankloop", *(name for name in rankloop.__all__ if name.islower())]:
        module = rankloop if family == "rankloop" else getattr(rankloop, family)
        if not inspect.ismodule(module):
            continue
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if inspect.isclass(found):
                yield from _of_class(f"{family}.{name}", found)
            elif callable(found):
                yield f"{family}.{name}", inspect.signature(found)


def _of_class(where: str, kind: type) -> Iterator[tuple[str, inspect.Signature]]:
    methods = [("", kind)] if kind.__init__ is not object.__init__ else []
    methods += [
        (f".{name}", getattr(kind, name))
        for name in dir(kind)
        if not name.startswith("_") and callable(getattr(kind, name, None)) and _is_ours(getattr(kind, name))
    ]
    for name, method in methods:
        try:
            yield where + name, inspect.signature(method)
        except ValueError:  # of an exception or another class of C
            continue


def _is_ours(method: object) -> bool:
    return str(getattr(method, "__module__", "")).startswith("rankloop")


def commands() -> Iterator[tuple[str, inspect.Signature, list[str]]]:
    """Every command by its words, with its signature and its options as they are typed."""
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    waiting = list(root.commands.items())
    while waiting:
        name, command = waiting.pop()
        if isinstance(command, TyperGroup):
            waiting += [(f"{name} {inner}", one) for inner, one in command.commands.items()]
            continue
        options = [flag for one in command.params for flag in (*one.opts, *one.secondary_opts)]
        assert command.callback is not None
        yield name, inspect.signature(inspect.unwrap(command.callback)), options


def wrong_options(name: str, options: list[str]) -> list[str]:
    """What is wrong with the options of one command."""
    wrong = [f"rankloop {name} {flag}: say {OPTIONS[flag]}" for flag in options if flag in OPTIONS]
    if "--out" in options and "-o" not in options:
        wrong.append(f"rankloop {name} --out: -o means the same")
    return wrong


def quaint(text: str, phrases: dict[str, str] = QUAINT) -> list[str]:
    """What is said in a roundabout way, outside blocks of code."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"\s+", " ", prose)
    return [
        f"{found[0]!r}: say {instead}"
        for phrase, instead in phrases.items()
        for found in re.finditer(
            rf"\b{phrase}\b" if phrase[-1] != ")" else rf"\b{phrase}", prose, re.IGNORECASE
        )
    ]


def test_pages_are_in_plain_english():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    found = {
        name: wrong
        for page in pages
        if (name := page.relative_to(ROOT).as_posix()) != "CHANGELOG.md"
        and (wrong := quaint(page.read_text(encoding="utf-8")))
    }
    assert len(pages) > 30
    assert found == {}


def test_tutorials_are_in_plain_english():
    found, read = {}, 0
    for path in sorted((ROOT / "docs" / "tutorials").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        read += len(texts)
        if wrong := [one for text in texts for one in quaint(text)]:
            found[path.name] = wrong
    assert read > 50
    assert found == {}


def test_help_is_in_plain_english():
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    waiting, found, read = [("rankloop", root)], {}, 0
    while waiting:
        name, command = waiting.pop()
        if isinstance(command, TyperGroup):
            waiting += [(f"{name} {inner}", one) for inner, one in command.commands.items()]
        texts = [command.help or "", *(getattr(one, "help", None) or "" for one in command.params)]
        read += len(texts)
        if wrong := [one for text in texts for one in quaint(text)]:
            found[name] = wrong
    assert read > 100
    assert found == {}


def raised(path: Path) -> Iterator[str]:
    """The messages of the errors that a module raises, with {} for what is filled in."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for text in ast.walk(node.exc):
                if isinstance(text, ast.JoinedStr):
                    yield "".join(one.value if isinstance(one, ast.Constant) else "{}" for one in text.values)
                elif isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield text.value


def test_errors_are_in_plain_english():
    texts = {short(path): [*raised(path)] for path in modules()}
    assert sum(map(len, texts.values())) > 1000
    wrong = {name: [w for one in said for w in quaint(one, QUAINT_ERRORS)] for name, said in texts.items()}
    assert {name: found for name, found in wrong.items() if found} == {}


def described(path: Path) -> Iterator[str]:
    """The docstrings of a module, without their examples, and its comments."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield re.sub(r">>>.*?(\n\n|$)", "", ast.get_docstring(node) or "", flags=re.DOTALL)
    yield from re.findall(r"(?:^|\s)# (.*)", path.read_text(encoding="utf-8"))


def test_docstrings_and_comments_are_in_plain_english():
    wrong = {short(path): [w for one in described(path) for w in quaint(one)] for path in modules()}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_page_texts_are_in_plain_english():
    pages = {short(path): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.html")}
    assert len(pages) > 20
    assert {name: wrong for name, text in pages.items() if (wrong := quaint(text))} == {}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{} is no table; leave it out", ["'is no': say is not a ..."]),
        ("--qid is for tables, and {} is none", ["'is none': say is not a ..."]),
        ("there is no file {}, and {} is none of these", []),
        ("the loss is no longer finite", []),
    ],
)
def test_a_quaint_error_is_found(text, wrong):
    assert quaint(text, QUAINT_ERRORS) == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("the curve is made anew", ["'anew': say again"]),
        ("a search that takes\nlonger is given up", ["'given up': say cancelled"]),
        ("0.745 beside 0.64 ms", ["'beside 0': say compared with, next to"]),
        ("a file beside `x.py`, in a sentence", []),
        ("```\nanew\n```\nagain", []),
        ("renewal of the plan", []),
    ],
)
def test_a_quaint_phrase_is_found(text, wrong):
    assert quaint(text) == wrong


def test_parameters_have_the_words_of_the_design():
    found = [one for where, signature in public_signatures() for one in complaints(where, signature)]
    assert [text for where, name, text in found if (where, name) not in NOT_YET] == []


def test_no_word_is_excused_that_is_gone():
    found = {one[:2] for where, signature in public_signatures() for one in complaints(where, signature)}
    assert NOT_YET - found == set()


def test_options_have_the_words_of_the_design():
    wrong = []
    for name, signature, options in commands():
        wrong += [text for *_, text in complaints(f"cli.{name}", signature)]
        wrong += wrong_options(name, options)
    assert wrong == []


def test_the_walk_reaches_all():
    names = {where for where, _ in public_signatures()}
    assert {
        "rankloop.compare",
        "rankers.LambdaMART",
        "rankers.LambdaMART.fit",
        "clicks.ClickLog.split",
        "interleaving.always_valid",
    } <= names
    assert {"train", "clicks propensity", "online"} <= {name for name, *_ in commands()}


@pytest.mark.parametrize(
    ("made", "wrong"),
    [
        (lambda scores, *, max_iter=10: 0, ["x.made(max_iter=): say iterations"]),
        (lambda scores, *, random_state=0, tol=1.0: 0, ["say seed", "say tolerance"]),
        (lambda data, log: 0, ["the order of arguments is (log, data, ...)"]),
        (lambda X, *, engine="lightgbm": 0, ["an engine is a search engine"]),
        (lambda X, *, alpha=0.05: 0, ["say confidence for an error rate"]),
        (lambda X, *, confidence=0.05: 0, ["not an error rate"]),
        (lambda log, data, *, iterations=5, confidence=0.95, seed=0, k=10: 0, []),
    ],
)
def test_a_wrong_word_is_found(made, wrong):
    found = [text for *_, text in complaints("x.made", inspect.signature(made))]
    assert len(found) == len(wrong)
    assert all(part in text for part, text in zip(wrong, found, strict=True))


def test_a_wrong_option_is_found():
    assert wrong_options("x", ["--out", "-o", "--json"]) == []
    assert wrong_options("x", ["--judgments", "--out"]) == [
        "rankloop x --judgments: say --qrels",
        "rankloop x --out: -o means the same",
    ]
