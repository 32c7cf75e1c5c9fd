#!/usr/bin/env python3
"""Times ONNX Runtime's CPU kernels and opserve's side by side, in one process, on the same buffers.

Prints a table of ratios: how many times faster opserve is. Timings are medians of interleaved batches;
goals are marked, never enforced. Results are: exits with 1 where they differ in a bit (NaNs are one
class), or, of functions that ONNX Runtime does not round correctly, by more than rounding explains;
and where there were none. Skipped where ONNX Runtime is not installed, unless OPSERVE_REQUIRE
has onnxruntime.
"""

import argparse
import ctypes
import json
import pathlib
import statistics
import sys
import time
import typing

import numpy as np

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "testing"), str(TESTS / "demo")]
from demo import find_fault  # pylint: disable=wrong-import-position
from required import skip_without  # pylint: disable=wrong-import-position

try:
    import onnxruntime as ort
except ImportError:
    ort = None

OPSET = 16

# Per NumPy type: number in ONNX's TensorProto.DataType, number in DML_TENSOR_DATA_TYPE.
TYPES = {
    "float32": (1, 1), "uint8": (2, 5), "int8": (3, 8), "uint16": (4, 4), "int16": (5, 7),
    "int32": (6, 6), "int64": (7, 11), "bool": (9, 5), "float16": (10, 2), "uint32": (12, 3),
    "uint64": (13, 10),
}


# ---------------------------------------------------------------- ONNX models, written by hand

def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """One protobuf field: an integer, or bytes or text with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def value_info(name, dtype):
    """ValueInfoProto of a tensor of two dimensions of any size."""
    shape = field(1, field(2, "m")) + field(1, field(2, "n"))
    tensor = field(1, TYPES[dtype][0]) + field(2, shape)
    return field(1, name) + field(2, field(1, tensor))


def model_of(op, input_types, output_type, attributes, opset):
    """A ModelProto with one node; attributes are integers."""
    names = [f"x{i}" for i in range(len(input_types))]
    node = b"".join(field(1, name) for name in names) + field(2, "y") + field(4, op)
    for key, number in attributes.items():
        node += field(5, field(1, key) + field(3, number) + field(20, 2))
    graph = field(1, node) + field(2, "g")
    for name, dtype in zip(names, input_types):
        graph += field(11, value_info(name, dtype))
    graph += field(12, value_info("y", output_type))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, opset))


# ---------------------------------------------------------------- The two competitors

class Library:
    def __init__(self, folder):
        self.lib = ctypes.CDLL(str(pathlib.Path(folder) / "libopserve_bench_c.so"))
        self.lib.opserve_bench_open.restype = ctypes.c_void_p
        self.lib.opserve_bench_run.argtypes = [ctypes.c_void_p] * 3
        self.lib.opserve_bench_close.argtypes = [ctypes.c_void_p]

    def prepare(self, op, dtype, mode, inputs, output, threads):
        """Returns a function that runs the call, and the handle that it needs."""
        handle = self.lib.opserve_bench_open(
            op.encode(), TYPES[dtype][1], mode, *map(ctypes.c_uint32, output.shape), threads)
        if not handle:
            raise RuntimeError(f"opserve has no {op} for {dtype}")
        pointers = (ctypes.c_void_p * len(inputs))(*(x.ctypes.data for x in inputs))
        target = ctypes.c_void_p(output.ctypes.data)
        return lambda: self.lib.opserve_bench_run(handle, pointers, target), handle


def prepare_ort(model, inputs, output, threads):
    """Returns a function that runs the model on the arrays in place, and what must stay alive."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Its threads would spin on after a run, on the processors that the other side is timed on.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for i, array in enumerate(inputs):
        binding.bind_input(f"x{i}", "cpu", 0, array.dtype, array.shape, array.ctypes.data)
    binding.bind_output("y", "cpu", 0, output.dtype, output.shape, output.ctypes.data)
    return lambda: session.run_with_iobinding(binding), (session, binding)


def batch(run, runs):
    start = time.perf_counter()
    for _ in range(runs):
        run()
    return (time.perf_counter() - start) / runs


