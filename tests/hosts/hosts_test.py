"""Clients of several hosts, while hosts of them are restarted, killed, cut off, or slow."""

import argparse
import csv
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import farm
from required import skip_without

OPTIONS = None
ROOT = pathlib.Path(__file__).resolve().parents[2]
# Debian has the proxies in a folder that users do not have in theirs.
PROXY_PATH = f"{os.environ['PATH']}:/usr/sbin"


class FarmCase(unittest.TestCase):
    """Three hosts for each test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.farm = farm.Farm(OPTIONS.bin / "opserve-server", self.folder)
        self.hosts = self.farm.hosts
        self.farm.__enter__()
        self.addCleanup(self.farm.__exit__)

    def load(self, target, *arguments):
        """Calls `target` without a pause."""
        # It is to notice within a second that a host is back.
        load = farm.Load(OPTIONS.bin / "host_load", target, "--max-backoff-ms=500", *arguments)
        load.__enter__()
        self.addCleanup(load.__exit__)
        return load

    def await_answers(self, host, count):
        """Waits until a host has answered so many more requests."""
        begun = host.answered()
        farm.wait_until(lambda: host.answered() >= begun + count, f"host {host.number} answers")

    def finish(self, load):
        """Ends calls of which none may have failed or got a wrong answer."""
        outcomes = load.finish()
        self.assertEqual((outcomes["wrong"], outcomes["failed"]), (0, 0), outcomes["failures"])
        return outcomes


class CommandTest(FarmCase):
    """What the command says of targets and ids."""

    def command(self, *arguments, code=0):
        done = subprocess.run([OPTIONS.bin / "opserve", *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout.strip() if code == 0 else done.stderr

    def test_targets_that_lead_nowhere_say_why(self):
        for target, code, why in ((f"dns:///nothing.test:{farm.PORT}", 3, "the host is not known"),
                                  (f"{self.hosts[0].address}:1,{self.hosts[1].address}:1", 3, "connection refused"),
                                  (f"{self.hosts[0].target},,{self.hosts[1].target}", 2, "has an empty address"),
                                  (f"{self.hosts[0].target},https://b:1", 2, "begins with https://")):
            self.assertIn(why, self.command("info", "--address", target, code=code))

    def test_a_list_with_a_dead_host_serves(self):
        target = f"{self.hosts[0].address}:1,{self.hosts[1].target}"
        self.assertIn("answered by", self.command("bench", "ELEMENT_WISE_ABS", "--shape=4", "--duration=100ms",
                                                  "--address", target))

    def test_a_host_says_where_a_tensor_is(self):
        created = self.command("tensor", "create", "--type=FLOAT32", "--shape=2", "--address", self.farm.targets)
        right = next(host for host in self.hosts if created.endswith(f"@{host.target}"))
        wrong = next(host for host in self.hosts if host is not right)
        self.command("tensor", "read", created, "--address", right.target)
        error = self.command("tensor", "renew", created, "--address", wrong.target, code=1)
        self.assertIn(f"belongs to the host {right.target}", error)

    def test_a_host_with_a_certificate_for_another_name_is_done_without(self):
        certificates = self.folder / "certificates"
        certificates.mkdir()
        farm.run(str(ROOT / "tests/testing/make_certificates.sh"), str(certificates))
        for host in self.hosts[:2]:
            self.assertEqual(host.end(), 0)
            host.start(f"--tls-certificate={certificates}/server.pem", f"--tls-key={certificates}/server.key")
        good = f"{farm.CERTIFIED}:{farm.PORT}"
        bad = f"host-b:{farm.PORT}"
        tls = f"--tls-ca={certificates}/ca.pem"
        self.assertIn("its certificate is for another name", self.command("info", tls, "--address", bad, code=3))
        self.command("bench", "ELEMENT_WISE_ABS", "--shape=4", "--duration=100ms", tls, "--address", f"{bad},{good}")
        seen = json.loads(self.command("info", "--json", tls, f"--tls-server-name={farm.CERTIFIED}", "--address", bad))
        self.assertEqual(seen["devices"][0]["counters"]["requests"], 0)


class FaultCases:
    """What must hold of every target that stands for the three hosts."""

    # How much what a host answers may differ from its share.
    SPREAD = 0.10
    # Whether a host that is slow gets fewer calls.
    SPARES_SLOW_HOSTS = True

    def test_hosts_get_equal_shares_and_each_call_runs_once(self):
        # With more callers a host that is slow for a moment, as any may be on a busy machine, is left out for that long.
        load = self.load(self.target(), "--threads=2")
        farm.wait_until(lambda: min(self.farm.answered()) > 0, "all hosts answer")
        begun = load.pause()["right"]
        before = self.farm.answered()
        self.assertEqual(sum(before), begun)
        load.go_on()
        load.await_calls(2000)
        outcomes = self.finish(load)
        answered = [now - then for now, then in zip(self.farm.answered(), before)]
        self.assertEqual(sum(answered), outcomes["right"] - begun)
        share = sum(answered) / len(answered)
        for count in answered:
            self.assertLess(abs(count - share), self.SPREAD * share, answered)

    def test_a_rolling_restart_fails_no_call(self):
        load = self.load(self.target())
        for host in self.hosts:
            self.assertEqual(host.end(), 0)
            load.await_calls(100)
            host.start()
            self.await_answers(host, 100)
        self.finish(load)

    def test_a_host_that_is_killed_fails_no_call(self):
        load = self.load(self.target())
        for host in self.hosts[:2]:
            self.await_answers(host, 100)
            self.assertEqual(host.end(signal.SIGKILL), -signal.SIGKILL)
            load.await_calls(300)
            host.start()
            self.await_answers(host, 100)
        self.finish(load)

    def test_a_host_that_is_cut_off_fails_no_call(self):
        load = self.load(self.target(), "--keepalive-timeout-ms=1000")
        host = self.hosts[1]
        self.await_answers(host, 100)
        retried = load.outcomes()["retried"]
        host.cut()
        # Those that were there have been given up, and made elsewhere.
        farm.wait_until(lambda: load.outcomes()["retried"] > retried, "calls of the host are made elsewhere")
        load.await_calls(500)
        host.heal()
        self.await_answers(host, 100)
        self.finish(load)

    def test_a_slow_host_fails_no_call_and_takes_no_more_than_it_can(self):
        load = self.load(self.target(), "--elements=4096")
        slow, *others = self.hosts
        self.await_answers(slow, 10)
        slow.slow("2mbit")
        before = self.farm.answered()
        load.await_calls(1000)
        counts = [now - then for now, then in zip(self.farm.answered(), before)]
        self.assertGreater(counts[0], 0)
        if self.SPARES_SLOW_HOSTS:
            self.assertLess(2 * counts[0], min(counts[1:]), counts)
        self.finish(load)

    def test_calls_in_place_run_once_or_not_at_all_at_a_host_that_is_cut_off(self):
        load = self.load(self.target(), "--in-place", "--threads=6", "--hosts=3", "--keepalive-timeout-ms=1000")
        host = self.hosts[1]
        self.await_answers(host, 50)
        host.cut()
        farm.wait_until(lambda: load.outcomes()["failed"] > 0, "calls of the host are given up")
        host.heal()
        self.await_answers(host, 50)
        tensors = load.finish()["tensors"]
        self.assertEqual(len(tensors), 6)
        # Each went straight to its host, wherever the target led.
        self.assertEqual({tensor["host"] for tensor in tensors}, {host.target for host in self.hosts})
        for tensor in tensors:
            self.assertGreater(tensor["right"], 0)
            self.assertLessEqual(tensor["right"], tensor["content"], tensors)
            self.assertLessEqual(tensor["content"], tensor["right"] + tensor["unknown"], tensors)


class ListTest(FaultCases, FarmCase):
    """A target that lists the hosts."""

    def target(self):
        return self.farm.targets


class NameTest(FaultCases, FarmCase):
    """A name that has the addresses of all hosts, to which gRPC's round_robin gives the same share, however slow."""

    SPARES_SLOW_HOSTS = False

    def target(self):
        return f"dns:///{farm.NAME}:{farm.PORT}"


