"""A version of a service that learns while it serves, made on the command line."""

from typing import Any

import typer

__all__ = ["register_version"]


def register_version(service: str, *, floor: str, as_json: bool, **settings: Any) -> None:
    """Register a learner above a version of a service, and print its name; it serves when it is promoted."""
    import json

    from rankloop._extras import MODULES, require_modules

    require_modules(*MODULES["serve"])
    from rankloop.serve.config import Config
    from rankloop.serve.desk.acts import note_act
    from rankloop.serve.events.store import Store
    from rankloop.serve.models.registry import Registry
    from rankloop.serve.online.register import register_learner
    from rankloop.serve.online.settings import OnlineSettings
    from rankloop.serve.open_searchable import open_searchable

    wanted = OnlineSettings(floor=floor, **settings)
    config = Config.read(service)
    index = open_searchable(config)
    if not config.home.exists():
        raise ValueError(f"there is no service in {config.home} yet; start it with rankloop serve")
    with Store.open(config.database) as store:
        version = register_learner(Registry(store, config.home / "models"), index, config, wanted)
        note_act(store, "command line", "register", version=version, learner=wanted.learner, floor=floor)
    if as_json:
        typer.echo(json.dumps({"version": version, "online": wanted.to_dict()}))
        return
    typer.echo(f"{version} learns while it serves, above {floor}; promote it, or make it a canary")
