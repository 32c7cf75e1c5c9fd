#!/usr/bin/python3
"""Holds the source folders to the table of directions in docs/ARCHITECTURE.md.

Each row of the table names a folder, the folders that its files include directly, and how it stands to
gRPC: `direct` where its files include headers of gRPC, `below` where only a folder that it uses does so,
directly or through others, and `none`. A row may only use folders of rows above it, so the table has no
cycles. Sources and table must agree in both directions.

  include_directions_test.py               checks this tree
  include_directions_test.py --self-test   checks made-up trees, each of which breaks one rule
"""

import collections
import dataclasses
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = "docs/ARCHITECTURE.md"
# Where sources are, and where the compiler looks for what they include.
SOURCE_ROOTS = ("proto", "kernels", "server", "client")
INCLUDE_ROOTS = (".", "proto", "client/include", "kernels/include")
SUFFIXES = {".h", ".cc", ".def", ".inc", ".proto"}
INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')
IMPORT = re.compile(r'\s*import\s+(?:public\s+)?"([^"]+)"')
ROW = re.compile(r"\|\s*`([^`]+)`\s*\|([^|]*)\|\s*(\w+)\s*\|$")


@dataclasses.dataclass
class Row:
    line: int
    allowed: list
    grpc: str


@dataclasses.dataclass
class Sources:
    # For each folder, the folders that it includes, and for each of these the first place that does.
    uses: dict
    # For each folder that includes gRPC, the first place that does.
    grpc: dict


def read_table(root):
    """The rows of the section "Directions", by folder, in their order."""
    section = re.split(r"^## Directions\n", (root / PAGE).read_text(encoding="utf-8"), flags=re.M)
    rows = {}
    if len(section) != 2:
        return rows
    first_line = section[0].count("\n") + 2
    for offset, line in enumerate(section[1].split("\n## ")[0].splitlines()):
        if match := ROW.match(line):
            folder, allowed, grpc = match.groups()
            rows[folder] = Row(first_line + offset, re.findall(r"`([^`]+)`", allowed), grpc)
    return rows


def folder_of_include(root, source, name):
    """The folder of this tree that an #include leads to, or None where it leads out of the tree."""
    if name.endswith(".pb.h"):
        name = name.removesuffix(".pb.h").removesuffix(".grpc") + ".proto"
    for base in (*(root / include_root for include_root in INCLUDE_ROOTS), source.parent):
        if (base / name).is_file():
            return (base / name).parent.resolve().relative_to(root.resolve()).as_posix()
    return None


def is_grpc(root, source, name):
    if name.endswith(".grpc.pb.h"):
        return True
    return bool(re.match(r"grpc(pp)?/", name)) and folder_of_include(root, source, name) is None


def read_sources(root):
    uses = collections.defaultdict(dict)
    grpc = {}
    files = [path for top in SOURCE_ROOTS for path in sorted((root / top).rglob("*"))]
    for path in files:
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        folder = path.parent.relative_to(root).as_posix()
        used = uses[folder]
        pattern = IMPORT if path.suffix == ".proto" else INCLUDE
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not (match := pattern.match(line)):
                continue
            place = f"{path.relative_to(root).as_posix()}:{number}"
            if is_grpc(root, path, match[1]):
                grpc.setdefault(folder, place)
            target = folder_of_include(root, path, match[1])
            if target not in (None, folder):
                used.setdefault(target, place)
    return Sources(uses, grpc)


def check_rows(rows):
    """What is wrong with the table by itself: unknown folders, cycles, order."""
    def reaches(start, goal, seen):
        if start == goal:
            return True
        seen.add(start)
        return any(reaches(next_folder, goal, seen) for next_folder in rows[start].allowed
                   if next_folder in rows and next_folder not in seen)

    faults = []
    above = set()
    for folder, row in rows.items():
        for allowed in row.allowed:
            place = f"{PAGE}:{row.line}: {folder} may include {allowed}, which"
            if allowed not in rows:
                faults.append(f"{place} has no row")
            elif reaches(allowed, folder, set()):
                faults.append(f"{place} leads back to it: a cycle")
            elif allowed not in above:
                faults.append(f"{place} stands below it: not in the order of dependencies")
        above.add(folder)
    return faults


def check_includes(rows, sources):
    faults = []
    for folder, used in sorted(sources.uses.items()):
        if folder not in rows:
            faults.append(f"{PAGE}: folder {folder} has no row")
            continue
        row = rows[folder]
        for target, place in sorted(used.items()):
            if target not in row.allowed:
                faults.append(f"{place}: {folder} may not include {target}")
        for allowed in row.allowed:
            if allowed not in used:
                faults.append(f"{PAGE}:{row.line}: {folder} may include {allowed}, but does not")
    for folder, row in rows.items():
        if folder not in sources.uses:
            faults.append(f"{PAGE}:{row.line}: there are no sources in {folder}")
    return faults


def check_grpc(rows, sources):
    """Holds the column on gRPC to the sources; needs a table without cycles."""
    faults = []
    state = {}
    for folder, row in rows.items():
        below = any(state.get(allowed, "none") != "none" for allowed in row.allowed)
        state[folder] = "direct" if folder in sources.grpc else "below" if below else "none"
        if row.grpc != state[folder]:
            where = sources.grpc.get(folder, f"{PAGE}:{row.line}")
            faults.append(f"{where}: gRPC in {folder} is `{state[folder]}`, its row says `{row.grpc}`")
    return faults


