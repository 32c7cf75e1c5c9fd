"""The control plane of a cluster on loopback: etcd, kube-apiserver, controllers and scheduler, as they are.

There is no kubelet: nothing runs in the pods of such a cluster. `Kubelets` stand in for those of nodes.
"""

import http.client
import json
import os
import pathlib
import secrets
import ssl
import subprocess
import time

from free_port import free_port

LOOPBACK = "127.0.0.1"
START_LIMIT_S = 120
STOP_LIMIT_S = 30
LIMIT_S = 60
# Waiting is for a condition, which is looked at this often.
LOOK_AGAIN_S = 0.1
ADMINISTRATOR = "administrator"


class Refused(Exception):
    """What the API server says where it refuses a request; `code` is HTTP's."""

    def __init__(self, code, answer):
        super().__init__(f"{code}: {answer.get('message', answer)}")
        self.code = code


class ControlPlane:
    """The programs of `programs` with their state in `folder`, for the time of a `with` block.

    `kubeconfig` is for kubectl, as an administrator.
    """

    def __init__(self, programs, folder):
        self._programs, self._folder = pathlib.Path(programs), pathlib.Path(folder)
        self._running = []
        self._port = free_port()
        self._token = secrets.token_hex(16)
        self.kubeconfig = self._folder / "kubeconfig"

    def __enter__(self):
        try:
            self._start_storage()
            self._start_server()
            self._start_controllers()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # In reverse: etcd goes last.
        for _, process in reversed(self._running):
            process.terminate()
            try:
                process.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()

    def _start(self, program, *arguments):
        log = self._folder / f"{program}.log"
        with open(log, "wb") as output:
            process = subprocess.Popen([self._programs / program, *arguments], stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, cwd=self._folder)
        self._running.append((log, process))

    def check(self):
        """Raises where one of the programs has ended."""
        for log, process in self._running:
            if process.poll() is not None:
                text = log.read_text(encoding="utf-8", errors="replace")
                raise RuntimeError(f"{log.stem} ended with {process.returncode}:\n{text[-4000:]}")

    def wait(self, condition, limit_s=LIMIT_S, title=None):
        """Waits until condition() is true, and returns that."""
        deadline = time.monotonic() + limit_s
        while not (found := condition()):
            self.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {limit_s} s: {title or condition.__name__}")
            time.sleep(LOOK_AGAIN_S)
        return found

    def _start_storage(self):
        clients, peers = (f"http://{LOOPBACK}:{free_port()}" for _ in range(2))
        self._storage = clients
        self._start("etcd", f"--data-dir={self._folder}/etcd", f"--listen-client-urls={clients}",
                    f"--advertise-client-urls={clients}", f"--listen-peer-urls={peers}",
                    f"--initial-advertise-peer-urls={peers}", f"--initial-cluster=default={peers}",
                    # The state is worth nothing after a crash of the machine.
                    "--unsafe-no-fsync", "--log-level=warn")

    def _start_server(self):
        key, tokens, certificates = (self._folder / name for name in ("accounts.key", "tokens.csv", "certificates"))
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True, timeout=LIMIT_S)
        tokens.write_text(f'{self._token},{ADMINISTRATOR},1,"system:masters"\n', encoding="utf-8")
        self._start("kube-apiserver", f"--etcd-servers={self._storage}", f"--bind-address={LOOPBACK}",
                    f"--advertise-address={LOOPBACK}", f"--secure-port={self._port}",
                    # It makes itself a certificate there.
                    f"--cert-dir={certificates}", f"--token-auth-file={tokens}", "--authorization-mode=RBAC",
                    "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={key}",
                    f"--service-account-signing-key-file={key}", "--service-cluster-ip-range=10.0.0.0/24",
                    # Privileged pods are left to the admission, which is tested.
                    "--allow-privileged",
                    # Nobody calls it by the cluster's own network.
                    "--endpoint-reconciler-type=none")
        authority = certificates / "apiserver.crt"
        self.wait(authority.exists, START_LIMIT_S)
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": f"https://{LOOPBACK}:{self._port}",
                                                      "certificate-authority": str(authority)}}],
            "users": [{"name": "test", "user": {"token": self._token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}), encoding="utf-8")
        self._tls = ssl.create_default_context(cafile=authority)
        self.wait(self._is_ready, START_LIMIT_S)

    def _is_ready(self):
        try:
            connection = http.client.HTTPSConnection(LOOPBACK, self._port, context=self._tls, timeout=LIMIT_S)
            connection.request("GET", "/readyz", headers={"Authorization": f"Bearer {self._token}"})
            return connection.getresponse().status == 200
        except OSError:
            return False

    def _start_controllers(self):
        common = [f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        # Nodes whose kubelets are silent would be taken for lost.
        self._start("kube-controller-manager", *common, "--controllers=*,-node-lifecycle-controller",
                    f"--service-account-private-key-file={self._folder / 'accounts.key'}",
                    "--horizontal-pod-autoscaler-sync-period=1s")
        self._start("kube-scheduler", *common)

    def call(self, method, path, body=None, kind="application/json"):
        """The answer to a request of the administrator, as a dict; raises Refused."""
        connection = http.client.HTTPSConnection(LOOPBACK, self._port, context=self._tls, timeout=LIMIT_S)
        connection.request(method, path, None if body is None else json.dumps(body),
                           {"Authorization": f"Bearer {self._token}", "Content-Type": kind})
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
        if response.status >= 300:
            raise Refused(response.status, answer)
        return answer

    def environment(self, *folders):
        """For programs that call kubectl; `folders` are where other programs of theirs are."""
        path = [str(self._programs), *map(str, folders), os.environ["PATH"]]
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "PATH": os.pathsep.join(path), "HOME": str(self._folder)}


