#!/usr/bin/python3
"""Starts opserve-server as the pods of deploy/kubernetes/ do, and runs the commands of docs/kubernetes.md.

The arguments are those of each overlay, with other folders and ports; a probe that they have must be answered, and
what the autoscaler and Prometheus read must be there. Needs Go and the Python packages kubernetes-validate and
grpcio (deploy/setup.sh peers); skipped without, unless OPSERVE_REQUIRE has their names.
"""

import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import deployment
from deployment import LIMIT_S, ROOT
from free_port import free_port
from server_process import ServerProcess

try:
    import grpc
except ImportError:
    pass  # deployment.start() runs the test where it is.


def publish(folder, files):
    """Puts files, contents by name, into a folder as the kubelet does: all at once, by a link that is replaced."""
    version = pathlib.Path(tempfile.mkdtemp(prefix="..", dir=folder))
    for name, contents in files.items():
        (version / name).write_bytes(contents)
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
    (folder / "..data_tmp").symlink_to(version.name)
    (folder / "..data_tmp").rename(folder / "..data")


# What is below the folder, where the volumes are, can be written as the permissions say. Nothing else can, by anybody.
CONTAINER = """#!/bin/sh
set -eu
mount --bind "{folder}" "{folder}"
mkdir "{folder}/image"
mount --bind "{build}" "{folder}/image"
mount -o remount,bind,ro "{folder}/image"
mount -o remount,bind,ro /
if (: > /opserve-was-here) 2>/dev/null; then
  echo "the root file system can be written"
  exit 1
fi
exec setpriv --reuid "{user}" --regid "{group}" --groups "{group}" --no-new-privs --bounding-set=-all \
  --inh-caps=-all "{folder}/image/bin/opserve-server" "$@"
"""


def contain(folder, scripts, programs, pod):
    """A program that runs the server as the security context of a pod says: its user, its group and no capabilities, on
    a root file system that cannot be written. It is made in the folder `scripts`; what is below `folder` can be written.
    """
    context = pod["securityContext"]
    inner, outer = scripts / "inner.sh", scripts / "opserve-server"
    inner.write_text(CONTAINER.format(folder=folder, build=programs.parent, user=context["runAsUser"],
                                      group=context["runAsGroup"]), encoding="utf-8")
    outer.write_text(f'#!/bin/sh\nexec unshare --mount --propagation private -- "{inner}" "$@"\n', encoding="utf-8")
    for script in (inner, outer):
        script.chmod(0o755)
    return outer