def check(root):
    rows = read_table(root)
    if not rows:
        return [f"{PAGE}: no table in a section named Directions"]
    sources = read_sources(root)
    faults = check_rows(rows)
    return faults + check_includes(rows, sources) + ([] if faults else check_grpc(rows, sources))


class Directions(unittest.TestCase):

    def test_sources_and_table_agree(self):
        faults = check(ROOT)
        self.assertEqual(faults, [], "\n" + "\n".join(faults))


class MadeUpTrees(unittest.TestCase):
    """A small tree that is right, and one change per rule that makes it wrong."""

    TABLE = {
        "proto/base": ([], "none"),
        "proto/opserve/v1": ([], "none"),
        "server/rpc": (["proto/base", "proto/opserve/v1"], "direct"),
        "server/service": (["server/rpc"], "below"),
    }
    FILES = {
        "proto/base/mutex.h": "#include <mutex>\n",
        "proto/opserve/v1/tensor.proto": 'syntax = "proto3";\n',
        "server/rpc/call.h": '#include "proto/base/mutex.h"\n#include "opserve/v1/tensor.pb.h"\n',
        "server/rpc/call.cc": '#include "server/rpc/call.h"\n#include "grpcpp/grpcpp.h"\n',
        "server/service/service.cc": '#include "server/rpc/call.h"\n',
    }

    def faults(self, rows=None, files=None):
        """What `check` says of the tree with these rows and files in place of its own."""
        table = {**self.TABLE, **(rows or {})}
        lines = [f"| `{folder}` | {', '.join(f'`{name}`' for name in allowed)} | {grpc} |"
                 for folder, (allowed, grpc) in table.items()]
        page = "\n".join(["# A page", "## Directions", "| folder | may include | gRPC |", "|---|---|---|", *lines])
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in {PAGE: page + "\n", **self.FILES, **(files or {})}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            return check(root)

    def test_right_tree(self):
        self.assertEqual(self.faults(), [])

    def test_no_table(self):
        self.assertEqual(self.faults(files={PAGE: "# A page\n"}),
                         ["docs/ARCHITECTURE.md: no table in a section named Directions"])

    def test_include_that_no_row_allows(self):
        self.assertEqual(
            self.faults(files={"proto/base/clock.cc": '\n#include "server/rpc/call.h"\n'}),
            ["proto/base/clock.cc:2: proto/base may not include server/rpc"])

    def test_cycle(self):
        self.assertEqual(
            self.faults(rows={"proto/base": (["server/service"], "none")},
                        files={"proto/base/clock.cc": "#include <server/service/service.cc>\n"}),
            ["docs/ARCHITECTURE.md:5: proto/base may include server/service, which leads back to it: a cycle",
             "docs/ARCHITECTURE.md:7: server/rpc may include proto/base, which leads back to it: a cycle",
             "docs/ARCHITECTURE.md:8: server/service may include server/rpc, which leads back to it: a cycle"])

    def test_order(self):
        self.assertEqual(
            self.faults(rows={"proto/base": (["proto/opserve/v1"], "none")},
                        files={"proto/base/clock.cc": '#include "opserve/v1/tensor.pb.h"\n'}),
            ["docs/ARCHITECTURE.md:5: proto/base may include proto/opserve/v1, which stands below it: "
             "not in the order of dependencies"])

    def test_permission_that_nobody_uses(self):
        self.assertEqual(
            self.faults(rows={"server/service": (["server/rpc", "proto/base"], "below")}),
            ["docs/ARCHITECTURE.md:8: server/service may include proto/base, but does not"])

    def test_folder_without_a_row(self):
        self.assertEqual(self.faults(files={"kernels/plan.cc": "#include <vector>\n"}),
                         ["docs/ARCHITECTURE.md: folder kernels has no row"])

    def test_row_without_a_folder(self):
        self.assertEqual(self.faults(rows={"kernels": ([], "none")}),
                         ["docs/ARCHITECTURE.md:9: there are no sources in kernels"])

    def test_row_that_names_no_folder(self):
        self.assertEqual(
            self.faults(rows={"server/service": (["server/rpc", "server/gone"], "below")}),
            ["docs/ARCHITECTURE.md:8: server/service may include server/gone, which has no row",
             "docs/ARCHITECTURE.md:8: server/service may include server/gone, but does not"])

    def test_grpc_in_a_folder_that_knows_none(self):
        for include in ("<grpc/grpc.h>", '"grpcpp/grpcpp.h"', '"opserve/v1/service.grpc.pb.h"'):
            self.assertEqual(
                self.faults(files={"proto/base/clock.cc": f"#include {include}\n"}),
                ["proto/base/clock.cc:1: gRPC in proto/base is `direct`, its row says `none`"])

    def test_grpc_through_another_folder(self):
        self.assertEqual(
            self.faults(rows={"server/service": (["server/rpc"], "none")}),
            ["docs/ARCHITECTURE.md:8: gRPC in server/service is `below`, its row says `none`"])

    def test_messages_of_grpcs_packages_are_our_own(self):
        self.assertEqual(
            self.faults(rows={"proto/grpc/health": ([], "none"), "kernels": (["proto/grpc/health"], "none")},
                        files={"proto/grpc/health/health.proto": "",
                               "kernels/plan.cc": '#include "grpc/health/health.pb.h"\n'}),
            [])


if __name__ == "__main__":
    self_test = "--self-test" in sys.argv
    unittest.main(argv=[sys.argv[0]], defaultTest="MadeUpTrees" if self_test else "Directions")