class Kubelets:
    """Stand in for the kubelets of nodes: what is placed on one is said to run, and what is to end is gone.

    The nodes and pods are resources alone, and no container is started.
    """

    PODS = "/api/v1/namespaces/{namespace}/pods/{name}"

    def __init__(self, plane):
        self._plane = plane
        self._addresses = 0

    def add_node(self, name, system, taints=(), **capacity):
        """A node with the operating system `system`, that has `capacity` beside what all have."""
        amounts = {"cpu": "8", "memory": "64Gi", "pods": "20", **capacity}
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": system, "topology.kubernetes.io/zone": name}
        self._plane.call("POST", "/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "status": {"capacity": amounts, "allocatable": amounts,
                       "conditions": [{"type": "Ready", "status": "True", "reason": "Test", "message": "a stand-in"}]}})
        # The admission marks nodes that are new as not ready, which a controller would take back.
        self._plane.call("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": list(taints)}},
                         "application/merge-patch+json")

    def step(self):
        """What kubelets would have done since the last time."""
        for pod in self._plane.call("GET", "/api/v1/pods")["items"]:
            path = self.PODS.format(**pod["metadata"])
            if "deletionTimestamp" in pod["metadata"]:
                self._ignore_missing("DELETE", path, {"gracePeriodSeconds": 0})
            elif "nodeName" in pod["spec"] and pod["status"].get("phase") == "Pending":
                self._addresses += 1
                address = f"10.1.2.{self._addresses}"
                ready = [{"type": kind, "status": "True"} for kind in ("Initialized", "Ready", "ContainersReady")]
                self._ignore_missing("PATCH", f"{path}/status", {"status": {
                    "phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": ready}},
                    "application/strategic-merge-patch+json")

    def _ignore_missing(self, *call):
        try:
            self._plane.call(*call)
        except Refused as refused:
            if refused.code != 404:
                raise

    def play_until(self, condition, limit_s=LIMIT_S, title=None):
        """Does what kubelets do until condition() is true, and returns that."""
        def look():
            self.step()
            return condition()
        return self._plane.wait(look, limit_s, title)
