"""Results against NumPy, where NumPy is exact; every operator by its own method."""

import inspect
import json
import subprocess

import numpy as np
import pytest

import opserve

RANDOM = np.random.default_rng(13)


def floats(dtype, shape=(7, 33)):
    """All kinds of numbers, the special ones among them."""
    x = RANDOM.normal(0, 100, shape).astype(dtype)
    x.flat[:9] = [0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, 1.5, 2.5, -2.5]
    return x


def same(ours, theirs):
    """The same bits, but that any NaN is one."""
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}.get(ours.itemsize, np.uint8)
    if ours.dtype.kind == "f":
        assert np.array_equal(np.isnan(ours), np.isnan(theirs))
        ours, theirs = (np.where(np.isnan(x), 0, x).astype(x.dtype) for x in (ours, theirs))
    assert np.array_equal(ours.view(bits), theirs.view(bits))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("mode, theirs", [
    ("TOWARD_ZERO", np.trunc), ("HALVES_TO_NEAREST_EVEN", np.rint)])
def test_round(client, dtype, mode, theirs):
    x = floats(dtype)
    same(client.round(x, rounding_mode=mode), theirs(x))


def test_enum_values_go_by_number_too(client):
    x = floats(np.float32)
    same(client.round(x, rounding_mode=1), np.trunc(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("name, theirs", [
    ("abs", np.abs), ("negate", np.negative), ("ceil", np.ceil), ("floor", np.floor)])
def test_unary(client, dtype, name, theirs):
    x = floats(dtype)
    same(getattr(client, name)(x), theirs(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint8, np.int16, np.uint16, np.int32,
                                   np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("name, theirs", [
    ("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply)])
def test_arithmetic(client, dtype, name, theirs):
    if np.dtype(dtype).kind == "f":
        a, b = floats(dtype), floats(dtype)[::-1].copy()
    else:
        a, b = (RANDOM.integers(0, 100, (7, 33)).astype(dtype) for _ in range(2))
    with np.errstate(all="ignore"):
        same(getattr(client, name)(a, b), theirs(a, b))


@pytest.mark.parametrize("name, theirs", [
    ("logical_equals", np.equal), ("logical_less_than", np.less),
    ("logical_greater_than_or_equal", np.greater_equal)])
def test_comparisons_are_uint8_or_what_dtype_says(client, name, theirs):
    a, b = floats(np.float32), floats(np.float32)[::-1].copy()
    same(getattr(client, name)(a, b), theirs(a, b).astype(np.uint8))
    same(getattr(client, name)(a, b, dtype=np.uint32), theirs(a, b).astype(np.uint32))


def test_bool_is_uint8(client):
    a = RANDOM.integers(0, 2, 100).astype(bool)
    b = ~a[::-1]
    same(client.logical_and(a, b), np.logical_and(a, b).astype(np.uint8))
    x = floats(np.float32, 100)
    same(client.if_(a, x, -x), np.where(a, x, -x))


@pytest.mark.parametrize("shapes", [((3, 4), (4,)), ((3, 1), (1, 5)), ((2, 3, 4), ()), ((5,), (4, 1)), ((), ()),
                                    ((1,), ())])
def test_broadcast(client, shapes):
    a, b = (np.asarray(RANDOM.normal(size=shape), dtype=np.float32) for shape in shapes)
    same(client.add(a, b), np.asarray(a + b))


def test_numbers_take_the_type_of_the_arrays(client):
    x = floats(np.float16)
    same(client.add(x, 1), x + np.float16(1))
    same(client.add(1.5, x), np.float16(1.5) + x)
    same(client.add(np.int8([1, 2]), 3), np.int8([4, 5]))
    same(client.dequantize_linear(np.uint8([3, 5]), np.float32(0.5), 1), np.float32([1, 2]))
    for dtype in (np.float32, np.float16, np.int32):
        same(client.quantize_linear(np.array([1, 2], dtype), 0.5, np.int8(1)), np.int8([3, 5]))


@pytest.mark.parametrize("dtype, number", [
    (np.uint8, 300), (np.uint8, -1), (np.uint8, 2.5), (np.uint8, np.inf), (np.uint8, np.nan), (np.int8, 1e10),
    (np.int64, 1e300), (np.float16, 1e10), (np.float16, -65520), (np.float32, 1e39), (np.float32, 1 << 128),
    pytest.param(np.float64, 1 << 1024, id="float64-2**1024")])
def test_numbers_that_the_type_does_not_have(client, recwarn, dtype, number):
    with pytest.raises(opserve.InvalidArgumentError) as raised:
        client.add(np.array([1], dtype), number)
    assert raised.value.violations[0].field == "b"
    assert str(number) in raised.value.violations[0].description
    assert not recwarn.list


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype, number", [
    (np.float16, 65519), (np.float16, -65519.99), (np.float16, 1e-30), (np.float16, np.inf), (np.float32, -np.inf),
    (np.float32, 3.4028235e38), (np.float32, 1e-300), (np.float32, np.nan), (np.int8, -128.0),
    (np.uint64, 2**64 - 1), (np.int64, -(2**63))])
def test_numbers_that_the_type_has(client, dtype, number):
    same(client.add(np.array([0], dtype), number), np.array([number]).astype(dtype))


def test_a_number_that_no_array_gives_a_type(client):
    with pytest.raises(opserve.InvalidArgumentError, match="numpy.float32"):
        client.add(1, 2)


def test_the_type_attribute_need_not_be_given(client):
    same(client.clip1(np.int16([-500, 3, 500]), min=-100, max=100), np.int16([-100, 3, 100]))
    same(client.clip1(np.uint64([1, 2**64 - 1]), min=2, max=2**64 - 2), np.uint64([2, 2**64 - 2]))


def test_axes(client):
    x = np.float32([[0, 1], [3, 2]])
    same(client.activation_hardmax1(x, axes=[0]), np.float32([[0, 0], [1, 1]]))
    same(client.activation_hardmax1(x, axes=np.array([1])), np.float32([[0, 1], [1, 0]]))


def test_one_element_tensors_and_optional_ones(client):
    result = client.quantized_linear_add(
        np.uint8([[2, 4], [6, 8]]), np.float32(0.5), np.uint8([[1, 1], [1, 1]]), np.float32(2), np.float32(1),
        output_zero_point=np.uint8(3))
    same(result, np.uint8([[6, 7], [8, 9]]))


def catalogue(programs, server):
    return json.loads(subprocess.run(
        [programs / "opserve", "operators", "--json", "--address", server.address], capture_output=True, text=True,
        check=True, timeout=60).stdout)["operators"]


def arguments_for(method, operator):
    """Tensors of ones, and a value for each attribute that must be given."""
    tensors = {tensor["name"].lower(): tensor for tensor in operator["support"][-1]["tensors"]}
    given = {}
    for name, parameter in inspect.signature(method).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD or parameter.default is not parameter.empty:
            continue
        tensor = tensors.get(name.replace("_", "") + "tensor")
        if tensor is not None:
            is_one = "scale" in name and operator["name"].endswith("QUANTIZED_LINEAR_ADD")
            given[name] = np.ones((1, 1) if is_one else (2, 3), tensor["data_types"][0].lower())
        else:
            given[name] = {"axes": [1], "rounding_mode": "TOWARD_ZERO", "infinity_mode": "EITHER"}.get(name, 1)
    return given


def test_every_operator_has_a_method_that_works(client, programs, server):
    operators = catalogue(programs, server)
    assert len(operators) >= 92
    for operator in operators:
        name = operator["name"].removeprefix("ELEMENT_WISE_").lower()
        method = getattr(client, name, None) or getattr(client, name + "_")
        result = method(**arguments_for(method, operator))
        assert result.shape == (2, 3), operator["name"]
        assert method.__doc__.startswith(operator["summary"][:40]), operator["name"]


def test_operators_do_not_hide_methods_of_the_client():
    methods = {name for name, value in vars(opserve.Operators).items() if inspect.isfunction(value)}
    for kind in (opserve.Client, opserve.Stream, opserve.Sequence, opserve.AsyncClient):
        assert not (methods - {"__init__"}) & set(vars(kind))
    assert len(methods) >= 93
