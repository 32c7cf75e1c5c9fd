#!/usr/bin/python3
"""Runs operators of every family through a real server and checks every result.

Starts opserve-server on a free loopback port, makes .npy tensors, calls the operators through the
`opserve` command, and compares the output file with what NumPy computes for the same input, bit for
bit (NaNs as a class). Prints one row per operator. Exits with 0 only if all rows are right.

With --device gpu everything that has a GPU kernel runs on GPUs, in software where that is all there is. On a machine without
a single Direct3D 12 device that is skipped, with exit code 77, unless OPSERVE_REQUIRE has gpu.
"""

import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from gpu_probe import has_gpu  # pylint: disable=wrong-import-position
from required import skip_without  # pylint: disable=wrong-import-position
from server_process import ServerProcess  # pylint: disable=wrong-import-position

CALL_LIMIT_S = 60


@dataclasses.dataclass
class Case:
    """One call: the operator, its attributes, inputs, and the result it must have."""

    operator: str
    inputs: list
    expected: np.ndarray
    attributes: list = dataclasses.field(default_factory=list)

    @property
    def value_type(self):
        return self.inputs[-1].dtype.name


def with_specials(values):
    """Puts the values that implementations get wrong in front of `values`."""
    specials = np.array(
        [0.5, -np.inf, -2.5, np.inf, 0.49999997, 8388609.0, -0.4, 1e30, np.nan, 0.0, -0.0, 1e-40])
    with np.errstate(over="ignore"):
        values.reshape(-1)[:specials.size] = specials.astype(values.dtype)
    return values


def round_half_away(x):
    """C's round. The sum is exact because it is made in double precision."""
    wide = x.astype(np.float64)
    return np.copysign(np.floor(np.abs(wide) + 0.5), wide).astype(x.dtype)


def softmax(x, axis):
    """e^x divided by the sum of them along `axis`, in far more digits than the result has."""
    wide = x.astype(np.longdouble)
    powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
    return (powers / powers.sum(axis=axis, keepdims=True)).astype(x.dtype)


def make_cases():
    """Makes a case or more per family of operators: different ranks, sizes and types."""
    random = np.random.default_rng(1)
    condition = random.integers(0, 3, (2, 3, 32, 40), dtype=np.uint8)
    a = with_specials(random.normal(0, 100, condition.shape).astype(np.float32))
    b = random.normal(0, 100, condition.shape).astype(np.float32)
    halves = with_specials(random.normal(0, 1e4, (5, 7, 11)).astype(np.float16))
    rounded = with_specials((random.integers(-4000, 4000, (64, 1024)) / 4).astype(np.float32))
    dividend = with_specials(random.normal(0, 1e4, (3, 1000)).astype(np.float32))
    divisor = random.normal(0, 10, dividend.shape).astype(np.float32)
    words = random.integers(0, 2**32, (33, 65), dtype=np.uint32)
    scale = np.abs(divisor) + np.float32(0.01)
    zero = random.integers(0, 256, scale.shape, dtype=np.uint8)
    quantised = random.integers(0, 256, scale.shape, dtype=np.uint8)
    # Digits enough for the exact product, and for the exact quotient's integer.
    dequantised = (quantised.astype(np.float64) - zero) * scale
    quotient = divisor.astype(np.float64) / scale
    with np.errstate(invalid="ignore", over="ignore"):
        return [
            Case("ELEMENT_WISE_IF", [condition, a, b],
                 np.where(condition != 0, a.view(np.uint32), b.view(np.uint32)).view(np.float32)),
            Case("ELEMENT_WISE_IS_INFINITY", [halves],
                 (np.isinf(halves) & (halves < 0)).astype(np.uint8), ["InfinityMode=NEGATIVE"]),
            Case("ELEMENT_WISE_MODULUS_TRUNCATE", [dividend, divisor],
                 np.fmod(dividend, divisor)),
            Case("ELEMENT_WISE_ROUND", [rounded], round_half_away(rounded),
                 ["RoundingMode=TOWARD_INFINITY"]),
            Case("ELEMENT_WISE_BIT_XOR", [words, words[::-1]], words ^ words[::-1]),
            Case("ELEMENT_WISE_LOGICAL_LESS_THAN", [a, b], (a < b).astype(np.uint8)),
            Case("ELEMENT_WISE_CLIP", [rounded], np.where(np.isnan(rounded), np.float32(99.5), np.clip(rounded, -7, 99.5)),
                 ["Min=-7", "Max=99.5"]),
            Case("ELEMENT_WISE_ADD", [halves, halves[::-1]], halves + halves[::-1]),
            Case("ELEMENT_WISE_DIVIDE", [dividend, divisor], dividend / divisor),
            # Far more digits than the result has, so that it is rounded as the exact one.
            Case("ELEMENT_WISE_EXP", [rounded], np.exp(rounded.astype(np.float64)).astype(np.float32)),
            Case("ACTIVATION_SIGMOID", [b], (1 / (1 + np.exp(-b.astype(np.float64)))).astype(np.float32)),
            Case("ACTIVATION_SOFTMAX1", [b], softmax(b, axis=(1, 3)), ["Axes=3,1"]),
            Case("ELEMENT_WISE_QUANTIZE_LINEAR", [divisor, scale, zero],
                 np.clip(np.rint(quotient) + zero, 0, 255).astype(np.uint8)),
            Case("ELEMENT_WISE_DEQUANTIZE_LINEAR", [quantised, scale, zero],
                 dequantised.astype(np.float32)),
            Case("ACTIVATION_RELU", [words.view(np.int32)], np.maximum(words.view(np.int32), 0)),
        ]