class ProxyCase(FarmCase):
    """A proxy in front of the hosts, with the configuration that deploy/ has for it."""

    CONFIGURATION = None
    # They choose by the calls that are under way: a host that is quicker for a moment gets more.
    SPREAD = 0.75
    # The shipped time to notice that a host is gone, and a shorter one, so that the test need not wait for that.
    TIMES = None

    def setUp(self):
        super().setUp()
        text = (ROOT / self.CONFIGURATION).read_text(encoding="utf-8")
        self.assertEqual(text.count(self.TIMES[0]), 1)
        self.file = self.folder / "proxy.conf"
        self.file.write_text(self.adapt(text.replace(*self.TIMES)), encoding="utf-8")
        self.log = open(self.folder / "proxy.log", "wb")
        self.addCleanup(self.log.close)
        proxy = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.addCleanup(proxy.wait)
        self.addCleanup(proxy.terminate)
        farm.wait_until(lambda: proxy.poll() is not None or farm.answers(f"127.0.0.1:{farm.PORT}"), "the proxy serves")
        self.assertIsNone(proxy.poll(), (self.folder / "proxy.log").read_text())

    def adapt(self, text):
        """What the file needs to be used by anybody."""
        return text

    def target(self):
        return f"127.0.0.1:{farm.PORT}"


