"""What the server offers."""

import pytest

import opserve


def test_every_operator_is_a_method(client):
    operators = client.list_operators()
    methods = {name for name in vars(opserve.Operators) if not name.startswith("_")}
    assert len(operators) == len(methods) and len({operator.name for operator in operators}) == len(operators)


def test_an_operator_in_full(client):
    found, = client.list_operators("ELEMENT_WISE_ROUND")
    assert (found.name, found.introduced, found.max_ulp) == ("ELEMENT_WISE_ROUND", "2_1", 0)
    assert found.family and found.summary and found.formula
    assert [(tensor.name, tensor.optional, tensor.one_element) for tensor in [*found.inputs, found.output]] == [
        ("InputTensor", False, False), ("OutputTensor", False, False)]
    assert found.in_place == ["InputTensor"]
    attribute, = found.attributes
    assert (attribute.name, attribute.kind, attribute.optional) == ("RoundingMode", "enum", False)
    assert [(value.name, value.number) for value in attribute.values] == [
        ("HALVES_TO_NEAREST_EVEN", 0), ("TOWARD_ZERO", 1), ("TOWARD_INFINITY", 2)]
    assert all(value.meaning for value in attribute.values)
    assert [support.feature_level for support in found.support] == sorted(s.feature_level for s in found.support)
    tensor = found.support[0].tensors[0]
    assert tensor.name == "InputTensor" and tensor.data_types == ["FLOAT32", "FLOAT16"]
    assert 1 <= tensor.min_dimension_count <= tensor.max_dimension_count


def test_feature_levels_leave_out_what_they_have_not(client):
    old = {operator.name for operator in client.list_operators(feature_level="1_0")}
    new = {operator.name for operator in client.list_operators()}
    assert "ELEMENT_WISE_ABS" in old < new and "ELEMENT_WISE_ROUND" not in old
    with pytest.raises(opserve.InvalidArgumentError, match="feature level"):
        client.list_operators(feature_level="99_9")


def test_unknown_names_get_the_nearest(client):
    with pytest.raises(opserve.NotFoundError, match="ELEMENT_WISE_ROUND") as refused:
        client.list_operators("ELEMENT_WISE_RUND")
    assert refused.value.reason == "OPERATOR_NOT_FOUND"
