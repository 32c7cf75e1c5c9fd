#!/usr/bin/python3
"""That deploy/run-clang-tidy.py looks at every source once, and finds what is in sources that it puts together."""

import json
import pathlib
import sys
import tempfile
import unittest

from tidy_script import tidy

# In the place of clang-tidy: complains of every line with "bad", as one that cannot be compiled where a
# file includes two with "clash".
STAND_IN = """
import pathlib, re, sys
path = pathlib.Path(sys.argv[1])
texts = {path: path.read_text()}
for name in re.findall('#include "(.*)"', texts[path]):
    texts[pathlib.Path(name)] = pathlib.Path(name).read_text()
if sum("clash" in text for text in texts.values()) > 1:
    print(f"{path}:1:1: error: redefinition of 'clash' [clang-diagnostic-error,-warnings-as-errors]")
for file, text in texts.items():
    for line in text.splitlines():
        if "bad" in line:
            print(f"{file}: {line}")
print("2 warnings generated.")
"""


class Tidy(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.build = self.root / "build"
        self.build.mkdir()
        self.commands = []
        stand_in = self.root / "stand_in.py"
        stand_in.write_text(STAND_IN, encoding="utf-8")
        self.replace("ROOT", self.root)
        self.replace("TIDY", [sys.executable, str(stand_in)])

    def replace(self, name, value):
        before = getattr(tidy, name)
        self.addCleanup(setattr, tidy, name, before)
        setattr(tidy, name, value)

    def add(self, name, text, flags="-DA=1 -I/a -std=c++20"):
        """A source, compiled with these flags."""
        source = self.root / name
        source.write_text(text, encoding="utf-8")
        self.commands.append({"file": str(source), "command": f"c++ {flags} -O3 -o {name}.o -c {source}"})
        return source

    def units(self, *wanted):
        (self.build / "compile_commands.json").write_text(json.dumps(self.commands), encoding="utf-8")
        return tidy.units_in(self.build, set(wanted))

    def found(self):
        """All that is said, sorted."""
        lines = []
        for number, unit in enumerate(self.units()):
            lines += tidy.look_at(self.build, str(number), unit).splitlines()
        return sorted(lines)

    def test_a_source_that_is_compiled_twice_is_looked_at_once(self):
        self.add("a.cc", "")
        self.add("a.cc", "")
        self.add("b.cc", "")
        self.assertEqual([len(unit.sources) for unit in self.units()], [2])

    def test_generated_sources_and_those_of_others_are_passed_over(self):
        self.add("build/made.cc", "")
        self.commands.append({"file": "/usr/src/other.cc", "command": "c++ -c /usr/src/other.cc"})
        self.assertEqual(self.units(), [])

    def test_only_what_is_wanted_is_looked_at(self):
        self.add("a.cc", "")
        wanted = self.add("b.cc", "")
        unit, = self.units(wanted, self.root / "nobody_compiles.cc")
        self.assertEqual(unit.sources, [wanted])

    def test_parts_have_a_limit(self):
        for i in range(tidy.MOST_SOURCES + 1):
            self.add(f"{i}.cc", "")
        self.assertEqual([len(unit.sources) for unit in self.units()], [tidy.MOST_SOURCES, 1])

    def test_one_name_of_two_sources_keeps_them_apart(self):
        for line in ["constexpr int kCount = 3;", "class Thing {", "enum class Thing : int {", "using Thing = int;",
                     "std::string TextOf(int value) {", "TEST(ThingTest, Works) {", "int kTable[] = {",
                     "#define NAME 3"]:
            with self.subTest(line):
                self.commands.clear()
                self.add("a.cc", line)
                self.add("b.cc", line)
                self.add("c.cc", "int other = 3;")
                self.assertEqual([len(unit.sources) for unit in self.units()], [1, 2])

    def test_what_is_no_name_of_its_own_does_not(self):
        for line in ["namespace opserve {", "int main() {", "using namespace std;", "void Thing::Run() {",
                     "  int local = 3;", "// class Comment", "#include \"a.h\"", "return value;"]:
            with self.subTest(line):
                self.commands.clear()
                self.add("a.cc", line)
                self.add("b.cc", line)
                self.assertEqual([len(unit.sources) for unit in self.units()], [2])

    def test_a_macro_with_two_values_keeps_them_apart(self):
        self.add("a.cc", "", "-DA=1")
        self.add("b.cc", "", "-DA=2")
        self.add("c.cc", "", "-DB=3 -I/c")
        units = self.units()
        self.assertEqual([len(unit.sources) for unit in units], [1, 2])
        self.assertEqual(units[1].macros, {"-DA": "-DA=2", "-DB": "-DB=3"})
        self.assertEqual(units[1].flags, {"-I/c"})

    def test_all_is_found_in_sources_that_are_together(self):
        first = self.add("a.cc", "bad a")
        self.add("b.cc", "good")
        last = self.add("c.cc", "bad c")
        self.assertEqual(self.found(), [f"{first}: bad a", f"{last}: bad c"])

    def test_what_does_not_compile_together_is_taken_apart(self):
        sources = [self.add(f"{name}.cc", f"{text}, bad {name}")
                   for name, text in [("a", "clash"), ("b", "good"), ("c", "clash"), ("d", "clash"), ("e", "good")]]
        self.assertEqual([line.split(":")[0] for line in self.found()], [str(source) for source in sources])


if __name__ == "__main__":
    unittest.main()
