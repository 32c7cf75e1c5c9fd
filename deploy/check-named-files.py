#!/usr/bin/python3
"""Checks that the files which documents and comments name exist. `deploy/lint.sh` calls it.

  deploy/check-named-files.py               checks this tree; prints FILE:LINE: NAME for each that is missing
  deploy/check-named-files.py --self-test   checks that the check itself finds what it should

Looked at: Markdown pages but CHANGELOG.md, which is history, and the comments of sources, scripts and CMake
files. A name is anything that ends like a file of ours. It must be a path from the root, from the folder of
the file that names it, or from a folder where the compiler looks for headers, or else end the path of
exactly one file. A path with a slash at its end that begins like a folder of the root must be a folder.
"""

import ast
import io
import pathlib
import posixpath
import re
import subprocess
import sys
import tokenize
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAME = re.compile(r"(?<![\w./*{<$+%-])(?:\.{1,2}/)*[A-Za-z0-9_][\w./+-]*\.(?:h|cc|md|py|sh|proto|def|cmake|hlsli)(?![\w*-])"
                  r"(?!\.\w)")
FOLDER = re.compile(r"(?<![\w./*{<$+%-])[a-z]\w*/(?:[\w-]+/)*(?![\w*<{$.])")
ADDRESS = re.compile(r"\w+://\S+")
INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')
HISTORY = {"CHANGELOG.md"}
INCLUDE_ROOTS = ("", "proto/", "client/include/", "kernels/include/")
SLASH_COMMENTS = {".h", ".cc", ".def", ".inc", ".proto", ".hlsli"}
HASH_COMMENTS = {".sh", ".cmake", ".toml", ".service", ".in", ".supp", ".textproto"}
HASH_NAMES = {"CMakeLists.txt", "Makefile", "Dockerfile", "run", ".gitignore", ".clangd", ".clang-tidy"}
# Files of others, which no source of ours includes.
FOREIGN = {"src/core/lib/iomgr/socket_mutator.h", "status_matchers.h"}


def python_comments(text):
    """(line, text) of the comments and docstrings of a Python source."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False):
            literal = node.body[0].value
            for offset, line in enumerate(literal.value.splitlines()):
                yield literal.lineno + offset, line


def marked_comments(text, mark):
    """(line, text) of what follows a mark outside of double quotes, to the end of each line."""
    comment = re.compile(r'^(?:[^"]|"(?:\\.|[^"\\])*")*?(?<![\w$"' + "'{])" + re.escape(mark) + r"(.*)")
    for number, line in enumerate(text.splitlines(), 1):
        if match := comment.match(line):
            yield number, match[1]


def prose(path, text):
    """(line, text) of what people read in a file."""
    if path.suffix == ".md":
        return enumerate(text.splitlines(), 1) if path.name not in HISTORY else ()
    if path.suffix == ".py":
        return python_comments(text)
    if path.suffix in SLASH_COMMENTS:
        return marked_comments(text, "//")
    if path.suffix in HASH_COMMENTS or path.name in HASH_NAMES:
        return marked_comments(text, "#")
    return ()


def ends_of(path):
    """The path, and what is left of it without the first folders."""
    parts = path.split("/")
    return ("/".join(parts[start:]) for start in range(len(parts)))


class Tree:
    """The files of a tree, by everything that may name one."""

    def __init__(self, texts):
        self.texts = texts
        self.ends = {}  # for each end of a path, how many files it fits
        self.foreign = set(FOREIGN)
        self.folders = {str(folder) + "/" for path in texts for folder in pathlib.PurePosixPath(path).parents}
        for path in texts:
            for end in ends_of(path):
                self.ends[end] = self.ends.get(end, 0) + 1
        for path, text in texts.items():
            if path.endswith((".h", ".cc")):
                included = (match[1] for match in map(INCLUDE.match, text.splitlines()) if match)
                for name in included:
                    if "/" not in name or not self.is_ours(name.split("/")[0]):
                        self.foreign.update(ends_of(name))

    def is_ours(self, top):
        """Whether headers below this name are this tree's, so that it must have them."""
        return any(path.startswith(root + top + "/") for path in self.texts for root in INCLUDE_ROOTS)

    def is_top(self, name):
        return name.split("/")[0] + "/" in self.folders

    def holds(self, folder, name):
        if name.endswith(".pb.h"):
            name = name.removesuffix(".pb.h").removesuffix(".grpc") + ".proto"
        near = posixpath.normpath(f"{folder}/{name}")
        if near in self.texts or any(root + name in self.texts for root in INCLUDE_ROOTS):
            return True
        return self.ends.get(name.removeprefix("./")) == 1 or name in self.foreign

    def missing(self):
        faults = []
        for path, text in sorted(self.texts.items()):
            folder = path.rpartition("/")[0] or "."
            for line, words in prose(pathlib.PurePosixPath(path), text):
                words = ADDRESS.sub("", words)
                names = [name for name in NAME.findall(words) if not self.holds(folder, name)]
                names += [name for name in FOLDER.findall(words) if self.is_top(name) and name not in self.folders]
                faults += [f"{path}:{line}: {name}" for name in names]
        return faults