def bits(tensor):
    """The elements as unsigned integers, every NaN as the same one."""
    if tensor.dtype.kind == "f":
        tensor = np.where(np.isnan(tensor), np.array(np.nan, tensor.dtype), tensor)
    return np.ascontiguousarray(tensor).view(f"u{tensor.dtype.itemsize}").reshape(-1)


def find_fault(got, expected):
    """What distinguishes two arrays: type, sizes or bits. Empty where nothing does."""
    if (got.dtype, got.shape) != (expected.dtype, expected.shape):
        return f"got {got.dtype} {got.shape}, expected {expected.dtype} {expected.shape}"
    wrong = np.flatnonzero(bits(got) != bits(expected))
    if wrong.size == 0:
        return ""
    i = wrong[0]
    return (f"{wrong.size} elements differ, first element {i}: "
            f"got {got.reshape(-1)[i]!r}, expected {expected.reshape(-1)[i]!r}")


def run_case(program, address, folder, case, device):
    """Runs `case` through the CLI. Returns a row for the table and what is wrong, or nothing."""
    output = folder / "output.npy"
    command = [program, "run", case.operator, "--address", address, "--json",
               "--output", output, "--device", device]
    for attribute in case.attributes:
        command += ["--attr", attribute]
    for i, tensor in enumerate(case.inputs):
        path = folder / f"input{i}.npy"
        np.save(path, tensor)
        command += ["--input", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=CALL_LIMIT_S,
                          check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        reason = (done.stderr or done.stdout).strip()
        return [case.operator, case.value_type, "", "", "", "", f"exit {done.returncode}"], reason
    report = json.loads(done.stdout)
    result = np.load(output)
    output.unlink()
    fault = find_fault(result, case.expected)
    if device == "gpu" and not report["device"].startswith("d3d12/"):
        fault = fault or f"it ran on {report['device']}"
    row = [case.operator, case.value_type, "x".join(map(str, result.shape)), report["device"],
           f"{report['run_time_ns'] / 1e3:.1f} us",
           " ".join(f"{value:g}" for value in result.reshape(-1)[:6]), "WRONG" if fault else "ok"]
    return row, fault


def print_table(rows):
    header = ["operator", "type", "shape", "device", "time", "first values", ""]
    widths = [max(len(str(row[i])) for row in [header] + rows) for i in range(len(header))]
    green, red, bold, off = (("\033[32m", "\033[31m", "\033[1m", "\033[0m")
                             if sys.stdout.isatty() else ("", "", "", ""))
    for row in [header] + rows:
        line = "  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip()
        colour = bold if row is header else green if row[-1] == "ok" else red
        print(f"{colour}{line}{off}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"),
                        help="folder of opserve-server and opserve")
    parser.add_argument("--device", choices=["auto", "gpu", "cpu"], default="auto",
                        help="where to run; gpu: also in software")
    arguments = parser.parse_args()
    programs, device = arguments.bin, arguments.device
    server_arguments = ["--allow-software-adapters"] if device == "gpu" else []
    cases = make_cases()
    rows, faults = [], []
    with tempfile.TemporaryDirectory(prefix="opserve-demo-") as name:
        folder = pathlib.Path(name)
        with ServerProcess(programs / "opserve-server", folder, server_arguments) as server:
            print(f"demo: server on {server.address}", flush=True)
            if device == "gpu" and not has_gpu(programs / "opserve", server.address):
                skip_without("gpu", f"this machine has no Direct3D 12 device:\n{server.log()}")
            for case in cases:
                row, fault = run_case(programs / "opserve", server.address, folder, case,
                                      device)
                rows.append(row)
                faults += [f"{case.operator}: {fault}"] if fault else []
        if server.exit_code != 0:
            faults.append(f"the server ended with exit code {server.exit_code}")
    print_table(rows)
    for fault in faults:
        print(f"demo: {fault}", file=sys.stderr)
    if faults:
        return 1
    print(f"demo: all {len(rows)} results equal NumPy's, bit for bit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