class Pod:
    """The server of an overlay, on this machine: its volumes are folders in `folder`, its ports are free ones.

    `files`: what secrets and config maps hold, by the paths that the container sees. `server`: the program that is
    started in place of opserve-server.
    """

    def __init__(self, programs, folder, resources, files, server=None):
        self._command, self._resources, self._probes = programs / "opserve", resources, resources.probes
        self._places = {}
        for index, mount in enumerate(resources.container["volumeMounts"]):
            self._places[mount["mountPath"]] = folder / str(index)
            (folder / str(index)).mkdir()
            self.change(mount["mountPath"], files)
        program, *rest = deployment.entry_point(resources.system)
        assert (pathlib.PureWindowsPath(program).stem, rest[0]) == ("opserve-server", "--ready-file"), rest
        self._ready = self.outside(rest[1])
        arguments = [self.outside(argument) for argument in resources.arguments("127.0.0.1")]
        arguments = [re.sub(r"^(--metrics-listen=0\.0\.0\.0):\d+$", r"\1:0", argument) for argument in arguments]
        self.address = f"127.0.0.1:{free_port()}"  # where the server speaks TCP, from this machine
        arguments = [re.sub(r"^(--(?:listen|advertise)=[\d.]+):\d+$", rf"\1:{self.address.split(':')[1]}", argument)
                     for argument in arguments]
        self.server = ServerProcess(server or programs / "opserve-server", self._ready.parent, arguments, listen=())

    def outside(self, text):
        """A path of the container, or a flag with one, as it is on this machine."""
        text = deployment.in_container(text)
        for inside, place in self._places.items():
            text = text.replace(inside, str(place))
        return pathlib.Path(text) if text.startswith("/") else text

    def change(self, mount, files):
        """Gives a volume its files."""
        inside = {path.name: contents for path, contents in files.items() if str(path.parent) == mount}
        if inside:
            publish(self._places[mount], inside)

    def give_to_group(self, group):
        """Gives the volumes to the group as the kubelet does for fsGroup, with the modes that they ask for."""
        volumes = {volume["name"]: volume for volume in self._resources.pod["spec"]["volumes"]}
        for mount in self._resources.container["volumeMounts"]:
            place, volume = self._places[mount["mountPath"]], volumes[mount["name"]]
            mode = volume.get("secret", volume.get("configMap", {})).get("defaultMode", 0o644)
            for path in [place, *place.rglob("*")]:
                if not path.is_symlink():
                    os.chown(path, 0, group)
                    path.chmod(mode if path.is_file() else 0o2777 if "emptyDir" in volume else 0o2750)

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *error):
        self.server.__exit__(*error)

    def metrics(self, authority=None, name=None, token=None):
        """The page of metrics; raises HTTPError where it is refused."""
        (port,) = re.findall(r'"metrics":"0\.0\.0\.0:(\d+)"', self.server.log())
        request = urllib.request.Request(f"http{'s' if authority else ''}://127.0.0.1:{port}/metrics")
        handlers = []
        if authority:
            request.add_header("Authorization", f"Bearer {token}")
            handlers.append(ExpectName(name, authority))
        with urllib.request.build_opener(*handlers).open(request, timeout=LIMIT_S) as page:
            return page.read().decode()

    def probe(self, name):
        """The exit code of a probe, and what it says."""
        probe = self._probes[name]
        if "grpc" in probe:
            command = [self._command, "health", "--address", self.address, "--service", probe["grpc"]["service"]]
        else:
            program, *words = probe["exec"]["command"]
            assert pathlib.PureWindowsPath(program).stem == "opserve", program
            command = [self._command, *map(self.outside, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False,
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout + done.stderr


class ExpectName(urllib.request.HTTPSHandler):
    """HTTPS to an address whose certificate is for another name, as Prometheus does it with serverName."""

    def __init__(self, name, authority):
        context = ssl.create_default_context(cafile=authority)

        class Named(ssl.SSLContext):
            def wrap_socket(self, sock, server_side=False, server_hostname=None, **rest):
                return context.wrap_socket(sock, server_hostname=name)
        super().__init__(context=Named(ssl.PROTOCOL_TLS_CLIENT))


class ServerTest(unittest.TestCase):
    programs = None
    built = {}
    page = None  # where the commands of the page were run

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="opserve-pod-")))

    def files(self, resources):
        """What the secrets and config maps of docs/kubernetes.md hold, by their paths in the container."""
        sources = {"/etc/opserve/tls/tls.crt": "server.pem", "/etc/opserve/tls/tls.key": "server.key",
                   "/etc/opserve/tls/ca.crt": "ca.pem", "/etc/opserve/tokens/tokens": "tokens"}
        found = {pathlib.PurePosixPath(path): (self.page / name).read_bytes() for path, name in sources.items()}
        for item in resources.of("ConfigMap"):
            for name, text in item["data"].items():
                found[pathlib.PurePosixPath("/etc/opserve/policy") / name] = text.encode()
        return found

    def pod(self, title, server=None, name=None):
        folder = self.folder / (name or title)
        folder.mkdir()
        return Pod(self.programs, folder, self.built[title], self.files(self.built[title]), server)

    def scraped(self, pod, title):
        """The metrics as Prometheus gets them by the ServiceMonitor of an overlay."""
        (endpoint,) = self.built[title].only("ServiceMonitor")["spec"]["endpoints"]
        self.assertEqual(endpoint["path"], "/metrics")
        if "tlsConfig" not in endpoint:
            return pod.metrics()
        key = endpoint["authorization"]["credentials"]["key"]
        return pod.metrics(self.page / endpoint["tlsConfig"]["ca"]["secret"]["key"],
                           endpoint["tlsConfig"]["serverName"],
                           (self.page / key).read_text(encoding="utf-8"))

    def serves(self, title):
        scaled = f"{title}, all"
        self.assertEqual(self.built[title].container, self.built[scaled].container)
        with self.pod(title) as pod:
            for name in ("startup", "readiness", "liveness"):
                self.assertEqual(pod.probe(name)[0], 0, pod.probe(name))
            text = self.scraped(pod, scaled)
            for metric in self.built[scaled].only("HorizontalPodAutoscaler")["spec"]["metrics"]:
                self.assertRegex(text, re.compile(rf"^{metric['pods']['metric']['name']} 0$", re.M))
        self.assertEqual(pod.server.exit_code, 0, pod.server.log())
        # And a probe of what is gone fails.
        with self.assertRaises((AssertionError, FileNotFoundError)):
            self.assertEqual(pod.probe("liveness")[0], 0)

    def test_processor(self):
        self.serves("cpu")

    def test_processor_with_tls(self):
        self.serves("cpu-tls")

    def test_gpu(self):
        self.serves("nvidia")

    def test_gpu_with_tls(self):
        self.serves("nvidia-tls")

    def test_windows(self):
        # The arguments, files and probes of Windows, tried on the server for Linux.
        for title in ("windows", "windows-directx"):
            with self.subTest(title):
                self.serves(title)

    def test_windows_with_tls(self):
        for title in ("windows-tls", "windows-directx-tls"):
            with self.subTest(title):
                self.serves(title)

    def test_runs_as_the_security_context_says(self):
        may_mount = subprocess.run(["unshare", "--mount", "--propagation", "private", "true"], capture_output=True,
                                   timeout=LIMIT_S, check=False).returncode == 0
        if os.geteuid() != 0 or not may_mount:
            self.skipTest("only root may change users and mounts")
        spec = self.built["cpu-tls"].pod["spec"]
        context = spec["securityContext"]
        self.folder.chmod(0o755)
        container = self.folder / "container"
        container.mkdir()
        pod = self.pod("cpu-tls", contain(self.folder, container, self.programs, spec))
        pod.give_to_group(context["fsGroup"])
        with pod:
            self.assertEqual(pod.probe("readiness")[0], 0, pod.server.log())
            status = pathlib.Path(f"/proc/{pod.server.pid}/status").read_text(encoding="utf-8")
            self.assertRegex(status, rf"(?m)^Uid:\s+{context['runAsUser']}\s")
            self.assertRegex(status, r"(?m)^CapEff:\s+0+$")
            self.assertRegex(status, r"(?m)^CapBnd:\s+0+$")
        self.assertEqual(pod.server.exit_code, 0, pod.server.log())

    def test_probes_ask_for_a_service_that_there_is(self):
        with self.pod("cpu") as pod:
            pod._probes = {"other": {"grpc": {"service": "opserve.v1.OperatorServic"}}}
            self.assertEqual(pod.probe("other")[0], 1)

    def test_callers_with_tls_need_a_token_and_the_right_name(self):
        options = ["--tls-ca", self.page / "ca.pem", "--tls-server-name"]
        with self.pod("cpu-tls") as pod:
            def call(name, *rest):
                return subprocess.run([self.programs / "opserve", *rest, "--address", pod.address, *options, name],
                                      capture_output=True, timeout=LIMIT_S, check=False).returncode
            name = "opserve.opserve.svc.cluster.local"
            token = ("--token-file", self.page / "ci-1.token")
            self.assertEqual(call(name, "tensor", "list", *token), 0)
            # The name of one pod.
            self.assertEqual(call(f"10-1-2-3.{name}", "info", *token), 0)
            self.assertEqual(call(name, "info"), 6)
            self.assertEqual(call("opserve.other.svc.cluster.local", "info", *token), 3)
            # Prometheus may only look.
            scraper = ("--token-file", self.page / "token")
            self.assertEqual(call(name, "info", *scraper), 0)
            self.assertEqual(call(name, "tensor", "list", *scraper), 6)

    def test_clients_spread_calls_as_the_page_tells(self):
        (block,) = re.findall(r"^```python\n(.*?)^```", deployment.PAGE.read_text(encoding="utf-8"), re.M | re.S)
        name = "dns:///opserve.opserve.svc.cluster.local:50051"
        self.assertIn(name, block)
        with self.pod("cpu", name="one") as one, self.pod("cpu", name="two") as two:
            def answered():
                found = [re.findall(r'^opserve_calls_total\{.*method="GetServerInfo".* (\d+)$', pod.metrics(), re.M)
                         for pod in (one, two)]
                return [sum(map(int, counts)) for counts in found]
            names = {"grpc": grpc, "json": json}
            exec(block.replace(name, f"ipv4:{one.address},{two.address}"), names)  # pylint: disable=exec-used
            with names["channel"] as channel:
                call = channel.unary_unary("/opserve.v1.OperatorService/GetServerInfo")
                deadline = time.monotonic() + LIMIT_S
                while 0 in answered() and time.monotonic() < deadline:
                    call(b"", timeout=LIMIT_S, wait_for_ready=True)
                before = answered()
                for _ in range(20):
                    call(b"", timeout=LIMIT_S)
                self.assertEqual([after - first for first, after in zip(before, answered())], [10, 10])

    def test_tensors_are_found_in_their_pods(self):
        with self.pod("cpu", name="one") as one, self.pod("cpu", name="two") as two:
            def call(*words):
                done = subprocess.run([self.programs / "opserve", "tensor", *words], capture_output=True, text=True,
                                      timeout=LIMIT_S, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                return done.stdout.strip()
            for home in (one, two):
                handle = call("create", "--type=FLOAT32", "--shape=2", "--address", home.address)
                self.assertTrue(handle.endswith(f"@{home.address}"), handle)
                for _ in range(4):
                    call("renew", handle, "--address", f"{one.address},{two.address}")

    def test_new_policy_holds_without_a_new_pod(self):
        title, policy = "cpu-tls", pathlib.PurePosixPath("/etc/opserve/policy/policy.toml")
        with self.pod(title) as pod:
            self.assertIn("opserve_held_requests", self.scraped(pod, f"{title}, all"))
            pod.change(str(policy.parent), {policy: b'[[client]]\nmatch = "token:scraper"\nroles = []\n'})
            deadline = time.monotonic() + LIMIT_S
            with self.assertRaises(urllib.error.HTTPError) as refused:
                while time.monotonic() < deadline:
                    self.scraped(pod, f"{title}, all")
                    time.sleep(0.1)
            self.assertEqual(refused.exception.code, 403)
            refused.exception.close()
            self.assertEqual(pod.probe("readiness")[0], 0)


def run_page(programs, kustomize, folder):
    """Runs the blocks of the page that need no cluster, in a copy of what they name."""
    shutil.copytree(deployment.SOURCE, folder / "deploy/kubernetes")
    path = os.pathsep.join([str(programs), str(kustomize.parent), os.environ["PATH"]])
    blocks = [block for block in deployment.printed_blocks() if not deployment.needs_cluster(block)]
    if len(blocks) < 4:
        sys.exit(f"only {len(blocks)} blocks of {deployment.PAGE.relative_to(ROOT)} need no cluster")
    for block in blocks:
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", block], cwd=folder, capture_output=True, text=True,
                              timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL,
                              env={**os.environ, "PATH": path})
        if done.returncode != 0:
            sys.exit(f"a block of {deployment.PAGE.relative_to(ROOT)} fails:\n{block}{done.stdout}{done.stderr}")


def main():
    ServerTest.programs, kustomize = deployment.start(__doc__)
    with tempfile.TemporaryDirectory(prefix="opserve-kubernetes-") as name:
        ServerTest.page, scratch = pathlib.Path(name) / "page", pathlib.Path(name) / "built"
        scratch.mkdir()
        run_page(ServerTest.programs, kustomize, ServerTest.page)
        ServerTest.built = deployment.build_all(kustomize, scratch)
        result = unittest.main(argv=[sys.argv[0]], exit=False).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
