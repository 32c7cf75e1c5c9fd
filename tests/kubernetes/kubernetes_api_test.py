#!/usr/bin/python3
"""Brings the resources of deploy/kubernetes/ to a real control plane, by the commands of docs/kubernetes.md.

etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl are built by `make kubernetes-api`. The nodes
are stand-ins: pods are placed on them and said to be ready, but nothing runs in them. Needs Go and the Python packages
kubernetes-validate and grpcio, too (deploy/setup.sh peers); skipped without, unless OPSERVE_REQUIRE has
kubernetes-api, and the others' names.
"""

import copy
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import deployment
from control_plane import ControlPlane, Kubelets, Refused
from deployment import LIMIT_S, ROOT
from required import skip_without

try:
    import yaml
except ImportError:
    pass  # deployment.start() runs the test where it is.

BUILD = ROOT / "tests/kubernetes/api/build.sh"
NAMESPACE = "opserve"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/opserve"
BUDGET = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/opserve"
SCALER = f"/apis/autoscaling/v2/namespaces/{NAMESPACE}/horizontalpodautoscalers/opserve"
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
MERGE = "application/merge-patch+json"
# What there is neither of: an engine for images, and containers that ports lead to.
NOT_HERE = re.compile(r"^(docker build|kubectl -n opserve port-forward) .*\n", re.M)
# How nodes of Windows keep pods of Linux away.
WINDOWS_ALONE = {"key": "os", "value": "windows", "effect": "NoSchedule"}
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}


