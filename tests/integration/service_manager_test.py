#!/usr/bin/python3
"""What a service manager, a container's health check and other users see of a running opserve-server:
its messages to systemd, its ready file, and the permissions of its sockets."""

import argparse
import grp
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))

from server_process import ServerProcess  # pylint: disable=wrong-import-position

BIN = None
LIMIT_S = 60


class Manager:
    """The socket that NOTIFY_SOCKET names."""

    def __init__(self, folder):
        self.path = str(pathlib.Path(folder) / "notify")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.path)
        self._socket.settimeout(LIMIT_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def next(self, but=None):
        """The next message that is not `but`."""
        while True:
            message = self._socket.recv(4096).decode()
            if message != but:
                return message


class ServiceManagerTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="opserve-manager-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def serve(self, *arguments, **environment):
        return ServerProcess(BIN / "opserve-server", self.folder, ["--devices", "none", *arguments],
                             environment)

    def health(self, *arguments, **environment):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("OPSERVE_")}
        return subprocess.run([BIN / "opserve", "health", *arguments], capture_output=True, text=True,
                              check=False, timeout=LIMIT_S, env={**kept, **environment})

    def test_systemd_hears_of_every_change(self):
        manager = self.enterContext(Manager(self.folder))
        alive = "WATCHDOG=1"
        with self.serve(NOTIFY_SOCKET=manager.path, WATCHDOG_USEC="600000") as server:
            self.assertEqual(manager.next(), "READY=1")
            # As long as the pollers take events.
            self.assertEqual(manager.next(), alive)
            self.assertEqual(manager.next(), alive)
            os.kill(server.pid, signal.SIGHUP)
            self.assertRegex(manager.next(but=alive), r"^RELOADING=1\nMONOTONIC_USEC=\d+$")
            self.assertEqual(manager.next(but=alive), "READY=1")
        self.assertEqual(manager.next(but=alive), "STOPPING=1")
        self.assertEqual(server.exit_code, 0)

    def test_without_a_watchdog_there_are_no_pings(self):
        manager = self.enterContext(Manager(self.folder))
        with self.serve(NOTIFY_SOCKET=manager.path):
            self.assertEqual(manager.next(), "READY=1")
        self.assertEqual(manager.next(), "STOPPING=1")

    def test_socket_files_have_mode_and_group(self):
        groups = os.getgroups() + [os.getegid()]
        group = next(g for g in grp.getgrall() if g.gr_gid in groups or os.geteuid() == 0)
        with self.serve("--listen", f"unix:{self.folder}/socket", "--metrics-listen",
                        f"unix:{self.folder}/metrics", "--socket-mode", "0660", "--socket-group",
                        group.gr_name):
            for name in ("socket", "socket.regions", "metrics"):
                status = os.stat(self.folder / name)
                self.assertEqual(oct(stat.S_IMODE(status.st_mode)), "0o660", name)
                self.assertEqual(status.st_gid, group.gr_gid, name)

    def test_an_unknown_group_is_no_start(self):
        with self.assertRaisesRegex(RuntimeError, 'there is no group .*nobody-has-this'):
            with self.serve("--listen", f"unix:{self.folder}/socket", "--socket-group",
                            "nobody-has-this"):
                pass
        self.assertFalse((self.folder / "socket").exists())

    def test_too_few_threads_are_no_start(self):
        if os.geteuid() != 0:
            self.skipTest("only for another user than root are threads limited, and only root can become one")
        code = (BIN / "opserve-server").read_bytes()
        if b"__asan_init" in code or b"__tsan_init" in code:
            self.skipTest("sanitizers need threads of their own")
        # That user may not reach the folder of the build.
        self.folder.chmod(0o755)
        program = shutil.copy(BIN / "opserve-server", self.folder)
        library = shutil.copy(BIN / "libmany_processors.so", self.folder)
        # Few enough that the workers, gRPC, which has more on larger machines, or something else lacks some.
        cases = [(limit, 60, "") for limit in (3, 8, 13, 20, 60)]
        cases += [(limit, 1, library) for limit in (30, 36, 44)]
        for limit, workers, preload in cases:
            user = ["setpriv", "--reuid=64999", "--regid=64999", "--clear-groups", "env", f"LD_PRELOAD={preload}",
                    "prlimit", f"--nproc={limit}:{limit}"]
            done = subprocess.run([*user, program, "--devices=none", "--listen=127.0.0.1:0", f"--workers={workers}"],
                                  capture_output=True, text=True, check=False, timeout=LIMIT_S)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("cannot start reason=", done.stderr)
            self.assertNotIn("serving", done.stderr)

    def test_output_that_cannot_be_written_is_an_error(self):
        for flag in ("--help", "--version", "--print-config", "--list-devices"):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([BIN / "opserve-server", "--devices=none", flag], stdout=full,
                                      stderr=subprocess.PIPE, text=True, check=False, timeout=LIMIT_S)
            self.assertEqual(done.returncode, 1, flag)
            self.assertIn("opserve-server: cannot write standard output", done.stderr)

    def test_health_follows_the_ready_file(self):
        ready = self.folder / "ready"
        with self.serve():
            done = self.health("--ready-file", ready)
            self.assertEqual((done.returncode, done.stdout), (0, "SERVING\n"), done.stderr)
            # All addresses of the machine, which nobody can connect to by that name.
            port = ready.read_text(encoding="utf-8").strip().rsplit(":", 1)[1]
            for host in ("0.0.0.0", "[::]"):
                (self.folder / "other").write_text(f"{host}:{port}\n", encoding="utf-8")
                done = self.health("--ready-file", self.folder / "other")
                self.assertEqual((done.returncode, done.stdout), (0, "SERVING\n"), done.stderr)
        done = self.health("--ready-file", ready)
        self.assertEqual(done.returncode, 4)
        self.assertIn(f"cannot open {ready}", done.stderr)

    def test_health_asks_at_an_address_that_it_is_given(self):
        with self.serve():
            ready = str(self.folder / "ready")
            nobody = f"unix:{self.folder}/nobody"
            done = self.health("--address", nobody, OPSERVE_READY_FILE=ready)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
            done = self.health("--address", nobody, "--ready-file", ready)
            self.assertEqual((done.returncode, done.stdout), (0, "SERVING\n"), done.stderr)
            done = self.health(OPSERVE_ADDRESS=nobody, OPSERVE_READY_FILE=ready)
            self.assertEqual((done.returncode, done.stdout), (0, "SERVING\n"), done.stderr)

    def test_health_follows_tls(self):
        subprocess.run([pathlib.Path(__file__).resolve().parents[1] / "testing/make_certificates.sh",
                        self.folder], check=True, capture_output=True, timeout=LIMIT_S)
        with self.serve("--tls-certificate", self.folder / "server.pem", "--tls-key",
                        self.folder / "server.key"):
            done = self.health(OPSERVE_READY_FILE=str(self.folder / "ready"),
                               OPSERVE_TLS_CA=str(self.folder / "ca.pem"),
                               OPSERVE_TLS_SERVER_NAME="server.test")
            self.assertEqual((done.returncode, done.stdout), (0, "SERVING\n"), done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    known, rest = parser.parse_known_args()
    BIN = known.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
