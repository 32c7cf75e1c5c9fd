#!/usr/bin/env python3
"""A client that has no good token tries what it can think of.

Exits with 0 if each call was refused for the right reason, a token is of no use once it is revoked,
no token is ever in the log, and others are served; with 1 if not.
"""

import hashlib
import pathlib
import secrets
import signal
import tempfile
import time

import attack
from http2_caller import Http2Caller, framed

SERVICE = "/opserve.v1.OperatorService/"
INVALID_ARGUMENT, PERMISSION_DENIED, UNAUTHENTICATED = 3, 7, 16
# Longest that a server may take to hear of a signal.
RELOAD_LIMIT_S = 30

POLICY = """
[[client]]
match = "token:runner"
roles = ["execute"]

[[client]]
match = "token:monitor"
roles = ["observe"]
"""


def make_token():
    """A token as the server makes them."""
    return "opserve_" + secrets.token_hex(32)


def line(name, token, expires=""):
    """What the file has for a token."""
    return f"{name} {hashlib.sha256(token.encode()).hexdigest()} {expires}\n"


class Credentials:
    """The files of the server, and the tokens that are in them."""

    def __init__(self, folder):
        self.policy = folder / "policy.toml"
        self.tokens = folder / "tokens"
        self.runner, self.monitor, self.expired = make_token(), make_token(), make_token()
        self.policy.write_text(POLICY, encoding="ascii")
        self._monitor_line = line("monitor", self.monitor)
        self.tokens.write_text(line("runner", self.runner) + self._monitor_line
                               + line("old", self.expired, "2020-01-01T00:00:00Z"), encoding="ascii")

    def revoke_runner(self):
        """Leaves the monitor's token alone."""
        self.tokens.write_text(self._monitor_line, encoding="ascii")


def status_of(target, method, headers):
    """The code of a call with these headers."""
    with Http2Caller(target.process.address, source=attack.ATTACKER) as caller:
        return caller.wait(caller.call(SERVICE + method, framed(b""), headers))


def bearer(token):
    """The header that shows a token."""
    return [("authorization", f"Bearer {token}")]


def refusals(target, credentials):
    """Calls that must fail, with the codes that they must fail with."""
    runner = credentials.runner
    yield "no token", "Execute", [], UNAUTHENTICATED
    yield "a guess", "Execute", bearer(make_token()), UNAUTHENTICATED
    yield "a token cut short", "Execute", bearer(runner[:-1]), UNAUTHENTICATED
    yield "a token in capitals", "Execute", bearer(runner.upper()), UNAUTHENTICATED
    yield "the hash of a token", "Execute", bearer(
        hashlib.sha256(runner.encode()).hexdigest()), UNAUTHENTICATED
    yield "an expired token", "Execute", bearer(credentials.expired), UNAUTHENTICATED
    yield "another scheme", "Execute", [("authorization", f"Basic {runner}")], UNAUTHENTICATED
    yield "no scheme", "Execute", [("authorization", runner)], UNAUTHENTICATED
    yield "two tokens", "Execute", bearer(make_token()) + bearer(runner), UNAUTHENTICATED
    yield "a large token", "Execute", bearer("x" * 4000), UNAUTHENTICATED
    yield "two names", "Execute", bearer(runner) + [
        ("opserve-client", "a"), ("opserve-client", "b")], UNAUTHENTICATED
    yield "a name as an identity", "SelfTestDevices", bearer(runner) + [
        ("opserve-client", "token:monitor/x")], INVALID_ARGUMENT
    yield "the wrong role", "GetServerInfo", bearer(runner), PERMISSION_DENIED
    yield "no role", "SelfTestDevices", bearer(credentials.monitor), PERMISSION_DENIED
    yield "a tensor without the role", "ListTensors", bearer(runner), PERMISSION_DENIED


def wait_for_log(target, text):
    """Whether the server writes so in time."""
    deadline = time.monotonic() + RELOAD_LIMIT_S
    while text not in target.process.log():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def bad_credentials(target):
    wrong = []
    with attack.Bystander(target) as bystander:
        for what, method, headers, code in refusals(target, CREDENTIALS):
            status = status_of(target, method, headers)
            if status != code:
                wrong.append(f"{what} ends with {status}")
        # Whoever has a role may use it: the empty request is broken.
        if status_of(target, "Execute", bearer(CREDENTIALS.runner)) != INVALID_ARGUMENT:
            wrong.append("a good token is refused")
        CREDENTIALS.revoke_runner()
        target.process.signal(signal.SIGHUP)
        if not wait_for_log(target, "tokens read"):
            wrong.append("the tokens are not read again")
        if status_of(target, "Execute", bearer(CREDENTIALS.runner)) != UNAUTHENTICATED:
            wrong.append("a revoked token is taken")
        if status_of(target, "GetServerInfo", bearer(CREDENTIALS.monitor)) != 0:
            wrong.append("another token is refused")
    log = target.process.log()
    for token in (CREDENTIALS.runner, CREDENTIALS.monitor, CREDENTIALS.expired, "opserve_"):
        if token in log:
            wrong.append("a token is in the log")
    return wrong + target.verdict() + bystander.verdict()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as files:
        CREDENTIALS = Credentials(pathlib.Path(files))
        attack.run([bad_credentials], ways=("tcp",),
                   options=("--policy", CREDENTIALS.policy, "--tokens", CREDENTIALS.tokens,
                            "--log-level", "debug"))