class HaproxyTest(ProxyCase, FaultCases):
    """Debian's HAProxy."""

    CONFIGURATION = "deploy/haproxy/haproxy.cfg"
    TIMES = ("inter 500ms fall 6", "inter 200ms fall 6")

    def command(self):
        return [shutil.which("haproxy", path=PROXY_PATH), "-f", self.file]

    def adapt(self, text):
        return text.replace("global\n", f"global\n  stats socket {self.folder}/stats\n")

    def states(self):
        """What HAProxy thinks of each host."""
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(f"{self.folder}/stats")
            asked.sendall(b"show stat\n")
            with asked.makefile(encoding="utf-8") as table:
                rows = list(csv.DictReader(table))
        return [row["status"] for row in rows if row["# pxname"] == "hosts" and row["svname"] != "BACKEND"]

    def long_call(self):
        """Begins a call that takes a host seconds."""
        np.save(self.folder / "x.npy", np.zeros(1 << 25, np.float32))
        steps = [{"operator": "ELEMENT_WISE_ATAN", "inputs": [f"step:{i - 1}" if i else str(self.folder / "x.npy")]}
                 for i in range(64)]
        document = self.folder / "steps.json"
        document.write_text(json.dumps({"steps": steps}), encoding="utf-8")
        call = subprocess.Popen([OPTIONS.bin / "opserve", "sequence", document, "--json", "--timeout=110s",
                                 "--address", self.target()], stdout=subprocess.PIPE)
        self.addCleanup(call.wait)
        self.addCleanup(call.kill)
        self.addCleanup(call.stdout.close)
        return call

    def test_a_host_that_drains_gets_no_calls_and_keeps_those_it_has(self):
        for host in self.hosts:
            self.assertEqual(host.end(), 0)
            host.start("--cpu-threads=1", "--drain-timeout=110")
        farm.wait_until(lambda: self.states() == ["UP"] * 3, "all hosts are healthy")
        load = self.load(self.target())
        load.await_calls(10)
        # No call is to be on its way to the host that drains.
        retried = load.pause()["retried"]
        farm.wait_until(lambda: not any(host.held() for host in self.hosts), "no host has a call")
        call = self.long_call()
        farm.wait_until(lambda: any(host.held() for host in self.hosts), "a host has the call")
        drained, = (host for host in self.hosts if host.held())
        drained.signal(signal.SIGTERM)
        expected = ["NOLB" if host is drained else "UP" for host in self.hosts]
        farm.wait_until(lambda: self.states() == expected, "HAProxy has seen that the host drains")
        load.go_on()
        load.await_calls(100)
        self.assertEqual(load.outcomes()["retried"], retried)
        self.assertIsNone(call.poll(), "the call lasts")
        report = json.loads(call.communicate(timeout=farm.LIMIT_S)[0])
        self.assertEqual((call.returncode, report["attempts"]), (0, 1))
        self.assertEqual(drained.wait(), 0)
        drained.start()
        farm.wait_until(lambda: self.states() == ["UP"] * 3, "HAProxy has seen that the host is back")
        self.finish(load)


