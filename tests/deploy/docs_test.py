#!/usr/bin/python3
"""Holds the documentation to the programs: settings, error reasons, exit codes, events, links, commands.

Each check reads the truth where it lives (the programs' own output, the list of error reasons, the file
system) and fails with the names that the documentation lacks or has in excess.
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER = None
COMMAND = None


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def output(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True,
                          timeout=60, stdin=subprocess.DEVNULL, cwd=ROOT).stdout


def server_output(*arguments):
    return output(SERVER, *arguments)


def pages():
    return [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")]


def printed_commands():
    """(page, words) of each command in the pages' shell blocks that starts `opserve` or `opserve-server`."""
    for page in pages():
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
            for line in block.replace("\\\n", " ").splitlines():
                if re.match(r"(\S+/|\$)?opserve(-server)? ", line):
                    words = [word for word in shlex.split(line, comments=True) if word != "&"]
                    yield str(page.relative_to(ROOT)), [pathlib.Path(words[0]).name.lstrip("$"), *words[1:]]


# What runs the commands that the pages print, by their first word.
RUN_BY = {
    "opserve": "tests/integration/cli_docs_test.py",
    "opserve-server": "tests/deploy/docs_test.py",
    "make": "tests/deploy/docs_test.py",  # that there is such a verb; .ci/run and people run them
    "ghz": "tests/ghz/ghz_test.py",
    "grpcurl": "tests/ghz/grpcurl_test.py",
    "kubectl": "tests/kubernetes/kubernetes_api_test.py",
    "kustomize": "tests/kubernetes/kubernetes_resources_test.py",
    "openssl": "tests/kubernetes/kubernetes_server_test.py",
    "perf_analyzer": "tests/kserve/perf_analyzer_test.py",
}
# What the tests of this repository cannot have: a daemon, a cluster, the system's packages and services, a network.
NOT_RUN = {"docker", "docker-compose", "systemctl", "install", "apt-get", "go", "tar", "python3",
           ".venv-opserve/bin/pip", "./bench-gpu.sh"}
# What shells do themselves, and what makes the files of other commands.
SHELL = {"(cd", "cat", "echo", "mkdir", "source", "/usr/bin/python3",
         "opserve=build/release/bin/opserve"}


def shell_lines():
    """(page, line) of each command in the pages' shell blocks, without what here-documents and quotes hold."""
    for page in pages():
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
            block = re.sub(r"<<'END'\n.*?^END\n", "\n", block.replace("\\\n", " "), flags=re.M | re.S)
            block = re.sub(r"'[^']*'", lambda quoted: quoted.group().replace("\n", " "), block)
            block = re.sub(r"\|\|?\n\s*", "|| ", block)
            for line in block.splitlines():
                if line.strip() and not line.startswith("#"):
                    yield str(page.relative_to(ROOT)), line.strip()


def kind_of(line):
    """The first word of a command, without its folder where that is the build's or a variable."""
    line = re.sub(r"^\w+=\$\(", "", line)  # handle=$(opserve ...
    word = line.split()[0]
    return re.sub(r"^(\$|build/release/bin/|bin/)", "", word)


