"""The files of deploy/: parsed, and held against what they start."""

import configparser
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from rankloop.cli import app
from rankloop.serve.config import DATABASE_VARIABLE, TOKEN_VARIABLE, Config
from rankloop.serve.web_settings import KEYS_VARIABLE, PREFIX_VARIABLE

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
VARIABLES = {TOKEN_VARIABLE, DATABASE_VARIABLE, KEYS_VARIABLE, PREFIX_VARIABLE}
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK"}
INSTRUCTIONS |= {"ENTRYPOINT", "CMD"}
yaml = pytest.importorskip("yaml", reason="compose.yaml is parsed with PyYAML")


def instructions():
    """The Dockerfile as (instruction, rest), with continued lines joined."""
    text = re.sub(r"\\\n", " ", (DEPLOY / "Dockerfile").read_text())
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(None, 1)) for line in lines]


def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def parsed(arguments):
    """The options of a command line, which must be one of rankloop's."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    command = group.commands[arguments[0]]
    return command.make_context(arguments[0], list(arguments[1:])).params


def test_the_dockerfile_installs_what_the_service_needs():
    found = instructions()
    assert {name for name, _ in found} <= INSTRUCTIONS
    sources = [
        word for name, rest in found if name == "COPY" and "--from" not in rest for word in rest.split()[:-1]
    ]
    assert all((ROOT / source).exists() for source in sources), sources
    extras = re.search(r'"\.\[([a-z,]+)\]"', next(rest for name, rest in found if "pip install" in rest))[1]
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras.split(",")) <= set(known)
    assert {"serve", "postgres", "opensearch"} <= set(extras.split(","))
    assert dict(found)["USER"] != "root"
    users = [at for at, (name, _) in enumerate(found) if name == "USER"]
    assert users[-1] < next(at for at, (name, _) in enumerate(found) if name == "CMD")


def test_what_the_containers_and_the_unit_run_are_commands_of_ours():
    image = dict(instructions())
    assert json.loads(image["ENTRYPOINT"]) == ["rankloop"]
    default = json.loads(image["CMD"])
    services = compose()["services"]
    assert services["rankloop"]["command"] == default
    serve = parsed(default)
    assert (serve["host"], serve["port"], serve["workers"]) == ("0.0.0.0", int(image["EXPOSE"]), 2)
    index = parsed(services["index"]["command"])
    assert index["out"] == Config.read(DEPLOY / "shop.toml").index
    unit = unit_file()
    program, *arguments = unit["Service"]["ExecStart"].split()
    assert program.endswith("/bin/rankloop")
    assert parsed(arguments)["host"] == "127.0.0.1"  # nginx is in front of it


def test_compose_names_what_it_declares():
    found = compose()
    services = found["services"]
    assert {"rankloop", "postgres", "opensearch"} <= set(services)
    for service in services.values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in found["volumes"]
        for name, how in (service.get("depends_on") or {}).items():
            assert how["condition"] == "service_healthy"
            assert "healthcheck" in services[name]
    assert set(services["rankloop"]["environment"]) <= VARIABLES
    assert all(port.startswith("127.0.0.1:") for port in services["rankloop"]["ports"])
    assert not any("ports" in services[name] for name in ("postgres", "opensearch"))
    wanted = set(re.findall(r"\$\{([A-Z_]+)", (DEPLOY / "compose.yaml").read_text()))
    example = dict(
        line.split("=", 1) for line in (DEPLOY / "env.example").read_text().splitlines() if line[:1].isupper()
    )
    assert wanted == set(example)
    assert set(example.values()) == {""}  # no secret is in the repository


def test_the_settings_are_settings(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    config = Config.read(DEPLOY / "shop.toml")
    assert config.web.prefix == "/shop"
    assert str(config.home) == "/data/serve"


def unit_file():
    found = configparser.ConfigParser(strict=False, interpolation=None)
    found.optionxform = str
    found.read(DEPLOY / "rankloop.service")
    return found


def test_the_unit_is_one(tmp_path):
    unit = unit_file()
    assert set(unit.sections()) == {"Unit", "Service", "Install"}
    assert "MemoryDenyWriteExecute" not in unit["Service"]
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze on this machine")
    text = (DEPLOY / "rankloop.service").read_text()
    (tmp_path / "rankloop.service").write_text(
        text.replace("/opt/rankloop/bin/rankloop", shutil.which("true"))
    )
    done = subprocess.run(
        [program, "verify", tmp_path / "rankloop.service"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr.strip()) == (0, "")


def blocks(text):
    """An nginx file as nested [words, block] lists; an error where braces or semicolons are missing."""
    words = re.findall(r'"[^"]*"|[{};]|[^\s{};]+', re.sub(r"#.*", "", text))

    def read(at, depth):
        found, current = [], []
        while at < len(words):
            word = words[at]
            if word == "{":
                inner, at = read(at + 1, depth + 1)
                found.append((current, inner))
                current = []
            elif word == ";":
                assert current, "an empty directive"
                found.append((current, None))
                current = []
            elif word == "}":
                assert depth, "a brace too many"
                assert not current, f"no semicolon after {current}"
                return found, at
            else:
                current.append(word)
            at += 1
        assert not depth, "a brace is missing"
        assert not current, f"no semicolon after {current}"
        return found, at

    return read(0, 0)[0]


def test_nginx_passes_the_prefix_and_the_limits_of_the_service():
    text = (DEPLOY / "nginx.conf").read_text()
    found = blocks(text)
    upstream = {words[1] for words, _ in found if words[0] == "upstream"}
    servers = [inner for words, inner in found if words == ["server"]]
    config = Config.read(DEPLOY / "shop.toml")
    locations = {
        words[-1]: {inside[0]: inside[1:] for inside, _ in inner}
        for one in servers
        for words, inner in one
        if words[0] == "location"
    }
    for path, inside in locations.items():
        assert path.startswith(config.web.prefix)
        if "proxy_pass" in inside:
            assert inside["proxy_pass"][0].removeprefix("http://") in upstream
    sizes = {path: inside.get("client_max_body_size", [None])[0] for path, inside in locations.items()}
    assert sizes["/shop/"] == f"{config.limits.body >> 10}k"
    assert sizes["/shop/documents"] == f"{config.limits.documents_body >> 20}m"
    headers = {words[1] for one in servers for words, _ in one if words[0] == "proxy_set_header"}
    assert {"Host", "X-Forwarded-For", "X-Forwarded-Proto"} <= headers


@pytest.mark.parametrize("broken", ["server { listen 80 }", "server { listen 80;", "} ", "a b"])
def test_a_broken_file_of_nginx_would_be_found(broken):
    with pytest.raises(AssertionError):
        blocks(broken)
