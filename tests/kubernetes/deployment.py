"""What deploy/kubernetes/ makes: the resources of every overlay, built by the real kustomize."""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
import go_tool  # pylint: disable=wrong-import-position
from required import skip_without  # pylint: disable=wrong-import-position

try:
    import grpc  # pylint: disable=unused-import
    import kubernetes_validate  # pylint: disable=unused-import
    import yaml
except ImportError:
    yaml = None

SOURCE = ROOT / "deploy/kubernetes"
PAGE = ROOT / "docs/kubernetes.md"
LIMIT_S = 60


def start(description):
    """The folder of the programs, and kustomize; runs the test in the environment that has kubernetes-validate
    and grpcio.

    Ends the test as skipped where either tool is missing, or as failed where OPSERVE_REQUIRE has it.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True,
                        help="folder of opserve-server and opserve")
    parser.add_argument("--tools", type=pathlib.Path, required=True,
                        help="folder that kustomize is installed into, and kept in")
    parser.add_argument("--python", help="with kubernetes-validate; the test runs itself there")
    arguments = parser.parse_args()
    if yaml is None:
        if not arguments.python:
            sys.exit("kubernetes_validate or grpc cannot be imported")
        probe = [arguments.python, "-c", "import kubernetes_validate, grpc"]
        if not os.path.exists(arguments.python) or subprocess.run(
                probe, capture_output=True, check=False, timeout=LIMIT_S).returncode != 0:
            skip_without("kubernetes-validate", "kubernetes-validate or grpcio is not installed in .venv")
        rest = ["--bin", arguments.bin, "--tools", arguments.tools]
        sys.exit(subprocess.run([arguments.python, sys.argv[0], *rest], check=False).returncode)
    return arguments.bin.resolve(), go_tool.install("kustomize", arguments.tools)


def run(*command, folder=ROOT):
    """What a command prints; raises with its words where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False,
                          stdin=subprocess.DEVNULL, cwd=folder)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


class Resources:
    """The resources of one overlay, and the parts of them that checks look at."""

    def __init__(self, text):
        self.all = list(yaml.safe_load_all(text))

    def of(self, kind):
        return [resource for resource in self.all if resource["kind"] == kind]

    def only(self, kind):
        found = self.of(kind)
        if len(found) != 1:
            raise AssertionError(f"{len(found)} resources of the kind {kind}")
        return found[0]

    @property
    def pod(self):
        return self.only("Deployment")["spec"]["template"]

    @property
    def container(self):
        (container,) = self.pod["spec"]["containers"]
        return container

    @property
    def system(self):
        """The operating system of its nodes."""
        return self.pod["spec"]["os"]["name"]

    @property
    def probes(self):
        return {name: self.container[f"{name}Probe"] for name in ("startup", "readiness", "liveness")}

    def arguments(self, pod_ip="10.1.2.3"):
        """The arguments of the server as Kubernetes gives them to a container of a pod with that address."""
        fields = {"status.podIP": pod_ip}
        values = {entry["name"]: entry["value"] if "value" in entry else fields[entry["valueFrom"]["fieldRef"]["fieldPath"]]
                  for entry in self.container["env"]}
        # What is no variable of the container stays as it is.
        return [re.sub(r"\$\(([^)]+)\)", lambda found: values.get(found.group(1), found.group()), argument)
                for argument in self.container["args"]]

    def flags(self):
        """(name, value) of each argument of the server; None for switches."""
        for argument in self.arguments():
            name, _, value = argument.partition("=")
            yield name, value or None


def build(kustomize, folder):
    """The Resources of the kustomization in a folder."""
    return Resources(run(kustomize, "build", folder))


def build_all(kustomize, scratch):
    """By title: each overlay as it is, and with all that can be added to it, as docs/kubernetes.md tells.

    `scratch`: an empty folder.
    """
    copy = scratch / "kubernetes"
    shutil.copytree(SOURCE, copy)
    built = {}
    for overlay in sorted(path.name for path in (SOURCE / "overlays").iterdir()):
        built[overlay] = build(kustomize, SOURCE / "overlays" / overlay)
        monitoring = "monitoring-tls" if overlay.endswith("-tls") else "monitoring"
        for component in (monitoring, "autoscaling"):
            run(kustomize, "edit", "add", "component", f"../../components/{component}",
                folder=copy / "overlays" / overlay)
        built[f"{overlay}, all"] = build(kustomize, copy / "overlays" / overlay)
    return built


# What makes the image, by the operating system of its nodes.
IMAGES = {"linux": "Dockerfile", "windows": "deploy/windows/Dockerfile"}


def entry_point(system="linux"):
    """The command that the image starts, before the arguments of the container."""
    (text,) = re.findall(r"^ENTRYPOINT (\[.*\])$", (ROOT / IMAGES[system]).read_text(encoding="utf-8"), re.M)
    return json.loads(text)


def in_container(path):
    """A path of a container of either system, with slashes and without the drive, as mounts have them."""
    return re.sub(r"^C:", "", path).replace("\\", "/")


def printed_blocks():
    """The shell blocks of docs/kubernetes.md."""
    return re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def needs_cluster(block):
    """Whether a block of the page calls what the test has not: a cluster, or an engine for images."""
    return re.search(r"^(kubectl|docker|.*\| kubectl) ", block, re.M) is not None