class NginxTest(ProxyCase, FaultCases):
    """Debian's nginx."""

    CONFIGURATION = "deploy/nginx/nginx.conf"
    TIMES = ("grpc_read_timeout 60s", "grpc_read_timeout 1s")

    def adapt(self, text):
        # Where files may be written is the distribution's choice.
        paths = "".join(f"  {kind}_temp_path {self.folder}/{kind};\n"
                        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return text.replace("http {\n", "http {\n" + paths)

    def command(self):
        return [shutil.which("nginx", path=PROXY_PATH), "-c", self.file, "-e", "stderr", "-g",
                f"daemon off; user root root; pid {self.folder}/nginx.pid;"]

    def reload(self, old, new):
        """Has nginx read its configuration with a line changed."""
        text = self.file.read_text(encoding="utf-8")
        self.assertEqual(text.count(old), 1)
        self.file.write_text(text.replace(old, new), encoding="utf-8")
        farm.run(*map(str, self.command()), "-s", "reload")

    def test_a_host_that_is_down_by_the_file_ends_unnoticed(self):
        host = self.hosts[0]
        load = self.load(self.target())
        self.await_answers(host, 10)
        self.reload("server host-a:50051 ", "server host-a:50051 down ")

        def gets_no_calls():
            before = host.answered()
            load.await_calls(100)
            return host.answered() == before

        farm.wait_until(gets_no_calls, "the host is out")
        retried = load.pause()["retried"]
        load.go_on()
        self.assertEqual(host.end(), 0)
        load.await_calls(100)
        self.assertEqual(load.outcomes()["retried"], retried)
        host.start()
        self.reload("server host-a:50051 down ", "server host-a:50051 ")
        self.await_answers(host, 10)
        self.finish(load)


CASES = {"command": CommandTest, "list": ListTest, "name": NameTest, "haproxy": HaproxyTest, "nginx": NginxTest}
# What `make test` runs of other targets than a list; `make hosts` runs all.
QUICK = ("test_hosts_get_equal_shares_and_each_call_runs_once", "test_a_host_that_is_killed_fails_no_call",
         "test_a_host_that_drains_gets_no_calls_and_keeps_those_it_has")


def main():
    """Runs the tests."""
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="folder of the programs")
    parser.add_argument("--all", action="store_true", help="also run what takes longer")
    parser.add_argument("target", nargs="+", choices=CASES, help="what clients are given")
    OPTIONS = parser.parse_args()
    for proxy in {"haproxy", "nginx"}.intersection(OPTIONS.target):
        if shutil.which(proxy, path=PROXY_PATH) is None:
            skip_without(proxy, f"{proxy} is not installed")
    farm.enter_namespaces()
    suite = unittest.TestSuite()
    for target in OPTIONS.target:
        names = unittest.defaultTestLoader.getTestCaseNames(CASES[target])
        suite.addTests(CASES[target](name) for name in names if OPTIONS.all or target in ("command", "list") or name in QUICK)
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())


if __name__ == "__main__":
    main()
