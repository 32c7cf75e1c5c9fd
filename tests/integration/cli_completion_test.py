#!/usr/bin/python3
"""Runs what `opserve` writes about itself: completion in bash and zsh, and the manual page."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
import unittest

import cli_fixture
from cli_fixture import CALL_LIMIT_S, SUCCESS, USAGE, CliCase, environment, opserve


def run(*command, stdin=""):
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False,
                          timeout=CALL_LIMIT_S, env={**environment(), "LC_ALL": "C.UTF-8"})
    return done.returncode, done.stdout, done.stderr


class HelpCase(CliCase):

    def verbs(self, *path):
        """All verbs below `path`, itself included, as lists of words."""
        listed = self.succeed(*path, "--help").partition("Verbs,")[2].partition("\n\n")[0]
        below = re.findall(r"^  (\w+)  ", listed, re.MULTILINE)
        return [list(path)] + [verb for name in below for verb in self.verbs(*path, name)]

    def options(self, verb):
        """What the help of a verb lists."""
        options = self.succeed(*verb, "--help").partition("Options:\n")[2].partition("\n\n")[0]
        names = re.findall(r"^  (?:-\w, )?(--[\w-]+)", options, re.MULTILINE)
        self.assertIn("--help", names)
        return names


class HelpTest(HelpCase):

    def test_help_fits_a_terminal(self):
        verbs = self.verbs()
        self.assertIn(["tensor", "create"], verbs)
        self.assertIn(["run"], verbs)
        for verb in verbs:
            for line in self.succeed(*verb, "--help").splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_verbs_for_installers_are_not_listed(self):
        names = [verb[0] for verb in self.verbs() if verb]
        self.assertNotIn("completion", names)
        self.assertNotIn("man", names)
        self.assertEqual(opserve("completion", "fish").returncode, USAGE)


class BashTest(HelpCase):

    def setUp(self):
        super().setUp()
        self.script = self.folder / "opserve"
        self.script.write_text(self.succeed("completion", "bash"), encoding="utf-8")

    def complete(self, *words):
        """What bash offers for the last of `words`, and whether files are among it."""
        quoted = " ".join(f"'{word}'" for word in ("opserve", *words))
        code, out, err = run("bash", "--norc", "-c", f"""
            offers=
            compopt() {{ offers=files; }}
            source '{self.script}'
            complete -p opserve >/dev/null || exit 1
            COMP_WORDS=({quoted}) COMP_CWORD={len(words)}
            _opserve
            printf '%s\\n' "$offers" "${{COMPREPLY[@]}}" """)
        self.assertEqual((code, err), (SUCCESS, ""))
        files, *offered = out.split("\n")[:-1]
        return [word for word in offered if word], files == "files"

    def test_every_verb_and_option_of_the_help(self):
        for verb in self.verbs():
            offered, _ = self.complete(*verb, "--")
            self.assertEqual(sorted(offered), sorted(set(self.options(verb))), verb)
            if verb:
                start = verb[-1][:-1]
                self.assertIn(verb[-1], self.complete(*verb[:-1], start)[0])

    def test_values(self):
        self.assertEqual(self.complete("run", "--device", "")[0], ["auto", "gpu", "cpu"])
        self.assertEqual(self.complete("bench", "--priority", "h")[0], ["high"])
        self.assertEqual(self.complete("bench", "--type", "FLOAT1")[0], ["FLOAT16"])
        self.assertEqual(self.complete("run", "--input", "x"), ([], True))
        self.assertEqual(self.complete("tensor", "create", "x"), ([], True))
        self.assertEqual(self.complete("run", "--timeout", ""), ([], False))
        self.assertEqual(self.complete("info", "--device", ""), (self.complete("info", "")))

    def test_in_an_interactive_shell(self):
        self.assertIn("SERVING", type_into(["bash", "--norc", "--noprofile", "-i"],
                                           [f". {self.script}\n", "opserve heal\t\n", "exit\n"]))


class ZshTest(HelpCase):

    def test_every_option_of_the_help(self):
        script = self.succeed("completion", "zsh")
        for verb in self.verbs():
            name = "_".join(["_opserve", *verb])
            body = script.partition(f"\n{name}() {{\n")[2].partition("\n}\n")[0]
            for option in self.options(verb):
                self.assertIn(f"{option}[", body, verb)
            for below in self.verbs(*verb)[1:]:
                if len(below) == len(verb) + 1:
                    self.assertIn(f"{below[-1]}) {name}_{below[-1]} ;;", body)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed; see deploy/setup.sh")
    def test_in_an_interactive_shell(self):
        (self.folder / "_opserve").write_text(self.succeed("completion", "zsh"), encoding="utf-8")
        typed = [f"fpath=({self.folder} $fpath); autoload -U compinit; compinit -u -D; cd /\n",
                 "opserve heal\t\n", "opserve info --js\t\n",
                 "opserve tensor lis\t --client-name t\n", "exit\n"]
        printed = type_into(["zsh", "-f", "-i"], typed)
        self.assertIn("SERVING", printed)
        self.assertIn('"max_dimension_count": 8', printed)
        self.assertIn("0 tensors", printed)


def type_into(shell, lines):
    """What an interactive shell prints while `lines` are typed into it."""
    path = f"{cli_fixture.program().parent}:{os.environ['PATH']}"
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(shell[0], shell, environment(PATH=path, TERM="dumb", PS1="> "))
    printed = ""
    deadline = time.monotonic() + CALL_LIMIT_S
    try:
        for line in lines:
            # The shell is ready for a line once it is quiet after its prompt.
            while time.monotonic() < deadline:
                ready, _, _ = select.select([terminal], [], [], 0.5)
                if ready:
                    printed += os.read(terminal, 65536).decode(errors="replace")
                elif printed:
                    break
            os.write(terminal, line.encode())
        while time.monotonic() < deadline:
            printed += os.read(terminal, 65536).decode(errors="replace")
    except OSError:  # the shell has ended
        pass
    os.close(terminal)
    os.waitpid(pid, 0)
    return printed


class ManPageTest(HelpCase):

    def setUp(self):
        super().setUp()
        self.page = self.succeed("man")

    def test_every_option_of_the_help(self):
        sections = dict(re.findall(r"^\.SS (.*?) \[OPTION\].*?\n(.*?)(?=^\.S[SH] )",
                                   self.page.replace("\\-", "-"), re.MULTILINE | re.DOTALL))
        for verb in self.verbs()[1:]:
            section = sections[" ".join(["opserve", *verb])]
            for option in self.options(verb):
                if option != "--help":
                    self.assertIn(f"\\fB{option}\\fR", section, verb)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_troff_has_nothing_to_complain_about(self):
        code, shown, complaints = run("groff", "-man", "-ww", "-Tutf8", "-P-cbou", stdin=self.page)
        self.assertEqual((code, complaints), (SUCCESS, ""))
        for words in ("OPSERVE(1)", "opserve tensor create [OPTION]...", "Exit codes:",
                      "--device auto|gpu|cpu", "OPSERVE_ADDRESS"):
            self.assertIn(words, shown)


if __name__ == "__main__":
    cli_fixture.main(__doc__)