def tracked_texts():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    texts = {}
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            texts[name] = (ROOT / name).read_text(encoding="utf-8", errors="replace")
    return texts


class MadeUpTrees(unittest.TestCase):
    """Each test adds one file to a small tree; what is missing must be named, and nothing else."""

    FILES = {
        "server/wire/wire.h": "",
        "client/wire/wire.h": "#include <sys/mman.h>\n",
        "server/execute/execute_job.h": "",
        "client/include/opserve/tensor.h": "",
        "proto/opserve/v1/tensor.proto": "",
        "docs/adr/0014-transport.md": "",
    }

    def missing(self, path, text):
        return Tree({**self.FILES, path: text}).missing()

    def test_full_path(self):
        self.assertEqual(self.missing("README.md", "See `server/execute/execute_job.h`."), [])
        self.assertEqual(self.missing("README.md", "\nSee `server/execute/gone.h`."),
                         ["README.md:2: server/execute/gone.h"])

    def test_path_from_the_folder_of_the_file(self):
        self.assertEqual(self.missing("server/wire/a.cc", "// See wire.h.\n"), [])
        self.assertEqual(self.missing("docs/page.md", "[decision](adr/0014-transport.md)"), [])
        self.assertEqual(self.missing("docs/page.md", "[decision](../adr/0014-transport.md)"),
                         ["docs/page.md:1: ../adr/0014-transport.md"])

    def test_name_of_one_file(self):
        self.assertEqual(self.missing("docs/page.md", "execute_job.h does it"), [])
        self.assertEqual(self.missing("docs/page.md", "wire/wire.h and wire.h are two files each"),
                         ["docs/page.md:1: wire/wire.h", "docs/page.md:1: wire.h"])

    def test_folder(self):
        self.assertEqual(self.missing("docs/page.md", "`server/wire/`, `server/`, and/or, lib/x/"), [])
        self.assertEqual(self.missing("docs/page.md", "`server/gone/` holds"), ["docs/page.md:1: server/gone/"])

    def test_public_and_generated_headers(self):
        self.assertEqual(self.missing("docs/page.md", "opserve/tensor.h, opserve/v1/tensor.pb.h"), [])
        self.assertEqual(self.missing("docs/page.md", "opserve/gone.h, opserve/v1/gone.pb.h"),
                         ["docs/page.md:1: opserve/gone.h", "docs/page.md:1: opserve/v1/gone.pb.h"])

    def test_headers_of_others_are_known_by_their_includes(self):
        self.assertEqual(self.missing("docs/page.md", "`sys/mman.h`"), [])
        self.assertEqual(self.missing("docs/page.md", "`sys/gone.h`"), ["docs/page.md:1: sys/gone.h"])
        self.assertEqual(self.missing("server/a.cc", '#include "server/gone.h"  // of server/gone.h\n'),
                         ["server/a.cc:1: server/gone.h"])

    def test_comments_only(self):
        self.assertEqual(self.missing("server/a.cc", 'Open("gone.md");\n// gone.md\nf("//");  // gone.py\n'),
                         ["server/a.cc:2: gone.md", "server/a.cc:3: gone.py"])
        self.assertEqual(self.missing("deploy/a.sh", "run gone.sh\n# gone.sh\nx  # gone.py\n"),
                         ["deploy/a.sh:2: gone.sh", "deploy/a.sh:3: gone.py"])
        self.assertEqual(self.missing("a.py", '"""Like\nb.py."""\nopen("c.py")  # d.py\n'),
                         ["a.py:3: d.py", "a.py:2: b.py"])
        self.assertEqual(self.missing("x/CMakeLists.txt", "add(gone.cc)\n# gone.cmake\n"),
                         ["x/CMakeLists.txt:2: gone.cmake"])

    def test_what_is_no_name_of_a_file(self):
        self.assertEqual(self.missing("docs/page.md", "https://example.com/gone.md x.npy *.proto FILE.png a.h.txt"),
                         [])

    def test_history_is_left_alone(self):
        self.assertEqual(self.missing("CHANGELOG.md", "gone.h is gone"), [])


def main():
    if "--self-test" in sys.argv[1:]:
        unittest.main(argv=[sys.argv[0]])
    missing = Tree(tracked_texts()).missing()
    for fault in missing:
        print(fault)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
