#!/usr/bin/python3
"""Holds the resources of deploy/kubernetes/ to Kubernetes' schemas, to each other and to the server's settings.

The real kustomize builds every overlay, alone and with all components. Needs Go and the Python packages
kubernetes-validate and grpcio (deploy/setup.sh peers); skipped without, unless OPSERVE_REQUIRE has their names.
"""

import pathlib
import re
import sys
import tempfile
import tomllib
import unittest

import deployment
from deployment import ROOT

try:
    import kubernetes_validate
    import yaml
except ImportError:
    pass  # deployment.start() runs the test where they are.

# The oldest that knows all of it, by the sleep of preStop, and the newest of the schemas.
OLDEST = "1.30"
# Kinds that operators bring, without schemas: checked below.
WITHOUT_SCHEMA = {"ServiceMonitor"}
UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def quantity(text):
    """Bytes, or a number, of a size of the server's settings or of Kubernetes."""
    number, unit = re.fullmatch(r"(\d+)([A-Za-z]*)", str(text)).groups()
    return int(number) * UNITS[unit]


class ResourcesTest(unittest.TestCase):
    programs = None
    built = {}
    known_settings = {}

    def each(self):
        for title, resources in self.built.items():
            with self.subTest(title):
                yield resources

    def settings(self, resources):
        """All settings of the server with the arguments of its container."""
        arguments = tuple(resources.arguments())
        if arguments not in self.known_settings:
            self.known_settings[arguments] = tomllib.loads(
                deployment.run(self.programs / "opserve-server", *arguments, "--print-config"))
        return self.known_settings[arguments]

    def test_overlays_are_there(self):
        self.assertEqual({title for title in self.built if "," not in title},
                         {f"{devices}{tls}" for devices in ("cpu", "nvidia", "windows", "windows-directx") for tls in ("", "-tls")})

    def test_kinds_have_their_schemas(self):
        versions = (OLDEST, kubernetes_validate.latest_version())
        checked = []
        for resources in self.each():
            for resource in resources.all:
                if resource["kind"] not in WITHOUT_SCHEMA and resource not in checked:
                    checked.append(resource)
                    for version in versions:
                        kubernetes_validate.validate(resource, version, strict=True)
        self.assertEqual({resource["kind"] for resource in checked}, {"Deployment", "Service", "ServiceAccount", "PodDisruptionBudget", "ConfigMap",
                                   "NetworkPolicy", "HorizontalPodAutoscaler"})

    def test_schemas_are_strict(self):
        resource = self.built["cpu"].only("ServiceAccount")
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate({**resource, "automount": True}, OLDEST, strict=True)

    def test_all_is_in_one_namespace_under_one_name(self):
        for resources in self.each():
            for resource in resources.all:
                self.assertEqual(resource["metadata"]["namespace"], "opserve")
                self.assertIn(resource["metadata"]["name"], ("opserve", "opserve-policy"))

    def test_server_takes_the_arguments(self):
        known = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)",
                               deployment.run(self.programs / "opserve-server", "--help")))
        for resources in self.each():
            flags = [name for name, _ in resources.flags()]
            self.assertEqual(set(flags) - known, set())
            self.assertIn("listen", self.settings(resources))
            self.assertEqual(len(flags) - flags.count("--listen"), len(set(flags) - {"--listen"}))

    def test_either_tls_or_told_that_there_is_none(self):
        for resources in self.each():
            settings = self.settings(resources)
            self.assertNotEqual(settings["insecure"], bool(settings["tls-certificate"]))
            self.assertNotEqual(settings["allow-anonymous"], bool(settings["policy"]))

    def test_devices(self):
        for title, resources in self.built.items():
            with self.subTest(title):
                container = resources.container
                gpus = {name: number for name, number in container["resources"]["limits"].items() if name != "memory"}
                has_gpu, is_nvidia = bool(gpus), title.startswith("nvidia")
                environment = {entry["name"]: entry.get("value") for entry in container["env"]}
                self.assertEqual(gpus, {"nvidia.com/gpu": 1} if is_nvidia else
                                 {"microsoft.com/directx": 1} if "directx" in title else {})
                self.assertEqual(environment.get("NVIDIA_DRIVER_CAPABILITIES"), "graphics" if is_nvidia else None)
                # Nodes with GPUs are often tainted by the name of the resource.
                tolerated = {taint["key"] for taint in resources.pod["spec"].get("tolerations", [])}
                self.assertLessEqual(set(gpus), tolerated)
                self.assertEqual(self.settings(resources)["devices"], "auto" if has_gpu else "none")
                rolling = resources.only("Deployment")["spec"]["strategy"]["rollingUpdate"]
                self.assertEqual(rolling, {"maxSurge": 0, "maxUnavailable": 1} if has_gpu else
                                 {"maxSurge": 1, "maxUnavailable": 0})

    def test_pods_go_to_nodes_of_their_system(self):
        for title, resources in self.built.items():
            with self.subTest(title):
                self.assertEqual(resources.system, "windows" if title.startswith("windows") else "linux")
                self.assertEqual(resources.pod["spec"]["nodeSelector"], {"kubernetes.io/os": resources.system})
                tolerated = {(taint["key"], taint.get("value")) for taint in resources.pod["spec"].get("tolerations", [])}
                self.assertEqual(("node.kubernetes.io/os", "windows") in tolerated, resources.system == "windows")

    def test_selectors_find_the_pods(self):
        for resources in self.each():
            labels = resources.pod["metadata"]["labels"].items()
            spread = [entry["labelSelector"] for entry in resources.pod["spec"]["topologySpreadConstraints"]]
            selectors = [
                resources.only("Deployment")["spec"]["selector"],
                {"matchLabels": resources.only("Service")["spec"]["selector"]},
                resources.only("PodDisruptionBudget")["spec"]["selector"],
                resources.only("NetworkPolicy")["spec"]["podSelector"], *spread]
            self.assertEqual(len(spread), 2)
            for selector in selectors:
                self.assertTrue(selector["matchLabels"])
                self.assertLessEqual(selector["matchLabels"].items(), labels)

    def test_ports_agree(self):
        for resources in self.each():
            ports = {port["name"]: port["containerPort"] for port in resources.container["ports"]}
            settings = self.settings(resources)
            addresses = settings["listen"]
            addresses = [addresses] if isinstance(addresses, str) else addresses
            self.assertIn(f"0.0.0.0:{ports['grpc']}", addresses)
            self.assertEqual(settings["metrics-listen"], f"0.0.0.0:{ports['metrics']}")
            service = resources.only("Service")["spec"]
            self.assertEqual(service["clusterIP"], "None")
            # Without an address of the cluster nobody maps ports.
            self.assertEqual({port["name"]: port["port"] for port in service["ports"]}, ports)
            self.assertEqual([port["targetPort"] for port in service["ports"]], list(ports))
            for probe in resources.probes.values():
                if "grpc" in probe:
                    self.assertEqual(probe["grpc"]["port"], ports["grpc"])

    def test_pods_tell_clients_their_own_address(self):
        for resources in self.each():
            ports = {port["name"]: port["containerPort"] for port in resources.container["ports"]}
            self.assertEqual(self.settings(resources)["advertise"], f"10.1.2.3:{ports['grpc']}")

    def test_network_policy_lets_clients_and_prometheus_in(self):
        for resources in self.each():
            policy = resources.only("NetworkPolicy")["spec"]
            allowed = {rule["ports"][0]["port"]: rule["from"] for rule in policy["ingress"]}
            self.assertEqual(set(policy["policyTypes"]), {"Ingress", "Egress"})
            self.assertEqual(policy["egress"], [])
            self.assertEqual(allowed, {
                "grpc": [{"namespaceSelector": {"matchLabels": {"opserve-clients": "allowed"}}}],
                "metrics": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]})
            self.assertEqual([len(rule["ports"]) for rule in policy["ingress"]], [1, 1])

    def test_probes_suit_the_port(self):
        for resources in self.each():
            tls = bool(self.settings(resources)["tls-certificate"])
            for name, probe in resources.probes.items():
                self.assertEqual("grpc" in probe, not tls, name)
                if tls:
                    command = probe["exec"]["command"]
                    limit = command[command.index("--timeout") + 1]
                    self.assertLess(int(limit.removesuffix("s")), probe["timeoutSeconds"])
                    self.assertEqual(command[command.index("--ready-file") + 1],
                                     deployment.entry_point(resources.system)[-1])
                self.assertLessEqual(probe["timeoutSeconds"], probe["periodSeconds"] + 1)
            # No shorter than WatchdogSec of deploy/systemd/opserve.service.
            live = resources.probes["liveness"]
            self.assertGreaterEqual(live["periodSeconds"] * live["failureThreshold"], 60)

    def test_drain_ends_within_the_grace_period(self):
        for resources in self.each():
            stop = resources.container["lifecycle"]["preStop"]
            if resources.system == "windows":
                # The hook sleeps, tells the server to drain, and sleeps; ping waits a second after each but the last.
                words = stop["exec"]["command"][-1]
                sleep, drains = (int(number) - 1 for number in re.findall(r"ping -n (\d+) ", words))
                program = deployment.entry_point("windows")[0]
                self.assertRegex(words, rf"^ping [^&]+ & {re.escape(program)} stop & ping [^&]+$")
                self.assertGreater(drains, self.settings(resources)["drain-timeout"] + 10)
                self.assertGreater(resources.pod["spec"]["terminationGracePeriodSeconds"], sleep + drains)
            else:
                sleep = stop["sleep"]["seconds"]
            grace = resources.pod["spec"]["terminationGracePeriodSeconds"]
            drain = self.settings(resources)["drain-timeout"]
            self.assertGreater(sleep, 0)
            self.assertGreater(drain, self.settings(resources)["drain-stall-limit"])
            self.assertGreaterEqual(grace, sleep + drain + 10)

    def test_settings_fit_the_resources(self):
        for resources in self.each():
            settings, asked = self.settings(resources), resources.container["resources"]
            for name in ("workers", "cpu-threads"):
                self.assertEqual(str(settings[name]), asked["requests"]["cpu"])
            taken = sum(quantity(settings[f"max-{name}-bytes"]) for name in ("queued", "transport", "resident"))
            self.assertGreaterEqual(quantity(asked["limits"]["memory"]), taken + 2**30)
            self.assertEqual(asked["limits"]["memory"], asked["requests"]["memory"])

    def test_pods_are_restricted(self):
        """What the Pod Security Standard "restricted" asks for, and more."""
        for resources in self.each():
            pod, container = resources.pod["spec"], resources.container.get("securityContext", {})
            self.assertTrue(pod["securityContext"]["runAsNonRoot"])
            if resources.system == "windows":
                # All else is Linux's.
                self.assertEqual(pod["securityContext"], {"runAsNonRoot": True,
                                                          "windowsOptions": {"runAsUserName": "ContainerUser"}})
                self.assertEqual(container, {})
            else:
                self.assertGreater(pod["securityContext"]["runAsUser"], 0)
                self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
                self.assertEqual(container, {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                             "capabilities": {"drop": ["ALL"]}})
            self.assertFalse(pod["automountServiceAccountToken"])
            self.assertFalse(resources.only("ServiceAccount")["automountServiceAccountToken"])
            self.assertEqual(pod["serviceAccountName"], resources.only("ServiceAccount")["metadata"]["name"])
            self.assertEqual(set(pod) & {"hostNetwork", "hostPID", "hostIPC", "initContainers"}, set())

    def test_files_are_in_volumes(self):
        """What the server writes is in an emptyDir, what it reads in a secret or config map that has the key."""
        keys = {"opserve-tls": {"tls.crt", "tls.key"}, **self.keys_of_printed_secrets()}
        (of_windows,) = re.findall(r"create secret generic opserve-tls --type=kubernetes.io/tls (.*?)--dry-run",
                                   "".join(deployment.printed_blocks()), re.S)
        with_authority = {**keys, "opserve-tls": set(re.findall(r"--from-file=([\w.]+)=", of_windows))}
        for resources in self.each():
            known = with_authority if resources.system == "windows" else keys
            volumes = {volume["name"]: volume for volume in resources.pod["spec"]["volumes"]}
            mounts = {mount["mountPath"]: mount for mount in resources.container["volumeMounts"]}
            self.assertEqual(sorted(volumes), sorted(mount["name"] for mount in mounts.values()))
            self.assertFalse(any("subPath" in mount for mount in mounts.values()))
            paths = [value for name, value in resources.flags() if value and value.startswith(("/", "unix:"))]
            for path in [deployment.entry_point(resources.system)[-1], *paths, *self.files_of_probes(resources)]:
                file = pathlib.PurePosixPath(deployment.in_container(path.removeprefix("unix:")))
                volume = volumes[mounts[str(file.parent)]["name"]]
                if "secret" in volume:
                    self.assertIn(file.name, known[volume["secret"]["secretName"]])
                    # Windows has no groups for it, and no modes.
                    self.assertEqual(volume["secret"]["defaultMode"], 0o440)
                    self.assertEqual("fsGroup" in resources.pod["spec"]["securityContext"], resources.system == "linux")
                elif "configMap" in volume:
                    (found,) = [item for item in resources.of("ConfigMap")
                                if item["metadata"]["name"] == volume["configMap"]["name"]]
                    self.assertIn(file.name, found["data"])
                else:
                    self.assertIn("emptyDir", volume)

    def files_of_probes(self, resources):
        """The files of volumes that the commands of probes name."""
        words = [word for probe in resources.probes.values() for word in probe.get("exec", {}).get("command", [])[1:]]
        return {word for word in words if word.startswith(("/", "C:"))}

    def keys_of_printed_secrets(self):
        """By name: the keys of the secrets that docs/kubernetes.md tells to make."""
        text = "\n".join(deployment.printed_blocks())
        made = re.findall(r"kubectl -n opserve create secret generic ([\w-]+) --from-file=([\w.-]+)", text)
        self.assertIn("kubectl -n opserve create secret tls opserve-tls --cert=", text)
        return {name: {key} for name, key in made}

    def test_images_are_of_this_version(self):
        (version,) = re.findall(r"^ +VERSION ([\d.]+)$", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)
        for resources in self.each():
            suffix = {"linux": "", "windows": "-windows"}[resources.system]
            self.assertEqual(resources.container["image"], f"opserve:{version}{suffix}")

    def test_service_monitor(self):
        keys = self.keys_of_printed_secrets()
        for title, resources in self.built.items():
            with self.subTest(title):
                if ", all" not in title:
                    self.assertEqual(resources.of("ServiceMonitor"), [])
                    continue
                monitor, service = resources.only("ServiceMonitor"), resources.only("Service")
                self.assertEqual(monitor["apiVersion"], "monitoring.coreos.com/v1")
                self.assertEqual(set(monitor["spec"]), {"jobLabel", "selector", "endpoints"})
                self.assertEqual(service["metadata"]["labels"][monitor["spec"]["jobLabel"]], "opserve")
                self.assertLessEqual(monitor["spec"]["selector"]["matchLabels"].items(),
                                     service["metadata"]["labels"].items())
                (endpoint,) = monitor["spec"]["endpoints"]
                plain = {"port": "metrics", "path": "/metrics", "interval": "15s"}
                if not self.settings(resources)["tls-certificate"]:
                    self.assertEqual(endpoint, plain)
                    continue
                authority, token = endpoint["tlsConfig"]["ca"]["secret"], endpoint["authorization"]["credentials"]
                self.assertEqual(endpoint, {
                    **plain, "scheme": "https",
                    "tlsConfig": {"ca": {"secret": {"name": "opserve-ca", "key": "ca.pem"}},
                                  "serverName": "opserve.opserve.svc.cluster.local"},
                    "authorization": {"credentials": {"name": "opserve-scraper", "key": "token"}}})
                for used in (authority, token):
                    self.assertIn(used["key"], keys[used["name"]])

    def test_autoscaler(self):
        rules = yaml.safe_load((deployment.SOURCE / "components/autoscaling/prometheus-adapter-rules.yaml")
                               .read_text(encoding="utf-8"))["rules"]
        (pattern,) = re.findall(r'__name__=~"([^"]+)"', rules[0]["seriesQuery"])
        for title, resources in self.built.items():
            if ", all" not in title:
                self.assertEqual(resources.of("HorizontalPodAutoscaler"), [])
                self.assertEqual(resources.only("Deployment")["spec"]["replicas"], 2)
                continue
            with self.subTest(title):
                scaler, target = resources.only("HorizontalPodAutoscaler")["spec"], resources.only("Deployment")
                self.assertEqual(scaler["scaleTargetRef"], {"apiVersion": target["apiVersion"], "kind": target["kind"],
                                                            "name": target["metadata"]["name"]})
                self.assertNotIn("replicas", target["spec"])
                # With one, the budget would let all of it be evicted at once.
                self.assertGreater(scaler["minReplicas"],
                                   resources.only("PodDisruptionBudget")["spec"]["maxUnavailable"])
                settings = self.settings(resources)
                limits = {"opserve_held_requests": settings["max-concurrent-requests"],
                          "opserve_held_bytes": quantity(settings["max-queued-bytes"])}
                metrics = {metric["pods"]["metric"]["name"]: metric["pods"]["target"] for metric in scaler["metrics"]}
                self.assertEqual(set(metrics), set(limits))
                for name, target in metrics.items():
                    self.assertRegex(name, f"^({pattern})$")
                    self.assertEqual(quantity(target["averageValue"]) * 4, limits[name])


def main():
    ResourcesTest.programs, kustomize = deployment.start(__doc__)
    with tempfile.TemporaryDirectory(prefix="opserve-kubernetes-") as name:
        ResourcesTest.built = deployment.build_all(kustomize, pathlib.Path(name))
        result = unittest.main(argv=[sys.argv[0]], exit=False).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
