#!/usr/bin/python3
"""Writes a test that runs the C++ examples of the public headers and of the documentation.

    make_examples.py FILE...

An example is the code in the first comment of a header, or a block of C++ in a page. Each becomes a test of the
fixture in examples_fixture.h, whose names it may use; it returns an absl::Status, as in a function of its reader's.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]

# Names that examples use and do not define, beside those of the fixture.
NAMES = {
    "client": "Client* const client = client_.get();",
    "calls": "const std::vector<OperatorCall> calls = {RoundCall(), RoundCall()};",
    "call": "const OperatorCall call = RoundCall();",
    "x": "const TensorView x = ViewOf(three_);",
    "values": "const std::vector<float>& values = three_;",
}
TEST = """
TEST_F(ExamplesTest, {name}) {{
  const auto example = [&]() -> absl::Status {{
    {names}
    {{
{code}
{checks}
    }}
    return absl::OkStatus();
  }};
  Expect(example());
}}
"""


def code_of_header(text):
    """The code in the comment at the top: indented lines, which end with the comment's next plain line."""
    comment = re.match(r"(?://.*\n)+", text).group()
    return ["\n".join(line[5:] for line in block.splitlines())
            for block in re.findall(r"(?:^//   .*\n)+", comment, re.M)]


def code_of_page(text):
    return re.findall(r"^```c\+\+\n(.*?)^```$", text, re.M | re.S)


def names_for(code):
    """Definitions of what the example uses and does not define."""
    names = []
    plain = re.sub(r"//.*|\"[^\"]*\"", "", code)
    for name, definition in NAMES.items():
        used = re.search(rf"(?<![\w.>]){name}\b", plain)
        defined = re.search(rf"[\w>]&? {name}(?: =|;| :)", plain)
        if not used or (defined and defined.start() < used.start()):
            continue
        if name == "client" and "(*client)" in code:
            definition = "auto client = Connected();"
        if name == "x" and "Of<float>(x" in code:
            definition = "const std::vector<float>& x = three_;"
        if name == "values" and "{1000}" in code:
            definition = "const std::vector<float>& values = thousand_;"
        names.append(definition)
    return names


def test_of(name, code):
    for target in ("gpu-host:50051", "dns:///farm:50051"):
        code = code.replace(target, "unix:SOCKET").replace('"unix:SOCKET"', "address_")
    code = re.sub(r"^#include .*\n", "", code, flags=re.M)  # the fixture has it
    results = re.findall(r"^(?:auto|absl::StatusOr<.*>)\s+(\w+) =", code, re.M)
    checks = "" if re.search(r"^return", code, re.M) else "".join(
        f"    if (!StatusOf({result}).ok()) return StatusOf({result});\n" for result in results)
    return TEST.format(name=name, names="\n    ".join(names_for(code)), code=code, checks=checks)


def main():
    print('#include "tests/integration/examples/examples_fixture.h"\n\n'
          "namespace opserve::testing {\nnamespace {")
    for argument in sys.argv[1:]:
        path = pathlib.Path(argument)
        text = path.read_text(encoding="utf-8")
        found = code_of_header(text) if path.suffix == ".h" else code_of_page(text)
        for number, code in enumerate(found, 1):
            name = re.sub(r"\W", "_", f"{path.parent.name}_{path.stem}")
            print(test_of(f"{name}_{number}", code))
    print("}  // namespace\n}  // namespace opserve::testing")


if __name__ == "__main__":
    main()