def find_programs():
    """The folder of the control plane's programs; skips the test where they were not built."""
    done = subprocess.run([BUILD, "--check"], capture_output=True, text=True, timeout=LIMIT_S, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        skip_without("kubernetes-api", done.stderr.strip())
    return pathlib.Path(done.stdout.strip())


def is_ready(pod):
    """Whether clients are led to a pod."""
    conditions = pod["status"].get("conditions", [])
    return "deletionTimestamp" not in pod["metadata"] and any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def is_rolled_out(deployed):
    """Whether all pods of a Deployment are of its template, and ready."""
    status, wanted = deployed["status"], deployed["spec"]["replicas"]
    return status.get("observedGeneration") == deployed["metadata"]["generation"] and all(
        status.get(name) == wanted for name in ("replicas", "updatedReplicas", "availableReplicas"))


def remove(holder, *path):
    """Takes a key out of what is nested in `holder`."""
    *parents, key = path
    for parent in parents:
        holder = holder[parent]
    del holder[key]


class ApiTest(unittest.TestCase):
    programs = None  # opserve-server and opserve
    kustomize = None
    built = {}
    plane = None
    kubelets = None

    def setUp(self):
        self.remove_namespace()

    def remove_namespace(self):
        """Removes the namespace and all that is in it."""
        path = f"/api/v1/namespaces/{NAMESPACE}"

        def is_gone():
            try:
                self.plane.call("GET", path)
                return False
            except Refused as refused:
                return refused.code == 404
        if not is_gone():
            # Where pods are left, the namespace's controller waits long for them.
            self.plane.call("DELETE", DEPLOYMENT.rpartition("/")[0])
            self.kubelets.play_until(lambda: not self.pods(), title="the pods are gone")
            self.plane.call("DELETE", path)
            self.kubelets.play_until(is_gone, title="the namespace is gone")

    def make_namespace(self):
        self.plane.call("POST", "/api/v1/namespaces", {
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": RESTRICTED}})

    def run_while_playing(self, command, text="", folder=ROOT):
        """What a command prints while the kubelets do their work; it must succeed, and be warned of nothing."""
        with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as told:
            given.write(text)
            given.seek(0)
            with subprocess.Popen(command, stdin=given, stdout=told, stderr=subprocess.STDOUT, cwd=folder, text=True,
                                  env=self.plane.environment(self.programs, self.kustomize.parent)) as process:
                try:
                    self.kubelets.play_until(lambda: process.poll() is not None, title=str(command))
                finally:
                    process.kill()
            told.seek(0)
            words = told.read()
        self.assertEqual(process.returncode, 0, f"{command}: {words}")
        self.assertNotIn("Warning:", words, command)
        return words

    def kubectl(self, *words, text=""):
        return self.run_while_playing(["kubectl", *words], text)

    def apply(self, resources):
        """Applies the Resources of an overlay, as `kubectl apply --server-side` does."""
        return self.kubectl("apply", "--server-side", "--validate=strict", "-f", "-",
                            text=yaml.safe_dump_all(resources.all))

    def refused(self, call):
        """What the API server says to a call that it refuses."""
        with self.assertRaises(Refused) as raised:
            call()
        return str(raised.exception)

    def get(self, path):
        return self.plane.call("GET", path)

    def pods(self):
        return self.get(PODS)["items"]

    def roll_out(self):
        """Waits until the pods are those of the template and ready."""
        self.kubelets.play_until(lambda: is_rolled_out(self.get(DEPLOYMENT)), title="the pods are ready")

    def pod_of(self, resources):
        """A pod of the Deployment's template, under a name of its own."""
        pod = copy.deepcopy(resources.pod)
        pod.update({"apiVersion": "v1", "kind": "Pod"})
        pod["metadata"].update({"name": "probe", "namespace": NAMESPACE})
        return pod

    def test_every_overlay_is_admitted(self):
        self.make_namespace()
        for title, resources in self.built.items():
            with self.subTest(title):
                words = self.apply(resources)
                self.assertEqual(words.count("serverside-applied"), len(resources.all), words)

    def test_pods_keep_to_the_restricted_standard(self):
        self.make_namespace()
        self.apply(self.built["cpu"])
        for title, resources in self.built.items():
            with self.subTest(title):
                self.plane.call("POST", f"{PODS}?dryRun=All&fieldValidation=Strict", self.pod_of(resources))

    def test_pods_with_one_privilege_more_are_refused(self):
        self.make_namespace()
        self.apply(self.built["cpu"])

        def privilege(pod):
            context = pod["containers"][0]["securityContext"]
            del context["allowPrivilegeEscalation"]
            context["privileged"] = True
        cases = {
            "privileged": privilege,
            "allowPrivilegeEscalation != false":
                lambda pod: pod["containers"][0]["securityContext"].update(allowPrivilegeEscalation=True),
            "unrestricted capabilities": lambda pod: remove(pod, "containers", 0, "securityContext", "capabilities"),
            "runAsUser=0": lambda pod: pod["securityContext"].update(runAsUser=0),
            "runAsNonRoot != true": lambda pod: remove(pod, "securityContext", "runAsNonRoot"),
            "seccompProfile": lambda pod: remove(pod, "securityContext", "seccompProfile"),
            "host namespaces": lambda pod: pod.update(hostNetwork=True),
            "hostPath": lambda pod: pod["volumes"].append({"name": "node", "hostPath": {"path": "/"}}),
        }
        for words, change in cases.items():
            with self.subTest(words):
                pod = self.pod_of(self.built["cpu"])
                change(pod["spec"])
                said = self.refused(lambda: self.plane.call("POST", f"{PODS}?dryRun=All", pod))
                self.assertIn('violates PodSecurity "restricted:latest"', said)
                self.assertIn(words, said)

    def test_unknown_fields_are_refused(self):
        self.make_namespace()
        resources = self.built["cpu, all"]
        for kind, place in (("Deployment", ("spec", "template", "spec")), ("ServiceMonitor", ("spec",))):
            wrong = copy.deepcopy(resources.only(kind))
            holder = wrong
            for key in place:
                holder = holder[key]
            holder["replicaz"] = 2
            group = wrong["apiVersion"]
            path = f"/apis/{group}/namespaces/{NAMESPACE}/{kind.lower()}s"
            said = self.refused(lambda: self.plane.call("POST", f"{path}?fieldValidation=Strict", wrong))
            self.assertIn(f'unknown field "{".".join(place)}.replicaz"', said)

    def test_the_commands_of_the_page(self):
        self.plane.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                                       "metadata": {"name": "my-apps"}})
        left_out = []
        with tempfile.TemporaryDirectory(prefix="opserve-page-") as name:
            folder = pathlib.Path(name)
            shutil.copytree(deployment.SOURCE, folder / "deploy/kubernetes")
            for block in deployment.printed_blocks():
                left_out += NOT_HERE.findall(block)
                self.run_while_playing(["bash", "-e", "-o", "pipefail", "-c", NOT_HERE.sub("", block)], folder=folder)
                if "overlays/windows-directx\n" in block:
                    self.assertEqual({pod["spec"]["containers"][0]["image"] for pod in self.pods() if is_ready(pod)},
                                     {"farm/opserve:0.1.0-windows"})
        self.assertEqual(left_out, ["docker build", "kubectl -n opserve port-forward", "docker build"])
        self.roll_out()
        self.assertEqual(self.get("/api/v1/namespaces/my-apps")["metadata"]["labels"]["opserve-clients"], "allowed")
        self.assertEqual({pod["spec"]["containers"][0]["image"] for pod in self.pods()}, {"farm/opserve:0.1.0"})
        secrets = self.get(f"/api/v1/namespaces/{NAMESPACE}/secrets")["items"]
        self.assertEqual({secret["metadata"]["name"]: set(secret["data"]) for secret in secrets},
                         {"opserve-tls": {"tls.crt", "tls.key", "ca.crt"}, "opserve-tokens": {"tokens"},
                          "opserve-ca": {"ca.pem"}, "opserve-scraper": {"token"}})
        monitor = self.get(f"/apis/monitoring.coreos.com/v1/namespaces/{NAMESPACE}/servicemonitors/opserve")
        self.assertEqual(monitor["spec"]["endpoints"][0]["scheme"], "https")
        # One GPU each.
        self.assertEqual(len({pod["spec"]["nodeName"] for pod in self.pods()}), 2)

    def test_pods_go_to_nodes_of_their_system(self):
        self.make_namespace()
        for title in ("cpu", "windows", "windows-directx-tls", "nvidia"):
            with self.subTest(title):
                self.apply(self.built[title])
                self.roll_out()
                places = {pod["spec"]["nodeName"].split("-")[0] for pod in self.pods() if is_ready(pod)}
                self.assertEqual(places, {self.built[title].system})

    def test_fields_of_linux_are_refused_in_pods_of_windows(self):
        self.make_namespace()
        self.apply(self.built["windows"])
        linux = self.built["cpu"]
        cases = [("securityContext", name, value) for name, value in linux.pod["spec"]["securityContext"].items()
                 if name != "runAsNonRoot"]
        cases += [("containers", name, value) for name, value in linux.container["securityContext"].items()]
        self.assertEqual(len(cases), 7)
        for place, name, value in cases:
            with self.subTest(name):
                pod = self.pod_of(self.built["windows"])
                holder = pod["spec"][place]
                (holder if place == "securityContext" else holder[0].setdefault("securityContext", {}))[name] = value
                said = self.refused(lambda: self.plane.call("POST", f"{PODS}?dryRun=All", pod))
                self.assertIn("cannot be set for a windows pod", said)
                self.assertIn(name, said)

    def test_pods_without_their_gpu_wait(self):
        self.make_namespace()
        self.apply(self.built["nvidia"])
        self.roll_out()
        self.plane.call("PATCH", f"{DEPLOYMENT}/scale", {"spec": {"replicas": 3}}, MERGE)

        def waits():
            return [condition["message"] for pod in self.pods() for condition in pod["status"].get("conditions", [])
                    if condition["type"] == "PodScheduled" and condition["status"] == "False"]
        (why,) = self.kubelets.play_until(waits, title="a pod is not placed")
        self.assertIn("Insufficient nvidia.com/gpu", why)

    def updated(self, title):
        """(fewest ready, most that are not to end) of the two pods of an overlay while they get a new template."""
        self.make_namespace()
        self.apply(self.built[title])
        self.roll_out()
        before = {pod["metadata"]["uid"] for pod in self.pods()}
        self.plane.call("PATCH", DEPLOYMENT, {"spec": {"template": {"metadata": {"annotations": {"new": "one"}}}}}, MERGE)
        fewest, most = 2, 2

        def is_done():
            nonlocal fewest, most
            pods = self.pods()
            staying = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
            fewest, most = min(fewest, sum(map(is_ready, pods))), max(most, len(staying))
            return is_rolled_out(self.get(DEPLOYMENT)) and len(pods) == 2
        self.kubelets.play_until(is_done, title="all pods are new")
        self.assertEqual(before & {pod["metadata"]["uid"] for pod in self.pods()}, set())
        return fewest, most

    def test_rolling_updates_keep_pods_ready(self):
        self.assertEqual(self.updated("cpu"), (2, 3))

    def test_rolling_updates_wait_for_gpus(self):
        self.assertEqual(self.updated("nvidia"), (1, 2))

    def test_nodes_are_emptied_one_pod_at_a_time(self):
        self.make_namespace()
        self.apply(self.built["cpu"])
        self.roll_out()
        self.plane.wait(lambda: self.get(BUDGET)["status"].get("disruptionsAllowed") == 1, title="one may be evicted")

        def evict(pod):
            name = pod["metadata"]["name"]
            self.plane.call("POST", f"{PODS}/{name}/eviction", {"apiVersion": "policy/v1", "kind": "Eviction",
                                                                "metadata": {"name": name}})
        first, second = self.pods()
        evict(first)
        self.assertIn("violate the pod's disruption budget", self.refused(lambda: evict(second)))

        # One that is to end leaves the Service's name at once, though it still serves.
        def addresses():
            return [(end["targetRef"]["name"], end["conditions"]) for found in self.get(SLICES)["items"]
                    for end in found["endpoints"] or []]
        leaving = (first["metadata"]["name"], {"ready": False, "serving": True, "terminating": True})
        self.plane.wait(lambda: leaving in addresses(), title=f"{leaving} is told")
        self.assertIn((second["metadata"]["name"], {"ready": True, "serving": True, "terminating": False}), addresses())
        self.roll_out()
        self.kubelets.play_until(lambda: self.get(BUDGET)["status"]["disruptionsAllowed"] == 1, title="the next may go")
        evict(second)

    def test_autoscaler_finds_its_deployment(self):
        self.make_namespace()
        self.apply(self.built["cpu, all"])

        def conditions():
            found = self.get(SCALER)["status"].get("conditions") or []
            return {condition["type"]: (condition["status"], condition["reason"]) for condition in found}
        self.kubelets.play_until(lambda: "ScalingActive" in conditions(), title="the autoscaler has looked")
        # The Deployment has no number of its own, which stands for one: the autoscaler wants two at least.
        self.kubelets.play_until(lambda: self.get(DEPLOYMENT)["spec"]["replicas"] == 2, title="there are two pods")
        self.roll_out()
        self.assertEqual(conditions()["AbleToScale"][0], "True")
        # Nobody offers metrics here.
        self.assertEqual(conditions()["ScalingActive"], ("False", "FailedGetPodsMetric"))
        # As the autoscaler would with metrics; applied again, the resources leave it at that.
        self.plane.call("PATCH", f"{DEPLOYMENT}/scale", {"spec": {"replicas": 3}}, MERGE)
        self.apply(self.built["cpu, all"])
        self.assertEqual(self.get(DEPLOYMENT)["spec"]["replicas"], 3)


def main():
    programs = find_programs()
    ApiTest.programs, ApiTest.kustomize = deployment.start(__doc__)
    with tempfile.TemporaryDirectory(prefix="opserve-kubernetes-") as name:
        scratch, state = (pathlib.Path(name) / part for part in ("built", "state"))
        scratch.mkdir()
        state.mkdir()
        ApiTest.built = deployment.build_all(ApiTest.kustomize, scratch)
        with ControlPlane(programs, state) as plane:
            ApiTest.plane, ApiTest.kubelets = plane, Kubelets(plane)
            for number in (1, 2):
                ApiTest.kubelets.add_node(f"linux-{number}", "linux", **{"nvidia.com/gpu": "1"})
                ApiTest.kubelets.add_node(f"windows-{number}", "windows", [WINDOWS_ALONE], **{"microsoft.com/directx": "1"})
            definition = ["kubectl", "apply", "--server-side", "-f", programs / "servicemonitors.yaml"]
            for command in (definition, ["kubectl", "wait", "--for=condition=Established", "--timeout=60s",
                                         "crd/servicemonitors.monitoring.coreos.com"]):
                subprocess.run(command, check=True, env=plane.environment(), timeout=LIMIT_S)
            result = unittest.main(argv=[sys.argv[0]], exit=False).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