def medians(competitors, repeats):
    """Median seconds per run of each competitor; their batches take turns."""
    runs = []
    for run in competitors:
        run()
        runs.append(max(1, int(0.01 / max(batch(run, 1), 1e-7))))
    seconds = [[] for _ in competitors]
    for _ in range(repeats):
        for i, run in enumerate(competitors):
            seconds[i].append(batch(run, runs[i]))
    return [statistics.median(each) for each in seconds]


# ---------------------------------------------------------------- Cases

class Case(typing.NamedTuple):
    """What is timed: opserve's operator and mode, ONNX's operator with its attributes."""
    op: str
    onnx_op: str
    dtype: str
    goal: float
    mode: int = 0
    attributes: typing.Mapping[str, int] = {}
    opset: int = OPSET
    # Where inputs are taken from.
    least: float = -2000
    most: float = 2000
    # Elements of a row; all where there are no rows.
    columns: typing.Optional[int] = None
    # Whether ONNX Runtime gives exact results too.
    is_exact: bool = True


def random_array(rng, case, dtype, count, divisor=False):
    if dtype == "bool":
        return rng.integers(0, 2, count, dtype=np.uint8).view(np.bool_)
    if dtype.startswith("float"):
        limits = (1, 100) if divisor else (case.least, case.most)
        return rng.uniform(*limits, count).astype(dtype)
    limits = np.iinfo(dtype)
    # ONNX Runtime is inexact on 64-bit integers beyond 2^53.
    low, high = (1, 100) if divisor else (max(limits.min // 2, -(1 << 52)),
                                          min(limits.max // 2, 1 << 52))
    return rng.integers(low, high, count, dtype=dtype)


# Of functions whose results are no fractions: ONNX's operator, its opset, the range of inputs, and how
# many times as fast opserve shall be of FLOAT32.
FUNCTIONS = {
    "ELEMENT_WISE_EXP": ("Exp", OPSET, -20, 20, 1.0),
    "ELEMENT_WISE_LOG": ("Log", OPSET, 1e-3, 1000, 2.5),
    "ELEMENT_WISE_SIN": ("Sin", OPSET, -20, 20, 2.5),
    "ELEMENT_WISE_COS": ("Cos", OPSET, -20, 20, 1.0),
    "ELEMENT_WISE_TAN": ("Tan", OPSET, -20, 20, 1.0),
    "ELEMENT_WISE_ASIN": ("Asin", OPSET, -1, 1, 1.0),
    "ELEMENT_WISE_ACOS": ("Acos", OPSET, -1, 1, 1.0),
    "ELEMENT_WISE_ATAN": ("Atan", OPSET, -20, 20, 1.0),
    "ELEMENT_WISE_SINH": ("Sinh", OPSET, -8, 8, 1.0),
    "ELEMENT_WISE_COSH": ("Cosh", OPSET, -8, 8, 1.0),
    "ELEMENT_WISE_TANH": ("Tanh", OPSET, -4, 4, 1.0),
    "ELEMENT_WISE_ASINH": ("Asinh", OPSET, -100, 100, 1.0),
    "ELEMENT_WISE_ACOSH": ("Acosh", OPSET, 1, 100, 1.0),
    "ELEMENT_WISE_ATANH": ("Atanh", OPSET, -1, 1, 1.0),
    "ELEMENT_WISE_ERF": ("Erf", OPSET, -3, 3, 1.0),
    "ACTIVATION_SIGMOID": ("Sigmoid", OPSET, -8, 8, 1.0),
    "ACTIVATION_GELU": ("Gelu", 20, -3, 3, 1.0),
    "ACTIVATION_SOFTPLUS": ("Softplus", OPSET, -8, 8, 1.0),
    "ACTIVATION_ELU": ("Elu", OPSET, -8, 8, 1.0),
    "ACTIVATION_CELU": ("Celu", OPSET, -8, 8, 1.0),
}

# The setting of kernels/attribute_settings.cc with a Steepness or an Alpha next to 1, which ONNX's
# operators have.
NEXT_TO_ONE = 8
WITH_PARAMETER = ("ACTIVATION_SOFTPLUS", "ACTIVATION_ELU", "ACTIVATION_CELU")


def cases():
    """Yields what is timed."""
    for dtype in ("float32", "float16", "uint8", "int32", "int64"):
        yield Case("ELEMENT_WISE_IF", "Where", dtype, 2.0)
    yield Case("ELEMENT_WISE_IS_INFINITY", "IsInf", "float32", 1.0, opset=10)
    yield Case("ELEMENT_WISE_IS_INFINITY", "IsInf", "float16", 2.0, opset=20)
    yield Case("ELEMENT_WISE_ROUND", "Round", "float32", 1.0)
    yield Case("ELEMENT_WISE_ROUND", "Round", "float16", 2.0)
    for dtype in ("float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32",
                  "int64", "uint64"):
        yield Case("ELEMENT_WISE_MODULUS_TRUNCATE", "Mod", dtype, 10.0, attributes={"fmod": 1})
    for op, (onnx_op, opset, least, most, goal) in FUNCTIONS.items():
        mode = NEXT_TO_ONE if op in WITH_PARAMETER else 0
        for dtype in ("float32", "float16"):
            yield Case(op, onnx_op, dtype, goal if dtype == "float32" else 5.0, mode=mode,
                       opset=opset, least=least, most=most, is_exact=False)
    for columns in (1000, 10**6):
        yield Case("ACTIVATION_SOFTMAX", "Softmax", "float32", 1.0, attributes={"axis": 1}, least=-8,
                   most=8, columns=columns, is_exact=False)


def make_arrays(rng, case, shape):
    """The inputs of a case, and the type of its output."""
    op, dtype = case.op, case.dtype
    if op == "ELEMENT_WISE_IF":
        inputs = [random_array(rng, case, "bool", shape)] + [random_array(rng, case, dtype, shape)
                                                             for _ in range(2)]
        return inputs, dtype
    if op == "ELEMENT_WISE_IS_INFINITY":
        array = random_array(rng, case, dtype, shape)
        array[:, ::7] = np.inf
        return [array], "bool"
    if op == "ELEMENT_WISE_MODULUS_TRUNCATE":
        return [random_array(rng, case, dtype, shape),
                random_array(rng, case, dtype, shape, True)], dtype
    return [random_array(rng, case, dtype, shape)], dtype


def shape_of(case, count):
    """Rows and columns of tensors of `count` elements, or a few less."""
    if case.columns is None:
        return 1, count
    return max(count // case.columns, 1), case.columns


def distant(got, expected):
    """What distinguishes two arrays by more than roundings of theirs explain."""
    digits = np.finfo(got.dtype).eps
    wide = [array.astype(np.float64) for array in (got, expected)]
    # Zero has no neighbours in the proportion of which to measure.
    floor = np.finfo(got.dtype).tiny + digits * 4
    with np.errstate(invalid="ignore"):
        is_far = ~(np.abs(wide[0] - wide[1]) <= 64 * digits * np.abs(wide[1]) + floor)
    is_far &= ~((wide[0] == wide[1]) | (np.isnan(wide[0]) & np.isnan(wide[1])))
    if not is_far.any():
        return ""
    i = np.flatnonzero(is_far)[0]
    return (f"{is_far.sum()} elements are far from each other, first element {i}: "
            f"got {got.reshape(-1)[i]!r}, expected {expected.reshape(-1)[i]!r}")


def measure(library, case, count, threads, repeats):
    shape = shape_of(case, count)
    rng = np.random.default_rng(1)
    inputs, output_type = make_arrays(rng, case, shape)
    # They differ, so that they are the same only once both were written.
    ours = np.zeros(shape, output_type)
    theirs = np.ones(shape, output_type)
    model = model_of(case.onnx_op, [str(x.dtype) for x in inputs], output_type, case.attributes,
                     case.opset)
    run_ours, handle = library.prepare(case.op, case.dtype, case.mode, inputs, ours, threads)
    try:
        run_theirs, alive = prepare_ort(model, inputs, theirs, threads)
    except Exception as error:  # ONNX Runtime has no kernel for every type.
        library.lib.opserve_bench_close(handle)
        return {"op": case.op, "type": case.dtype, "skipped": str(error).split(" : ")[-1][:60]}
    seconds = medians([run_ours, run_theirs], repeats)
    del alive
    library.lib.opserve_bench_close(handle)
    differs = find_fault if case.is_exact else distant
    return {"op": case.op, "type": case.dtype, "elements": ours.size, "columns": shape[1],
            "threads": threads, "opserve_us": seconds[0] * 1e6, "onnxruntime_us": seconds[1] * 1e6,
            "ratio": seconds[1] / seconds[0], "goal": case.goal,
            "difference": differs(ours, theirs)}


def print_row(row):
    name = f"{row['op']:<30} {row['type']:<8}"
    if "skipped" in row:
        print(f"{name} ONNX Runtime has no such kernel: {row['skipped']}")
        return
    verdict = "ok" if row["ratio"] >= row["goal"] else "below"
    differs = "  results differ" if row["difference"] else ""
    print(f"{name} {row['elements']:>9} {row['threads']:>7} {row['opserve_us']:>11.1f} "
          f"{row['onnxruntime_us']:>11.1f} {row['ratio']:>7.1f}  >= {row['goal']:<4g} "
          f"{verdict}{differs}", flush=True)


def print_summary(rows):
    """A line for each operator and type, over all sizes and numbers of threads."""
    groups = {}
    for row in rows:
        if "skipped" not in row:
            groups.setdefault((row["op"], row["type"]), []).append(row)
    print(f"\n{'operator':<30} {'type':<8} {'slowest':>8} {'median':>8} {'fastest':>8}  goal")
    for (op, dtype), group in groups.items():
        ratios = sorted(row["ratio"] for row in group)
        goal = group[0]["goal"]
        verdict = "ok" if ratios[0] >= goal else "below" if ratios[-1] < goal else "below in places"
        print(f"{op:<30} {dtype:<8} {ratios[0]:>8.1f} {statistics.median(ratios):>8.1f} "
              f"{ratios[-1]:>8.1f}  >= {goal:<4g} {verdict}")


def find_faults(rows):
    """What is wrong with the results of measure(): a line each, which opserve's are `got` in."""
    compared = [row for row in rows if "skipped" not in row]
    if not compared:
        return ["no results were compared"]
    return [f"{row['op']} of {row['type']}, {row['elements']} elements, {row['threads']} threads: "
            f"{row['difference']}" for row in compared if row["difference"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin",
                        help="folder of libopserve_bench_c.so (default: %(default)s)")
    parser.add_argument("--filter", default="", help="only operators whose name and type contain this")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2],
                        help="threads of both sides (default: 1 2)")
    parser.add_argument("--elements", type=int, nargs="+", default=[1 << 14, 1 << 20, 1 << 24],
                        help="tensor sizes (default: 2^14 2^20 2^24); rows of 1,000 and 10^6 that "
                        "are in them, one at least")
    parser.add_argument("--repeats", type=int, default=7, help="batches per row (default: 7)")
    parser.add_argument("--json", help="also write the rows to this file")
    options = parser.parse_args()

    if ort is None:
        skip_without("onnxruntime", f"ONNX Runtime is not installed for {sys.executable}")
    library = Library(options.bin)
    print(f"opserve against ONNX Runtime {ort.__version__} on the CPU, same process and buffers; "
          "ratio above 1: opserve is faster\n")
    print(f"{'operator':<30} {'type':<8} {'elements':>9} {'threads':>7} {'opserve us':>11} "
          f"{'ORT us':>11} {'ratio':>7}  goal")
    rows = []
    for case in cases():
        if options.filter not in f"{case.op} {case.dtype}":
            continue
        for count in options.elements:
            for threads in options.threads:
                row = measure(library, case, count, threads, options.repeats)
                print_row(row)
                rows.append(row)
                if "skipped" in row:
                    break
            if "skipped" in rows[-1]:
                break
    print_summary(rows)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))
    faults = find_faults(rows)
    for fault in faults:
        print(f"compare_onnxruntime: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
