"""`rankloop users`: people who may look, judge or administer a service."""

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.options.arguments import Json
from rankloop.cli.options.help import Group

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["add_user", "list_users", "remove_user", "renew_token", "users"]

users = typer.Typer(
    help="People of a service and their roles: add, list, renew, remove.", no_args_is_help=True, cls=Group
)

_Service = Annotated[
    str, typer.Argument(metavar="CONFIG|INDEX", help="The service: its TOML file, or its index.")
]
_Name = Annotated[str, typer.Argument(help="The name of the person.")]
_ROLES = "reader (looks), judge (also judges and keeps query sets) or admin (also promotes versions)"


@users.command("add")
def add_user(
    service: _Service, name: _Name, role: Annotated[str, typer.Option(help=f"The role: {_ROLES}.")] = "judge"
) -> None:
    """Add a person, and print the token with which they log in. It is stored as a hash and shown once."""
    from rankloop.serve.desk.acts import note_act
    from rankloop.serve.desk.users import add_user as add
    from rankloop.serve.desk.users import check_user

    check_user(name, role)
    with _store(service, new=True) as store:
        token = add(store, name, role)
        note_act(store, "command line", "add user", name=name, role=role)
    typer.echo(token)


@users.command("list")
def list_users(service: _Service, as_json: Json = False) -> None:
    """List the people of a service and their roles."""
    from rankloop._table import Table
    from rankloop.serve.desk.users import known_users

    with _store(service) as store:
        known = known_users(store)
    rows = [{"name": one.name, "role": one.role, "since": one.time} for one in known]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    cells = [(one.name, one.role, time.strftime("%Y-%m-%d", time.gmtime(one.time))) for one in known]
    typer.echo(Table(("name", "role", "since"), cells, left=3).text())


@users.command("renew")
def renew_token(
    service: _Service,
    name: _Name,
    role: Annotated[str | None, typer.Option(help=f"Another role: {_ROLES}.")] = None,
) -> None:
    """Print a new token; the old one and its logins become invalid."""
    from rankloop.serve.desk.acts import note_act
    from rankloop.serve.desk.users import renew_token as renew

    with _store(service) as store:
        token = renew(store, name, role)
        note_act(store, "command line", "renew token", name=name, role=role)
    typer.echo(token)


@users.command("remove")
def remove_user(
    service: _Service,
    name: _Name,
    forget: Annotated[bool, typer.Option("--forget", help="Delete what they judged, too.")] = False,
) -> None:
    """Remove a person and end their logins; their judgments stay, unless --forget is given."""
    from rankloop.serve.desk.acts import note_act
    from rankloop.serve.desk.users import remove_user as remove

    with _store(service) as store:
        remove(store, name)
        gone = store.forget_rater(name) if forget else 0
        note_act(store, "command line", "remove user", name=name, forgotten=gone)
    typer.echo(f"{name} is removed" + (f", with {gone} grades" if forget else ""))


def _store(service: str, *, new: bool = False) -> "Store":
    """The store of a service; only with `new` it need not have been there."""
    from rankloop._extras import MODULES, require_modules

    require_modules(*MODULES["serve"])
    from rankloop.engines.remote.address import is_address
    from rankloop.search import Index
    from rankloop.serve.config import Config
    from rankloop.serve.events.store import Store

    config = Config.read(service)
    if not is_address(config.index):
        Index.open(config.index)  # a folder that is no index has no service
    if not new and not config.home.exists():
        raise ValueError(f"there is no service in {config.home} yet; rankloop users add makes the first user")
    config.home.mkdir(parents=True, exist_ok=True)
    return Store.open(config.database)
