#!/usr/bin/python3
"""Runs clang-tidy on sources, many at a time; deploy/lint.sh calls it.

    deploy/run-clang-tidy.py [--jobs N] BUILD [FILE...]

BUILD is a folder with a compile_commands.json, where the generated headers are. Without files, looks at
every source of the checkout that is compiled there; files that are not are passed over. Prints what
clang-tidy finds, and exits with 1 if that is anything.

Most of what clang-tidy would do with a source, it would do with the headers of libraries. So its checks
do not look at those, by a plugin that is compiled into BUILD first; and they are read once for up to 16
sources, which are put together where none defines a name that another one defines, too. What a look at
lines does not tell, the compiler does: sources that do not compile together are taken apart, which with
more of them is needed so often that it takes the time that is gained.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOST_SOURCES = 16
PLUGIN_SOURCE = ROOT / "deploy" / "clang-tidy" / "own_code.cc"
PLUGIN = "own_code.so"
# As Clang itself is compiled, and with its headers.
COMPILE_PLUGIN = ["g++", "-std=c++14", "-O1", "-fPIC", "-shared", "-fno-rtti", "-isystem/usr/lib/llvm-14/include"]
TIDY = ["clang-tidy-14", "--quiet", f"--config-file={ROOT}/.clang-tidy",
        "--header-filter=/(client|kernels|proto|server|tests)/.*\\.(h|cc)$",
        # The plugin's check, and none of how sources are put together.
        "--checks=opserve-own-code,-bugprone-suspicious-include",
        # Kernels are the same text for every instruction set.
        "--extra-arg=-DHWY_COMPILE_ONLY_STATIC", "--extra-arg=-DHWY_BROKEN_EMU128=1",
        "--extra-arg=-Wno-unknown-warning-option"]
NOISE = re.compile(r"^\d+ warnings? (generated|and)|^Suppressed|^Use -header-filter")
COMPILE_ERROR = "[clang-diagnostic-error"

# What a source defines begins in the first column.
TEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+), (\w+)\)", re.MULTILINE)
DEFINED = [
    re.compile(r"^#define (\w+)", re.MULTILINE),
    re.compile(r"^(?:class|struct|union|enum(?: class)?) (?:\w+\([^)]*\) )?(\w+)", re.MULTILINE),
    re.compile(r"^using (\w+) =", re.MULTILINE),
    # A variable or a function, but no member of a class.
    re.compile(r"^(?!namespace|using|class|struct|enum|return)[A-Za-z][^\n(={;]*?(?<!::)\b(\w+)(?:\[[^\n]*\])?"
               r"(?:\(| =|\{|;)", re.MULTILINE),
]


@dataclasses.dataclass
class Unit:
    """Sources that are looked at together."""
    sources: list
    # Where headers are, the language, and macros by their names.
    flags: set
    macros: dict
    names: set

    def takes(self, other):
        """Whether what `other` holds may be added."""
        return (len(self.sources) + len(other.sources) <= MOST_SOURCES and
                not self.names & other.names and
                all(self.macros.get(name, other.macros[name]) == other.macros[name]
                    for name in other.macros))

    def add(self, other):
        self.sources += other.sources
        self.flags |= other.flags
        self.macros |= other.macros
        self.names |= other.names


def names_in(text):
    """What a source defines by a name of its own, as far as its lines tell."""
    names = {f"{suite}.{test}" for suite, test in TEST.findall(text)}
    for pattern in DEFINED:
        names.update(pattern.findall(text))
    return {name for name in names if name != "main" and not name.startswith("TEST")}


def unit_of(command, source):
    """The unit of a single source."""
    words = shlex.split(command)[1:]
    flags, macros = set(), {}
    at = 0
    while at < len(words):
        word = words[at]
        if word in ("-o", "-c"):
            at += 1
        elif word == "-isystem":
            flags.add(f"-isystem{words[at + 1]}")
            at += 1
        elif word.startswith("-D"):
            macros[word.partition("=")[0]] = word
        elif word.startswith(("-I", "-std", "-pthread")):
            flags.add(word)
        at += 1
    return Unit([source], flags, macros, names_in(source.read_text(encoding="utf-8")))


def units_in(build, wanted):
    """Units of the sources of the checkout that `build` compiles, or of those of them that are wanted."""
    units, seen = [], set()
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        source = pathlib.Path(entry["file"])
        if source in seen or build in source.parents or ROOT not in source.parents:
            continue
        seen.add(source)
        if wanted and source not in wanted:
            continue
        unit = unit_of(entry["command"], source)
        # Its neighbours come before and after it, and share more headers with it than others do.
        taker = next((earlier for earlier in reversed(units) if earlier.takes(unit)), None)
        if taker is None:
            units.append(unit)
        else:
            taker.add(unit)
    return units


def write(path, sources):
    """Writes a source that includes others, each with a main function of its own."""
    with open(path, "w", encoding="utf-8") as out:
        for number, source in enumerate(sources):
            out.write(f'#define main Main{number}\n#include "{source}"\n#undef main\n')


def compile_plugin(folder):
    """Compiles the plugin into `folder` where it is not there, or older than its source."""
    plugin = folder / PLUGIN
    if plugin.exists() and plugin.stat().st_mtime > PLUGIN_SOURCE.stat().st_mtime:
        return
    partial = folder / f"{PLUGIN}.partial"
    subprocess.run([*COMPILE_PLUGIN, str(PLUGIN_SOURCE), "-o", str(partial)], stdin=subprocess.DEVNULL, check=True)
    partial.rename(plugin)


def found_in(folder, path, unit):
    """What clang-tidy says of a file, without what it says of itself."""
    done = subprocess.run([*TIDY, str(path), f"--load={folder / PLUGIN}", "--", *sorted(unit.flags),
                           *unit.macros.values()],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=ROOT, check=False)
    lines = [line for line in done.stdout.splitlines() if not NOISE.search(line)]
    if done.returncode != 0 and not lines:
        lines = [f"{path}: clang-tidy ended with {done.returncode}"]
    return "\n".join(lines)


def look_at(folder, name, unit):
    """What is found in a unit."""
    sources = unit.sources
    if len(sources) == 1:
        return found_in(folder, sources[0], unit)
    path = folder / f"{name}.cc"
    write(path, sources)
    found = found_in(folder, path, unit)
    if COMPILE_ERROR not in found:
        return found
    middle = len(sources) // 2
    halves = [look_at(folder, f"{name}-{i}", dataclasses.replace(unit, sources=half))
              for i, half in enumerate((sources[:middle], sources[middle:]))]
    return "\n".join(found for found in halves if found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at a time (default: %(default)s)")
    parser.add_argument("build", type=pathlib.Path, help="folder with compile_commands.json")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="sources (default: all)")
    options = parser.parse_args()
    build = options.build.resolve()
    units = units_in(build, {file.resolve() for file in options.files})
    folder = build / "tidy"
    folder.mkdir(exist_ok=True)
    compile_plugin(folder)
    print(f"lint: clang-tidy: {sum(len(unit.sources) for unit in units)} files in {len(units)} parts", flush=True)
    is_clean = True
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(look_at, folder, str(number), unit) for number, unit in enumerate(units)]
        for done in concurrent.futures.as_completed(running):
            if done.result():
                is_clean = False
                print(done.result(), flush=True)
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
