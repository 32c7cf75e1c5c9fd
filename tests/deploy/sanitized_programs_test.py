#!/usr/bin/env python3
"""`make asan` and `make tsan` build what the tests that they run are.

Sanitizers' builds are of a part of the programs and of a part of the tests. A test in the one and not in the other
would only be found out at the end of such a run, as a test that could not be started.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_S = 60

OPTIONS = None


def output(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True,
                          timeout=LIMIT_S, cwd=ROOT).stdout


def commands(verb):
    """The command lines of a verb of the Makefile, as lists of words."""
    # A make that runs this test must not pass its own options on.
    lines = subprocess.run(["env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "-n", verb], capture_output=True,
                           text=True, check=True, timeout=LIMIT_S, cwd=ROOT).stdout
    return [shlex.split(line) for line in lines.replace("\\\n", " ").splitlines()]


def selection(words):
    """Of a command line of ctest, the options that select tests."""
    options = []
    for option, value in zip(words, words[1:]):
        if option in ["-L", "-LE", "-E"]:
            options += [option, value]
    return options


class SanitizedPrograms(unittest.TestCase):

    def programs(self, target):
        """The programs that a target of ninja stands for; none for one that only sanitizers' builds have."""
        if not target.endswith("/all"):
            return {pathlib.Path(target).name}
        query = subprocess.run(["ninja", "-C", OPTIONS.build, "-t", "query", target], capture_output=True,
                               text=True, check=False, timeout=LIMIT_S)
        if query.returncode != 0:
            return set()
        inputs = re.search(r"input: .*\n((?:    .*\n)*)", query.stdout).group(1).split()
        return set().union(*(self.programs(each) for each in inputs))

    def built(self, lines):
        found = set()
        for words in lines:
            if "ninja" in words:
                targets = words[words.index("-j") + 2:]
                found |= set().union(*(self.programs(target) for target in targets))
        return found

    def run_by(self, lines):
        """Names of tests, each with a program of the build that its command names."""
        [select] = [selection(words) for words in lines if "ctest" in words]
        tests = json.loads(output("ctest", "--test-dir", OPTIONS.build, "--show-only=json-v1", *select))["tests"]
        folder = os.path.join(OPTIONS.build, "bin")
        words = [(test["name"], pathlib.Path(word)) for test in tests for word in test["command"]]
        return [(name, path.name) for name, path in words if str(path.parent) == folder]

    def check_verb(self, verb):
        lines = commands(verb)
        tests = self.run_by(lines)
        self.assertGreater(len(tests), 10)
        built = self.built(lines)
        missing = [(name, program) for name, program in tests if program not in built]
        self.assertEqual(missing, [], f"make {verb} runs these tests and does not build their programs")

    def test_address_sanitizer(self):
        self.check_verb("asan")

    def test_thread_sanitizer(self):
        self.check_verb("tsan")


def main():
    global OPTIONS  # pylint: disable=global-statement
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="folder of the build")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=["sanitized_programs_test", *rest])


if __name__ == "__main__":
    main()