def anchors(page):
    """Where links within a page can lead: its headings, as they are shown on the web."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Documentation(unittest.TestCase):

    def test_operations_lists_every_flag(self):
        section = read("docs/operations.md").split("## Settings")[1].split("\n## ")[0]
        documented = set(re.findall(r"`(--[a-z-]+)", section))
        documented |= set(re.findall(r"`--version`, `(--help)`", section))
        known = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)",
                               "\n".join(re.findall(r"^ +(-.*)", server_output("--help"), re.M))))
        self.assertTrue(known)
        self.assertEqual(documented, known)

    def test_api_lists_every_reason_with_its_code_in_the_same_order(self):
        rows = re.findall(r"^OPSERVE_ERROR_REASON\((\w+), k(\w+),",
                          read("proto/opserve/error_reasons.def"), re.M)
        known = [(reason, re.sub(r"(?<!^)([A-Z])", r"_\1", code).upper()) for reason, code in rows]
        documented = re.findall(r"^\| `([A-Z_]+)` \| `([A-Z_]+)` \|", read("docs/api.md"), re.M)
        self.assertTrue(known)
        self.assertEqual(documented, known)

    def test_image_has_what_the_pages_have_installed_for_gpus(self):
        bundled = read("deploy/bundle/README.txt.in")
        named, = re.findall(r"Debian and Ubuntu: ([a-z0-9. -]+)\)", bundled)
        installed, = re.findall(r"`apt-get install ([a-z0-9. -]+)` and the GPU's", read("docs/operations.md"))
        self.assertEqual(set(output(ROOT / "deploy/setup.sh", "--print", "gpu").split()),
                         {*named.split(), *installed.split()})

    def test_every_verb_of_make_that_is_named_exists(self):
        known = set(re.findall(r"^([a-z][a-z-]*):", read("Makefile"), re.M))
        self.assertIn("bench-wire", known)
        for page in pages():
            text = page.read_text(encoding="utf-8")
            blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S))
            named = set(re.findall(r"`make ([a-z][a-z-]*)", text)
                        + re.findall(r"^make ([a-z][a-z-]*)", blocks, re.M))
            self.assertEqual(named - known, set(), page.relative_to(ROOT))

    def test_every_benchmark_verb_is_described(self):
        verbs = set(re.findall(r"^(bench[a-z-]*|soak):", read("Makefile"), re.M))
        described = set(re.findall(r"^\| `make ([a-z-]+)` \|", read("docs/benchmarks.md"), re.M))
        self.assertEqual(described, verbs)

    def test_every_exit_code_of_the_command_is_listed(self):
        codes = re.findall(r" k\w+ = (\d+), +// (.+)$", read("client/cli/arguments/exit_code.h"), re.M)
        tables = [re.findall(r"^\| (\d+) \| (.+) \|$", section, re.M)
                  for page in ROOT.glob("docs/*.md")
                  for section in re.split(r"^#+ ", page.read_text(encoding="utf-8"), flags=re.M)]
        self.assertTrue(codes)
        self.assertIn([("0", "success"), *codes], tables)

    def test_operations_lists_every_event_of_the_log(self):
        paths = [*ROOT.glob("server/**/*.cc"), *ROOT.glob("server/**/*.h")]
        sources = "\n".join(path.read_text(encoding="utf-8") for path in paths)
        events = set(re.findall(r'\bLog\([^";{]*?"([^"]+)"', sources))
        events |= set(re.findall(r'\bk\w+Event = "([^"]+)"', sources))
        section = read("docs/operations.md").split("## Logs")[1].split("\n## ")[0]
        rows = re.findall(r"^\| (`.+?`) \| [a-z, ]+ \|", section, re.M)
        self.assertTrue(events)
        self.assertEqual(set(re.findall(r"`([^`]+)`", " ".join(rows))), events)

    def test_example_file_holds_the_defaults(self):
        self.assertEqual(server_output("--config", "deploy/opserve-server.toml", "--print-config"),
                         server_output("--print-config"))
        names = set(re.findall(r"^#? ?([a-z-]+) ?=", server_output("--print-config"), re.M))
        listed = set(re.findall(r"^#? ?([a-z-]+) ?=", read("deploy/opserve-server.toml"), re.M))
        self.assertTrue(names)
        self.assertEqual(listed, names)

    def test_links_within_pages_lead_somewhere(self):
        broken = []
        for page in pages():
            for target, anchor in re.findall(r"\]\(([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
                goal = page.parent / target if target else page
                if "://" not in target and anchor not in anchors(goal):
                    broken.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")
        self.assertEqual(broken, [])

    def test_printed_commands_have_options_that_exist(self):
        faults = []
        commands = list(printed_commands())
        self.assertGreater(len(commands), 5)
        for page, (program, *words) in commands:
            has_verb = program != "opserve-server" or words[:1] == ["token"]
            verb = words[:1] if has_verb else []
            help_text = output(SERVER if program == "opserve-server" else COMMAND, *verb, "--help")
            known = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", help_text))
            faults += [f"{page}: {program} {' '.join(words)}: {word}" for word in words
                       if word.startswith("--") and word.split("=")[0] not in known]
        self.assertEqual(faults, [])

    def test_every_printed_command_is_run_by_a_test(self):
        lines = list(shell_lines())
        self.assertGreater(len(lines), 50)
        unknown = [f"{page}: {line}" for page, line in lines
                   if kind_of(line) not in RUN_BY.keys() | NOT_RUN | SHELL]
        self.assertEqual(unknown, [])
        kinds = {kind_of(line) for _, line in lines}
        self.assertEqual((RUN_BY.keys() | NOT_RUN | SHELL) - kinds, set(), "nothing prints these")
        for test in RUN_BY.values():
            self.assertTrue((ROOT / test).exists(), test)

    def test_printed_commands_of_the_server_are_understood(self):
        commands = [(page, words) for page, (program, *words) in printed_commands()
                    if program == "opserve-server" and words[:1] != ["token"]]
        self.assertGreater(len(commands), 3)
        for page, words in commands:
            # What an installation and a bundle have.
            words = [str(ROOT / "deploy" / pathlib.Path(word).name) if word.endswith(".toml") and
                     pathlib.Path(word).name == "opserve-server.toml" else word for word in words]
            with self.subTest(page=page, words=words):
                server_output(*words, "--print-config")

    def test_printed_commands_about_tokens_work(self):
        commands = [words for _, (program, *words) in printed_commands()
                    if program == "opserve-server" and words[:1] == ["token"]]
        self.assertGreater(len(commands), 3)
        with tempfile.TemporaryDirectory(prefix="opserve-docs-") as folder:
            for words in commands:
                # To a file of the test's; what follows a pipe or goes to a file is the shell's.
                ends = [words.index(sign) for sign in (">", "|") if sign in words]
                words = words[:min(ends, default=len(words))]
                at = words.index("--tokens") + 1
                words[at] = f"{folder}/{pathlib.Path(words[at]).name}"
                server_output(*words)

    def test_printed_calls_have_every_attribute(self):
        faults = []
        calls = [(page, words) for page, words in printed_commands() if words[1:2] in (["run"], ["pack"])]
        self.assertTrue(calls)
        for page, words in calls:
            sections = [section for section in re.split(r"^## ", read("docs/operators.md"), flags=re.M)
                        if section.split("\n")[0] in words]
            needed = set(re.findall(r"^- `(\w+)`: (?:one of|a number)", "".join(sections), re.M))
            given = {value.split("=")[0] for name, value in zip(words, words[1:]) if name == "--attr"}
            if given != needed:
                faults.append(f"{page}: {' '.join(words)}: attributes {given}, not {needed}")
        self.assertEqual(faults, [])

    def test_readme_is_short(self):
        self.assertLessEqual(len(read("README.md").splitlines()), 200)

    def test_links_lead_somewhere(self):
        broken = []
        self.assertGreater(len(pages()), 5)
        for page in pages():
            for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
                if "://" not in target and not (page.parent / target).exists():
                    broken.append(f"{page.relative_to(ROOT)}: {target}")
        self.assertEqual(broken, [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", type=pathlib.Path, required=True, help="opserve-server")
    parser.add_argument("--command", type=pathlib.Path, required=True, help="opserve")
    known_arguments, rest = parser.parse_known_args()
    SERVER = known_arguments.server.resolve()
    COMMAND = known_arguments.command.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
