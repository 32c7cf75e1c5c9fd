#!/usr/bin/env python3
"""Files about callers that are broken, too long, or cannot be read: at the start, and while it runs.

Exits with 0 if the server does not start with them and says where the fault is, and, once it runs,
goes on with what it had; with 1 if not.
"""

import argparse
import os
import pathlib
import signal
import sys
import tempfile
import time

import attack
from http2_caller import Http2Caller, framed
from raw_http2 import is_healthy, trust_all
from server_process import ServerProcess

CANNOT_START = 1
LIMIT_S = 30
POLICY = '[anonymous]\nroles = ["observe"]\n'
INFO = "/opserve.v1.OperatorService/GetServerInfo"
# What a file may be, and what the server says of it.
BROKEN_POLICIES = {
    "[anonymous]\nroles = []\nmax_streams = 0\n": ":3: max_streams must be a number from 1",
    "[anonymous]\nroles = [\n\"root\"]\n": ":3: unknown value \"root\" of roles",
    "[anonymous\n": ":1: ",
    "\n" * ((1 << 20) + 1): " has more than 1048576 bytes",
}
BROKEN_TOKENS = {"# fine\nname nohash\n": ":2: the hash must be 64 hexadecimal digits"}
BROKEN_PEM = {"": " ", "garbage": " "}
# In place of a text: the file is not there, is a folder, or a pipe to which nobody writes.
ABSENT, FOLDER, PIPE = object(), object(), object()


class Files:
    """All files of a server, in a folder of their own."""

    def __init__(self, folder):
        self._folder = pathlib.Path(folder)
        self.paths = {name: self._folder / name for name in
                      ("policy", "tokens", "tls-certificate", "tls-key", "tls-client-ca")}
        self.restore()

    def restore(self):
        """Makes all of them good."""
        self.put("policy", POLICY)
        self.put("tokens", "")
        for name, pem in (("tls-certificate", "certificate"), ("tls-key", "key"),
                          ("tls-client-ca", "certificate")):
            self.put(name, pem_file(pem))

    def put(self, name, content):
        """Replaces one of them: a server that reads it meanwhile finds the old one, or the new one."""
        path = self.paths[name]
        if path.is_dir():
            path.rmdir()
        if content is FOLDER:
            path.unlink(missing_ok=True)
            path.mkdir()
        elif content is ABSENT:
            path.unlink(missing_ok=True)
        elif content is PIPE:
            path.unlink(missing_ok=True)
            os.mkfifo(path)
        else:
            new = self._folder / "new"
            new.write_text(content, encoding="ascii")
            new.replace(path)

    def options(self, names):
        """The flags of the server."""
        return [word for name in names for word in (f"--{name}", self.paths[name])]


def pem_file(name):
    """The text of one of the tests' certificates and keys."""
    return (attack.TLS_FILES / f"{name}.pem").read_text(encoding="ascii")


def broken_chain():
    """A certificate that is good, and half of another."""
    return pem_file("certificate") + pem_file("other_certificate")[:300]


def faults():
    """Each file, what it may be, and what the server says of it after its name."""
    yield from (("policy", *fault) for fault in BROKEN_POLICIES.items())
    yield from (("tokens", *fault) for fault in BROKEN_TOKENS.items())
    for name in ("tls-certificate", "tls-key", "tls-client-ca"):
        yield from ((name, *fault) for fault in BROKEN_PEM.items())
    yield "tls-certificate", broken_chain(), " has broken certificates"
    yield "tls-certificate", pem_file("weak_certificate"), " cannot be used: "
    for name in ("policy", "tokens", "tls-certificate", "tls-key", "tls-client-ca"):
        yield name, ABSENT, ""
        yield name, FOLDER, ""
        yield name, PIPE, " is no regular file"


def refused_start(program, files, name, content, why):
    """What is wrong with how the server ends."""
    files.put(name, content)
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(program, folder, ["--devices", "none", *files.options(files.paths)])
        try:
            with server:
                return [f"it starts with {files.paths[name]}"]
        except RuntimeError:
            log = server.log()
    files.restore()
    if server.exit_code != CANNOT_START:
        return [f"it ends with {server.exit_code}"]
    return [] if said(files, name, why) in log else [f"it says {log!r}"]


def said(files, name, why):
    """What the log must have; quotes are escaped there."""
    return str(files.paths[name]) + why.replace('"', '\\"')


def still_works(server, is_tls):
    """Whether it serves as before: with its old certificate, or by its old policy."""
    if is_tls:
        return is_healthy(server.address, trust_all())
    with Http2Caller(server.address) as caller:
        return caller.wait(caller.call(INFO, framed(b""))) == 0


def kept(server, files, name, content, why, is_tls):
    """What is wrong once a running server has read the file."""
    lines = len(server.log())
    files.put(name, content)
    server.signal(signal.SIGHUP)
    deadline = time.monotonic() + LIMIT_S
    while " kept" not in server.log()[lines:] or said(files, name, why) not in server.log()[lines:]:
        if time.monotonic() > deadline:
            return [f"it says {server.log()[lines:]!r}"]
        time.sleep(0.02)
    wrong = [] if still_works(server, is_tls) else ["what it had is gone"]
    files.restore()
    return wrong


def while_it_runs(program, files, names, is_tls):
    """What is wrong with a server that has these files."""
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(program, folder, ["--devices", "none", *files.options(names)])
        with server:
            for name, content, why in faults():
                if name not in names:
                    continue
                if wrong := kept(server, files, name, content, why, is_tls):
                    return [f"{name}: {text}" for text in wrong]
    return [f"it ended with {server.exit_code}"] if server.exit_code else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, help="folder of opserve-server")
    program = (pathlib.Path(parser.parse_args().bin) / "opserve-server").resolve()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        files = Files(folder)
        for name, content, why in faults():
            for text in refused_start(program, files, name, content, why):
                wrong.append(f"{name} at the start: {text}")
        wrong += while_it_runs(program, files, ["policy", "tokens"], is_tls=False)
        wrong += while_it_runs(program, files, ["tls-certificate", "tls-key"], is_tls=True)
    print("\n".join(wrong) or "passed", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
