"""How commands show themselves: the words for types in their help, and mistakes as one sentence."""

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace, UnionType
from typing import Any, Union, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

__all__ = ["Commands", "Group", "in_one_sentence"]

_WORDS = {"Path": "file", "bool": "", "float": "number", "int": "number", "str": "text"}
# How the library spells its parameters in errors, and what a command has for them.
_SPELLED = {
    "pass format=": "give --log-format",
    "features=[...]": "--feature-columns a,b",
    "leave layout= out": "leave --layout out",
    "use by='permutation'": "use --by permutation",
    "with sql=...": "with --sql",
    "n_features=": "--n-features ",
    "raise n_features": "raise --n-features",
    "identifiability(log) says": "--identifiability says",
    "; rename the columns first": "; name them with --columns, as in --columns query=q,document=sku",
    "; name yours with qid=...": "",
    "; name yours with label=...": "",
    "unknown column 'qid'": "no column 'qid'; name the one of queries with --qid",
    "unknown column 'label'": "no column 'label'; name the one of labels with --label",
}
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/")  # as a path has it
# Libraries whose own exceptions are complaints about the input.
_LIBRARIES = ("catboost", "lightgbm", "polars", "pyarrow", "sqlalchemy", "xgboost", "zipfile", "zstandard")


class Group(TyperGroup):
    """A group of commands whose help has whole sentences."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Whole sentences, wrapped; they would be cut to one line."""
        commands: list[tuple[str, Any]] = [
            (name, self.get_command(ctx, name)) for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(1000)) for name, one in commands])


class Commands(Group):
    """A group of commands whose help names types in words; brackets in it stay as they are written."""

    def get_params(self, ctx: Any) -> Any:
        return _plain_values(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = super().get_command(ctx, cmd_name)
        for command in (found, *getattr(found, "commands", {}).values()):
            for param in getattr(command, "params", ()):
                _name_type(param)
            if command is not None and not hasattr(command, "commands"):
                _refuse_addresses(command)
        if found is not None:
            _plain_values(found.get_params(ctx))
        return found

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and say in errors what those of the library leave out."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            _mention_set(error)
            _mention_all_arguments(error)
            raise


def _mention_all_arguments(error: Any) -> None:
    """Of `convert SOURCES... TARGET` with one argument the first is called missing: both are needed."""
    param = getattr(error, "param", None)
    if not hasattr(error, "param_hint") or param is None or param.nargs != -1:
        return
    arguments = [one.name for one in error.ctx.command.params if isinstance(one, TyperArgument)]
    if len(arguments) > 1 and arguments[0] == param.name:
        error.param_hint = " or ".join(f"'{name}'" for name in arguments) + ": all of them are needed"


def _mention_set(error: Any) -> None:
    params = getattr(getattr(getattr(error, "ctx", None), "command", None), "params", ())
    if not hasattr(error, "possibilities") or all(one.name != "set_" for one in params):
        return
    from rankloop.rankers.base.parameters import our_name

    name = our_name(error.option_name.lstrip("-").replace("-", "_"))
    if name is not None:
        error.possibilities = []
        error.message += f"; a parameter of the ranker is given as in --set {name}=..."


def _name_type(param: Any) -> None:
    if isinstance(param, TyperArgument):
        param.display_type_rich = lambda ctx: ""  # type: ignore[method-assign] # its help says what it is
    elif isinstance(param, TyperOption) and param.metavar is None:
        kind = getattr(getattr(param, "type_descriptor", None), "annotation", None)
        name = getattr(kind, "__args__", [kind])[0]
        param.metavar = f"<{_WORDS.get(getattr(name, '__name__', ''), 'text')}>"


def _plain_values(params: list[Any]) -> list[Any]:
    """Have parameters take a text as a text, and what was not given, as it is.

    Typer validates all values by pydantic, and to load that took an eighth of a small `rankloop evaluate`.
    """
    for param in params:
        # An older Typer does without pydantic.
        if hasattr(param, "get_runtime_param") and not hasattr(param, "validated"):
            _take_as_is(param)
    return params


def _take_as_is(param: Any) -> None:
    validated, kind = param.get_runtime_param, param.type_descriptor.annotation
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)

    def coerce(value: Any, **about: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        return value if type(value) in kinds else validated().coerce(value, **about)

    param.get_runtime_param, param.validated = lambda: SimpleNamespace(coerce=coerce), validated


def _refuse_addresses(command: Any) -> None:
    """Have a command refuse an address where it needs a file of this machine; as a path it lost a slash."""
    if getattr(command, "checked", False):
        return
    invoke = command.invoke

    def checked(ctx: Any) -> Any:
        for value in ctx.params.values():
            for one in value if isinstance(value, list | tuple) else (value,):
                if isinstance(one, Path) and _ADDRESS.match(str(one)):
                    words = [part for word in sys.argv for part in (word, word.partition("=")[2])]
                    given = next((word for word in words if Path(word) == one), str(one))
                    raise ValueError(
                        f"a file of this machine is needed here, and {given} is an address; copy it first"
                    )
        return invoke(ctx)

    command.invoke, command.checked = checked, True


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """A user's mistake ends in one sentence and status 2, an interruption in 130; warnings are sentences."""
    before, warnings.formatwarning = warnings.formatwarning, _warning
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("rankloop: interrupted; nothing was left half-written", err=True)
        raise SystemExit(130) from None
    except BrokenPipeError:
        raise
    except Exception as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        typer.echo(f"rankloop: {sentence}", err=True)
        raise SystemExit(2) from None
    finally:
        warnings.formatwarning = before


def _warning(message: Any, category: type[Warning], filename: str, lineno: int, line: Any = None) -> str:
    """A warning to the user without the place in our code; others are for those who write code."""
    if issubclass(category, UserWarning):
        return f"rankloop: warning: {message}\n"
    return f"{filename}:{lineno}: {category.__name__}: {message}\n"


def _sentence(error: Exception) -> str | None:
    """The sentence for a user; None for our own mistakes, which need their traceback."""
    if isinstance(error, ModuleNotFoundError):
        from rankloop._extras import extra_of

        extra = extra_of(error.name)
        if extra is not None and "pip install" not in str(error):
            return f"this needs {error.name}; install it with: pip install 'rankloop[{extra}]'"
        return str(error)
    if isinstance(error, ImportError) and "nstall" in str(error):  # what a file system or a database needs
        return f"{str(error)[:1].lower()}{str(error)[1:]}"
    if isinstance(error, UnicodeDecodeError):
        return f"a text is not in UTF-8 (byte {error.start}); convert it to UTF-8, or name another file"
    if isinstance(error, FileExistsError | NotADirectoryError) and error.filename is not None:
        return f"{error.filename} is a file, but a folder is needed; choose another name"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror.lower()}"
    if isinstance(error, (ValueError, OSError)):
        sentence = str(error)
        for theirs, ours in _SPELLED.items():
            sentence = sentence.replace(theirs, ours)
        return sentence
    if type(error).__module__.split(".")[0] in _LIBRARIES:
        return " ".join(str(error).split()) or type(error).__name__
    return None
