"""Real clusters for the tests: fetched from Maven once, started as ordinary processes on this machine.

`python tests/engines/clusters.py` fetches the jars of both engines, in at most 15 minutes.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
VERSIONS = {"opensearch": "3.8.0.0", "solr": "8.11.4"}
FETCH = 900.0  # seconds for the jars of both engines
TEST_FETCH = 120.0  # seconds that a test waits for jars
START = 180.0  # seconds for a cluster to be up
QUICK = ("-Xmx512m", "-XX:TieredStopAtLevel=1")  # a short life: compiled once, not again for speed
LASTING = ("-Xmx1g",)  # as in production


class Missing(Exception):  # noqa: N818 - what is the case
    """Something that a cluster needs is not on this machine; the message says what."""


def cache():
    """Where jars are kept: a folder of the user's cache, by version."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "rankloop" / "engines"


def jars(engine, limit=TEST_FETCH):
    """The folder with the jars of an engine, fetched if it is not there yet."""
    folder = cache() / f"{engine}-{VERSIONS[engine]}" / "lib"
    if folder.is_dir():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise Missing("Maven (mvn) fetches the engine, and is not installed")
    beside = folder.with_name(f"lib.{os.getpid()}")
    command = [maven, "-q", "-B", "-f", str(HERE / engine / "pom.xml"), "dependency:copy-dependencies"]
    try:
        done = subprocess.run(
            [*command, f"-DoutputDirectory={beside}"],
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
        if done.returncode:
            reason = (done.stdout + done.stderr).strip().splitlines()[:1]
            raise Missing(f"Maven could not fetch {engine}: {reason}")
        with suppress(OSError):  # another process was first
            beside.rename(folder)
    except subprocess.TimeoutExpired:
        raise Missing(f"the jars of {engine} were not there after {limit:g} seconds") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return folder


def java(least):
    """A Java of at least this version that can also compile."""
    homes = [os.environ.get("JAVA_HOME"), *sorted(Path("/usr/lib/jvm").glob("*"), reverse=True)]
    found = [Path(home) / "bin" / "java" for home in homes if home]
    found += [Path(one) for one in [shutil.which("java")] if one]
    for one in found:
        if not one.exists() or not one.with_name("javac").exists():
            continue
        told = subprocess.run([one, "-version"], capture_output=True, text=True, check=False).stderr
        version = re.search(r'version "(\d+)', told)
        if version and int(version[1]) >= least:
            return str(one)
    raise Missing(f"a JDK {least} or newer is needed")


def free_ports(count):
    """Ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def waiting(ready, what, limit=START):
    """Wait until `ready()` is true."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        with suppress(OSError, urllib.error.URLError):
            if ready():
                return
        time.sleep(0.3)
    raise Missing(f"{what} was not up after {limit:g} seconds")


def answer(url, timeout=5):
    with urllib.request.urlopen(url, timeout=timeout) as found:
        return found.read().decode()


class OpenSearchCluster:
    """Three nodes, a process each; they end with this process."""

    def __init__(self, folder, nodes=3, options=QUICK):
        self.folder, self.java, self.lib = Path(folder), java(21), jars("opensearch")
        self.options = options
        self.http, self.transport = free_ports(nodes), free_ports(nodes)
        self.processes = {}
        self.name = f"test-{os.getpid()}"

    @property
    def hosts(self):
        return ",".join(f"127.0.0.1:{port}" for port in self.http)

    def url(self, index, **options):
        text = "&".join(f"{name}={value}" for name, value in options.items())
        return f"opensearch://{self.hosts}/{index}" + (f"?{text}" if text else "")

    def start(self, at):
        folder = self.folder / f"node{at}"
        (folder / "config").mkdir(parents=True, exist_ok=True)
        node = str(HERE / "opensearch/Node.java")
        command = [self.java, *self.options, "-cp", f"{self.lib}/*", node]
        ports = ",".join(map(str, self.transport))
        with open(folder / "log", "ab") as log:
            self.processes[at] = subprocess.Popen(
                [*command, str(folder), self.name, str(at), str(self.http[at]), ports],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    def up(self, nodes=None):
        wanted = len(self.http) if nodes is None else nodes
        living = next(port for at, port in enumerate(self.http) if self.processes[at].poll() is None)
        health = f"http://127.0.0.1:{living}/_cluster/health?wait_for_nodes={wanted}&timeout=2s"
        waiting(lambda: f'"number_of_nodes":{wanted},' in answer(health), "OpenSearch")

    def kill(self, at):
        """End a node without warning."""
        self.processes[at].kill()
        self.processes[at].wait()
        self.processes[at].stdin.close()

    def stop(self):
        for at in self.processes:
            self.kill(at)

    def __enter__(self):
        try:
            for at in range(len(self.http)):
                self.start(at)
            self.up()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error):
        self.stop()


class SolrCluster:
    """A SolrCloud of two nodes with learning to rank, in one process that ends with this one."""

    def __init__(self, folder, nodes=2, options=QUICK):
        self.folder, self.java, self.lib, self.nodes = Path(folder), java(11), jars("solr"), nodes
        self.options = options
        self.hosts = ""
        self.models = self.folder / "models"  # files of models that are too large for ZooKeeper

    def url(self, collection, **options):
        text = "&".join(f"{name}={value}" for name, value in options.items())
        return f"solr://{self.hosts}/{collection}" + (f"?{text}" if text else "")

    def __enter__(self):
        log = self.folder / "log"
        self.models.mkdir(parents=True, exist_ok=True)
        with open(log, "ab") as out:
            self.process = subprocess.Popen(
                [
                    *(self.java, *self.options, "-cp", f"{self.lib}/*"),
                    f"-Drankloop.folder={self.folder}",
                    *(
                        str(HERE / "solr/Cloud.java"),
                        str(self.folder / "data"),
                        str(self.nodes),
                        str(HERE / "solr/config"),
                    ),
                ],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

        def started():
            found = re.search(r"^started (.+)$", log.read_text(errors="replace"), re.MULTILINE)
            self.hosts = found[1] if found else ""
            if self.process.poll() is not None:
                raise Missing(f"Solr ended: {log.read_text(errors='replace')[-500:]}")
            return found

        try:
            waiting(started, "Solr")
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()

    def __exit__(self, *error):
        self.stop()


def main():
    """Fetch the jars of both engines; say what is missing, and never fail."""
    end = time.monotonic() + FETCH
    for engine in VERSIONS:
        try:
            print(f"{engine}: {jars(engine, max(end - time.monotonic(), 1.0))}", flush=True)
        except Missing as missing:
            print(f"{engine}: {missing}; its tests will skip", file=sys.stderr)


if __name__ == "__main__":
    main()
