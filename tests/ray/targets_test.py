#!/usr/bin/python3
"""Tests which servers deploy/ray/opserve_ray.py has a process connect to, with stand-ins for Ray and for opserve."""

import pathlib
import sys
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_HOSTS = 8


def stand_ins(nodes):
    """Modules by name: a Ray whose `nodes` have a GPU each, and whose task runs on none of them."""
    ray = types.ModuleType("ray")
    ray.nodes = lambda: [{"NodeID": node, "Alive": True, "Resources": {"GPU": 1}} for node in nodes]
    ray.get_runtime_context = lambda: types.SimpleNamespace(get_node_id=lambda: "here")
    ray.remote = lambda **options: lambda made: made
    scheduling = types.ModuleType("ray.util.scheduling_strategies")
    scheduling.NodeAffinitySchedulingStrategy = object
    opserve = types.ModuleType("opserve")
    opserve.Client = object
    opserve.connect = mock.Mock(side_effect=lambda target, **options: object())
    return {"ray": ray, "ray.util": types.ModuleType("ray.util"), "ray.util.scheduling_strategies": scheduling,
            "opserve": opserve}


class Targets(unittest.TestCase):

    def setUp(self):
        self.nodes = [f"node{number}" for number in range(3)]
        modules = stand_ins(self.nodes)
        self.connect = modules["opserve"].connect
        patched = [mock.patch.dict(sys.modules, modules),
                   mock.patch.object(sys, "path", [str(ROOT / "deploy" / "ray"), *sys.path]),
                   mock.patch.object(sys, "dont_write_bytecode", True)]
        for patch in patched:
            patch.start()
            self.addCleanup(patch.stop)

    def process(self):
        """Servers with a GPU, as a process of its own has them."""
        sys.modules.pop("opserve_ray", None)
        import opserve_ray  # pylint: disable=import-error,import-outside-toplevel
        servers = opserve_ray.Servers
        patch = mock.patch.object(servers, "_addresses", lambda _, nodes: [(f"unix:/{node}", node) for node in nodes])
        patch.start()
        self.addCleanup(patch.stop)
        return servers(gpus=1)

    def hosts(self, servers):
        return servers.target().split(",")

    def test_a_process_gets_the_same_client_each_time(self):
        servers = self.process()
        self.assertEqual(len({servers.connect() for _ in range(100)}), 1)
        self.assertEqual(self.connect.call_count, 1)

    def test_few_nodes_are_all_called(self):
        self.assertEqual(sorted(self.hosts(self.process())), self.nodes)

    def test_of_many_each_process_calls_some_of_its_own(self):
        self.nodes += [f"more{number}" for number in range(60)]
        chosen = [self.hosts(self.process()) for _ in range(50)]
        self.assertEqual({len(set(hosts)) for hosts in chosen}, {MOST_HOSTS})
        self.assertGreater(len({tuple(sorted(hosts)) for hosts in chosen}), 1)

    def test_a_node_that_is_lost_is_replaced_and_the_others_stay(self):
        self.nodes += [f"more{number}" for number in range(60)]
        servers = self.process()
        before = self.hosts(servers)
        self.nodes.remove(before[2])
        after = self.hosts(servers)
        self.assertEqual(after[:-1], before[:2] + before[3:])
        self.assertNotIn(after[-1], before)


if __name__ == "__main__":
    unittest.main()
