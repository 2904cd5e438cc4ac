"""Build what a release consists of, check it, and try it: wheel and source archive.

python scripts/dist.py                  the core and every extra for users, each in a clean environment
python scripts/dist.py core report      these alone; also all, bench, dev and docs
python scripts/dist.py --build-only     build and check, install nothing
"""

import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from email.parser import BytesParser
from fnmatch import fnmatch
from pathlib import Path
from venv import EnvBuilder

import trove_classifiers
from packaging.metadata import InvalidMetadata, Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = [
    "ONLY_IF_NAMED",
    "build",
    "extras",
    "lines_of_readme",
    "metadata_of",
    "mistakes_in_metadata",
    "not_needed",
    "not_packed",
    "not_pinned",
]

ROOT = Path(__file__).parents[1]
ONLY_IF_NAMED = {"all", "bench", "dev", "docs"}  # `all` is the sum of the others
NOT_PINNED = ("pip", "setuptools", "rankloop")  # of what is installed
# What a wheel may hold, beside the modules: each line is needed while rankloop runs, or by the installer.
WANTED = (
    "rankloop/*.py",
    "rankloop/py.typed",
    "rankloop/demo/queries.txt",
    "rankloop/serve/pages/static/*.css",
    "rankloop/serve/pages/static/*.js",
    "rankloop/serve/pages/static/*.svg",
    "rankloop/serve/pages/templates/*.html",
    "rankloop-*.dist-info/METADATA",
    "rankloop-*.dist-info/WHEEL",
    "rankloop-*.dist-info/RECORD",
    "rankloop-*.dist-info/entry_points.txt",
    "rankloop-*.dist-info/licenses/LICENSE",
)
UNWANTED = ("*/tests/*", "*/test_*.py", "*/conftest.py", "*/__pycache__/*", "*.nbi", "*.nbc", "*.pyc")


def main(arguments: list[str]) -> int:
    wheel, archive = build(ROOT / "dist")
    mistakes = not_needed(wheel) + not_packed(wheel) + mistakes_in_metadata(metadata_of(wheel))
    mistakes += [] if _same_metadata(wheel, archive) else ["the archive's metadata differs from the wheel's"]
    for mistake in mistakes:
        print(mistake, file=sys.stderr)
    if mistakes:
        return 1
    print(f"built and checked: {wheel.name}, {archive.name}")
    if "--build-only" in arguments:
        return 0
    known = extras(wheel)
    chosen = arguments or ["core", *(name for name in known if name not in ONLY_IF_NAMED), "archive"]
    for name in chosen:
        if name not in {"core", "archive", *known}:
            raise SystemExit(f"there is no extra {name}; there are core, archive, {', '.join(known)}")
    failed = [name for name in chosen if not try_out(archive if name == "archive" else wheel, name)]
    print(f"tried: {', '.join(chosen)}; failed: {', '.join(failed) or 'none'}")
    return len(failed) > 0


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel and the source archive, made by hatchling from this tree."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    version = _version()
    return folder / f"rankloop-{version}-py3-none-any.whl", folder / f"rankloop-{version}.tar.gz"


def not_needed(wheel: Path) -> list[str]:
    """Files of the wheel that nobody needs."""
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    return [
        f"{name} should not be in the wheel"
        for name in names
        if not any(fnmatch(name, wanted) for wanted in WANTED)
        or any(fnmatch(name, unwanted) for unwanted in UNWANTED)
    ]


def not_packed(wheel: Path) -> list[str]:
    """Files of the package that the wheel has not."""
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    files = (path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/rankloop").rglob("*.*"))
    return [
        f"{name} is missing in the wheel"
        for name in sorted(files)
        if name not in names and any(fnmatch(name, wanted) for wanted in WANTED)
    ]


def metadata_of(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as packed:
        name = next(name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        return packed.read(name)


def mistakes_in_metadata(raw: bytes) -> list[str]:
    """What an index would refuse, or a reader miss."""
    try:
        found = Metadata.from_email(raw, validate=True)
    except ExceptionGroup as group:
        return [str(one) for one in group.exceptions if isinstance(one, InvalidMetadata)]
    mistakes = [
        f"there is no classifier {name!r}"
        for name in found.classifiers or []
        if name not in trove_classifiers.classifiers
    ]
    wanted = {
        "name": found.name == "rankloop",
        "summary": bool(found.summary),
        "a README in Markdown": (found.description_content_type or "").startswith("text/markdown"),
        "the text of the README": "# rankloop" in (found.description or ""),
        "licence Apache-2.0": found.license_expression == "Apache-2.0",
        "the file of the licence": found.license_files == ["LICENSE"],
        "requires-python >=3.11": str(found.requires_python) == ">=3.11",
        "no classifier of a licence": not any(name.startswith("License") for name in found.classifiers or []),
    }
    mistakes += [f"the metadata lacks {name}" for name, there in wanted.items() if not there]
    addresses = (found.project_urls or {}).items()
    mistakes += [f"{name} is no address: {url}" for name, url in addresses if not url.startswith("https://")]
    return mistakes


def lines_of_readme() -> str:
    """The ten lines of the README as a doctest."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"## Ten lines\n+```python\n(.*?)```", text, re.DOTALL)
    if found is None:
        raise ValueError("README.md must have its ten lines in a block below '## Ten lines'")
    return found[1]


def try_out(built: Path, name: str) -> bool:
    """Install in a clean environment, at the pinned versions, and run the ten lines there."""
    with tempfile.TemporaryDirectory() as folder:
        EnvBuilder(with_pip=True).create(folder)
        python = Path(folder) / "bin" / "python"
        what = str(built) if name in {"core", "archive"} else f"{built}[{name}]"
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        lines = Path(folder) / "ten_lines.txt"
        lines.write_text(lines_of_readme(), encoding="utf-8")
        runs = (
            [*pip, "-c", ROOT / "constraints.txt", what],
            [python, "-m", "pip", "check"],
            [python, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "-o", "ELLIPSIS", lines],
            [Path(folder) / "bin" / "rankloop", "--version"],
            [python, "-m", "pip", "list", "--format=freeze", *(f"--exclude={own}" for own in NOT_PINNED)],
        )
        for command in runs:
            done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True)
            if done.returncode:
                print(f"{name}: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}", file=sys.stderr)
                return False
    unpinned = not_pinned(done.stdout.split())
    if unpinned:
        print(f"{name}: constraints.txt does not pin {', '.join(unpinned)}", file=sys.stderr)
        return False
    print(f"{name}: installed at the pinned versions, the ten lines run", flush=True)
    return True


def not_pinned(wanted: Iterable[str]) -> list[str]:
    """Those of `wanted`, as in `torch>=2.6` or `scipy==1.17`, whose package constraints.txt does not have."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonicalize_name(Requirement(line).name) for line in lines}
    return [one for one in wanted if canonicalize_name(Requirement(one).name) not in pinned]


def _version() -> str:
    text = (ROOT / "src/rankloop/__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1]  # type: ignore[index]


def extras(wheel: Path) -> list[str]:
    return BytesParser().parsebytes(metadata_of(wheel)).get_all("Provides-Extra", [])


def _same_metadata(wheel: Path, archive: Path) -> bool:
    with tarfile.open(archive) as packed:
        inner = packed.extractfile(f"{archive.name.removesuffix('.tar.gz')}/PKG-INFO")
        return inner is not None and inner.read() == metadata_of(wheel)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
