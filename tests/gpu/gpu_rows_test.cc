// Operators that compute rows, on a Direct3D 12 device: lengths and numbers of rows, sets of
// dimensions, layouts, batches and sequences, bit for bit against the processor; and rows that are
// left open.

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/cpu/cpu_executor.h"
#include "kernels/reference_ops.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/call_cases.h"
#include "tests/gpu/test_device.h"
#include "tests/testing/request_builder.h"
#include "tests/testing/sequence_builder.h"

namespace opserve::testing {
namespace {

using Dims = std::vector<uint32_t>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kQuietNan = std::numeric_limits<float>::quiet_NaN();

void StoreElement(DataType type, float value, std::byte* to) {
  const reference::Float16 half = reference::ToHalf(value);
  if (type == DataType::kFloat16) {
    std::memcpy(to, &half, sizeof(half));
  } else {
    std::memcpy(to, &value, sizeof(value));
  }
}

// What elements of a row may be like.
enum class Values : uint8_t {
  kUsual,     // spread
  kEqual,     // few different ones
  kPeaked,    // one far above all others
  kNear,      // next to each other
  kInfinite,  // with minus infinities
  kSpecial,   // with NaN and infinities, here and there
};
constexpr Values kAllValues[] = {Values::kUsual, Values::kEqual,    Values::kPeaked,
                                 Values::kNear,  Values::kInfinite, Values::kSpecial};

float ValueOf(Values values, bool is_first, std::mt19937_64& random) {
  std::normal_distribution<float> usual(0, 4);
  const float value = usual(random);
  switch (values) {
    case Values::kUsual:
      return value;
    case Values::kEqual:
      return std::round(value / 2);
    case Values::kPeaked:
      return is_first ? 40 : value * 8 - 40;
    case Values::kNear:
      return 1 + std::ldexp(value, -20);
    case Values::kInfinite:
      return random() % 3 == 0 && !is_first ? -kInfinity : value;
    case Values::kSpecial:
      break;
  }
  const float specials[] = {kQuietNan, kInfinity, -kInfinity, -0.0f, 0.0f, 3e38f, -3e38f, 1e-45f};
  return random() % 20 == 0 ? specials[random() % 8] : value;
}

// A call with its inputs, and what the processor makes of them.
struct RowCall {
  std::shared_ptr<const Invocation> invocation;
  std::vector<GuardedInput> inputs = {};
  std::vector<std::byte> expected = {};

  void ComputeExpected() {
    expected.resize(invocation->output_bytes);
    CpuExecutor(1).Run(*invocation, PointersTo(inputs), expected.data());
  }
  void Fill(Values values, std::mt19937_64& random) {
    const DataType type = invocation->lane_type;
    for (size_t at = 0; at < inputs[0].size(); at += SizeOf(type)) {
      StoreElement(type, ValueOf(values, at == 0, random), inputs[0].data() + at);
    }
  }
};

class GpuRowsTest : public GpuTest {
 protected:
  static RowCall Make(const OpTraits& op, DataType type, const Dims& sizes,
                      const Dims& input_strides, const Dims& output_strides,
                      const std::vector<int64_t>& axes) {
    RequestBuilder builder{std::string(op.name)};
    if (op.axes_attribute() >= 0) builder.AxesOf("Axes", axes);
    builder.Input({type, sizes, input_strides});
    builder.Output({type, sizes, output_strides});
    RowCall call{builder.Validate().invocation};
    if (call.invocation != nullptr) call.inputs.emplace_back(call.invocation->input_bytes[0]);
    return call;
  }

  // Runs them together. Where the device leaves elements open, they count as open.
  void Check(std::vector<RowCall>& calls, const std::string& what) {
    CheckOn(device(), calls, what);
  }
  void CheckOn(ComputeDevice& device, std::vector<RowCall>& calls, const std::string& what) {
    std::vector<DeviceCall> device_calls;
    std::vector<SentinelOutput> outputs;
    outputs.reserve(calls.size());
    for (RowCall& call : calls) {
      call.ComputeExpected();
      SentinelOutput& output = outputs.emplace_back(call.invocation->output_bytes, 1);
      device_calls.push_back(CallOf(*call.invocation, PointersTo(call.inputs), output.data()));
    }
    const absl::Status status = device.Run(device_calls);
    ++ran_;
    if (absl::IsOutOfRange(status)) {
      ++open_;
      return;
    }
    ASSERT_TRUE(status.ok()) << what << ": " << status;
    for (size_t i = 0; i < calls.size(); ++i) {
      EXPECT_EQ(Difference(*calls[i].invocation, calls[i].expected.data(), outputs[i].data()), "")
          << what << ", call " << i;
      EXPECT_TRUE(outputs[i].intact()) << what;
    }
  }

  // Of those that ran, few may be left open: some of the rows whose elements are nearly equal,
  // which are a sixth of AnyValues().
  void ExpectFewOpen() const { EXPECT_LE(open_ * 20, ran_) << open_ << " of " << ran_; }

  std::mt19937_64 random_{20261126};
  int ran_ = 0;
  int open_ = 0;
};

class GpuRowCellTest : public GpuRowsTest,
                       public ::testing::WithParamInterface<std::tuple<const char*, DataType>> {
 protected:
  void SetUp() override {
    GpuRowsTest::SetUp();
    op_ = FindOperator(std::get<0>(GetParam()));
  }
  bool has_axes() const { return op_->axes_attribute() >= 0; }
  DataType type() const { return std::get<1>(GetParam()); }

  void CheckOne(const Dims& sizes, const Dims& input_strides, const Dims& output_strides,
                const std::vector<int64_t>& axes, Values values) {
    const std::string what = absl::StrCat(
        "sizes ", absl::StrJoin(sizes, ","), ", input ", absl::StrJoin(input_strides, ","),
        ", output ", absl::StrJoin(output_strides, ","), ", axes ", absl::StrJoin(axes, ","),
        ", values ", static_cast<int>(values));
    std::vector<RowCall> calls;
    calls.push_back(Make(*op_, type(), sizes, input_strides, output_strides, axes));
    ASSERT_NE(calls[0].invocation, nullptr) << what;
    calls[0].Fill(values, random_);
    Check(calls, what);
  }
  void CheckAll(const Dims& sizes, const Dims& input_strides, const Dims& output_strides,
                const std::vector<int64_t>& axes) {
    for (const Values values : kAllValues) {
      CheckOne(sizes, input_strides, output_strides, axes, values);
    }
  }
  Values AnyValues() { return kAllValues[random_() % std::size(kAllValues)]; }

  const OpTraits* op_ = nullptr;
};

TEST_P(GpuRowCellTest, IsSupported) { EXPECT_TRUE(device().Supports(op_->id, type())); }

// Around what a thread takes, a group, and more than one stage.
TEST_P(GpuRowCellTest, Lengths) {
  for (const uint32_t length : {1u, 2u, 3u, 7u, 63u, 64u, 65u, 1000u, 4096u, 4099u}) {
    if (length == 65 || length == 3) CheckAll({3, length}, {}, {}, {1});
    CheckOne({3, length}, {}, {}, {1}, AnyValues());
    CheckOne({3, length}, {length + 3, 1}, {length + 1, 1}, {1}, AnyValues());
    CheckOne({3, length}, {1, 3}, {}, {1}, AnyValues());
    CheckOne({3, length}, {}, {1, 3}, {1}, AnyValues());
    CheckOne({3, length}, {0, 1}, {}, {1}, AnyValues());
    CheckOne({3, length}, {0, 0}, {}, {1}, AnyValues());
    CheckOne({length}, {}, {}, {0}, AnyValues());
    CheckOne({length, 3}, {}, {}, {0}, AnyValues());
    CheckOne({length, 1}, {2, 0}, {}, {0}, AnyValues());
    if (HasFailure()) return;
  }
  ExpectFewOpen();
}

TEST_P(GpuRowCellTest, EverySetOfDimensions) {
  if (!has_axes()) return;
  const Dims sizes = {2, 3, 4, 5};
  // The last one interleaves: the device writes it densely.
  const Dims layouts[] = {{}, {1, 2, 6, 24}, {60, 1, 3, 12}, {70, 23, 5, 1}, {3, 2, 9, 41}};
  for (uint32_t set = 0; set < 16; ++set) {
    std::vector<int64_t> axes;
    for (int64_t d = 3; d >= 0; --d) {
      if ((set >> d & 1) != 0) axes.push_back(d);
    }
    for (const Dims& output : layouts) {
      CheckOne(sizes, layouts[random_() % 4], output, axes, AnyValues());
    }
    CheckOne(sizes, {0, 5, 0, 1}, {}, axes, AnyValues());
    if (HasFailure()) return;
  }
  ExpectFewOpen();
}

TEST_P(GpuRowCellTest, ManyRowsAndLongOnes) {
  CheckOne({7'011, 3}, {}, {}, {1}, Values::kEqual);
  CheckOne({101, 331}, {1, 101}, {}, {1}, Values::kUsual);
  // Those with Axes have the same kernels, and FLOAT16 the same stages.
  if (!has_axes() && type() == DataType::kFloat32) {
    CheckOne({1'000'003}, {}, {}, {0}, Values::kEqual);
  }
  ExpectFewOpen();
}

// Calls of rows of several lengths, which have as many stages, share a submission.
TEST_P(GpuRowCellTest, Batches) {
  std::vector<RowCall> calls;
  for (const uint32_t length : {5u, 20'000u, 1u, 300u, 129u}) {
    calls.push_back(Make(*op_, type(), {2, length}, {}, {}, {1}));
    ASSERT_NE(calls.back().invocation, nullptr);
    calls.back().Fill(Values::kEqual, random_);
  }
  Check(calls, "batch");
  EXPECT_EQ(open_, 0);
}

INSTANTIATE_TEST_SUITE_P(
    AllCells, GpuRowCellTest,
    ::testing::Combine(::testing::Values("ACTIVATION_HARDMAX", "ACTIVATION_HARDMAX1",
                                         "ACTIVATION_SOFTMAX", "ACTIVATION_SOFTMAX1",
                                         "ACTIVATION_LOG_SOFTMAX", "ACTIVATION_LOG_SOFTMAX1"),
                       ::testing::Values(DataType::kFloat32, DataType::kFloat16)),
    [](const auto& instance) {
      return absl::StrCat(std::get<0>(instance.param), "_", NameOf(std::get<1>(instance.param)));
    });

// Elements below 0 whose powers sum up to `sum`, to about 2^-70.
std::vector<float> TermsOf(long double sum, DataType type) {
  std::vector<float> terms;
  while (sum > 0x1p-66L) {
    float term = static_cast<float>(std::log(sum));
    if (type == DataType::kFloat16) term = reference::ToFloat(reference::ToHalf(term));
    while (std::exp(static_cast<long double>(term)) > sum) {
      term = std::nextafter(term, -kInfinity);
      if (type == DataType::kFloat16) {
        term = reference::ToFloat(reference::ToHalf(term - std::ldexp(std::abs(term), -10)));
      }
    }
    terms.push_back(term);
    sum -= std::exp(static_cast<long double>(term));
  }
  return terms;
}

// A result in the middle of two elements but for some 2^-60 of itself is nobody's to round with the
// digits that the kernel has.
TEST_F(GpuRowsTest, OpenElementsAreTold) {
  struct Case {
    const char* op;
    DataType type;
    long double rest;  // S - 1
  };
  const auto of_softmax = [](long double result) { return 1 / result - 1; };
  const auto of_log = [](long double result) { return std::expm1(-result); };
  const Case cases[] = {
      {"ACTIVATION_SOFTMAX", DataType::kFloat32, of_softmax(1 - 0x1p-25L)},
      {"ACTIVATION_SOFTMAX", DataType::kFloat16, of_softmax(0.75L + 0x1p-12L)},
      {"ACTIVATION_LOG_SOFTMAX", DataType::kFloat32, of_log(-0.5L - 0x1p-25L)},
      {"ACTIVATION_LOG_SOFTMAX", DataType::kFloat32, of_log(-0x1p-5L - 0x1p-29L)},
      {"ACTIVATION_LOG_SOFTMAX", DataType::kFloat16, of_log(-0.5L - 0x1p-12L)},
  };
  for (const Case& each : cases) {
    std::vector<float> row = TermsOf(each.rest, each.type);
    row.push_back(0);
    for (const bool is_open : {true, false}) {
      if (!is_open) row[0] -= 0.5f;
      RowCall call =
          Make(*FindOperator(each.op), each.type, {static_cast<uint32_t>(row.size())}, {}, {}, {});
      ASSERT_NE(call.invocation, nullptr);
      for (size_t i = 0; i < row.size(); ++i) {
        StoreElement(each.type, row[i], call.inputs[0].data() + i * SizeOf(each.type));
      }
      SentinelOutput output(call.invocation->output_bytes, 0);
      const absl::Status status =
          RunOne(device(), *call.invocation, PointersTo(call.inputs), output.data());
      EXPECT_EQ(absl::IsOutOfRange(status), is_open)
          << each.op << " " << NameOf(each.type) << ": " << status;
      EXPECT_EQ(status.ok(), !is_open) << status;
    }
  }
}

// A difference that is the middle of two elements is no result but with what ln S adds.
TEST_F(GpuRowsTest, MiddlesOfLogSoftmaxAreDecided) {
  const Dims sizes = {4, 3};
  // 50 + (1 + 2^-23) is a middle, and so are others; e^-50 is far below their digits.
  const float rows[] = {50, -1.0f - 0x1p-22f, -30.0f,  //
                        64, -0x1.8p-17f,      -1,      //
                        64, -0x1p-18f,        -1.5f,   //
                        90, -0x1.8p-18f,      -0x1.000002p0f};
  RowCall call =
      Make(*FindOperator("ACTIVATION_LOG_SOFTMAX"), DataType::kFloat32, sizes, {}, {}, {});
  ASSERT_NE(call.invocation, nullptr);
  std::memcpy(call.inputs[0].data(), rows, sizeof(rows));
  std::vector<RowCall> calls;
  calls.push_back(std::move(call));
  Check(calls, "middles");
  EXPECT_EQ(open_, 0);
}

// Stages in as many commands as there can be, in which blocks are computed again.
TEST_F(GpuRowsTest, StagesInPieces) {
  const auto device = MakeDevice({.longest_dispatch = std::chrono::nanoseconds(0)});
  ASSERT_NE(device, nullptr);
  for (const char* const op : {"ACTIVATION_HARDMAX1", "ACTIVATION_SOFTMAX1"}) {
    for (const DataType type : {DataType::kFloat32, DataType::kFloat16}) {
      std::vector<RowCall> calls;
      for (const Dims& sizes : {Dims{1500, 3}, Dims{2, 12'001}}) {
        calls.push_back(Make(*FindOperator(op), type, sizes, {}, {}, {1}));
        ASSERT_NE(calls.back().invocation, nullptr);
        calls.back().Fill(Values::kEqual, random_);
      }
      CheckOn(*device, calls, op);
    }
  }
  EXPECT_EQ(open_, 0);
}

// Rows before other steps, all in one submission.
TEST_F(GpuRowsTest, SequencesHaveRows) {
  constexpr uint32_t kRows = 17;
  constexpr uint32_t kColumns = 301;
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {kRows, kColumns}});
  const TensorSource softmax = builder.Step("ACTIVATION_SOFTMAX");
  builder.From(x);
  const TensorSource hardmax = builder.Step("ACTIVATION_HARDMAX");
  builder.From(softmax);
  const TensorSource sum = builder.Step("ELEMENT_WISE_ADD");
  builder.From(softmax).From(hardmax);
  builder.Return(sum).Return(hardmax);
  const auto sequence = builder.Validate().sequence;
  ASSERT_NE(sequence, nullptr);

  std::vector<float> input(size_t{kRows} * kColumns);
  for (float& value : input) value = ValueOf(Values::kUsual, false, random_);
  const auto* const in = reinterpret_cast<const std::byte*>(input.data());
  std::vector<std::vector<float>> expected(2, std::vector<float>(input.size()));
  std::vector<std::vector<float>> actual = expected;
  std::vector<std::byte*> out;
  SequenceCall call = {.sequence = sequence.get(), .inputs = {in}};
  for (size_t i = 0; i < 2; ++i) {
    out.push_back(reinterpret_cast<std::byte*>(expected[i].data()));
    call.outputs.push_back(reinterpret_cast<std::byte*>(actual[i].data()));
  }
  std::vector<std::byte> workspace(sequence->plan.workspace_bytes);
  CpuExecutor(1).RunSequence(*sequence, std::span(&in, 1), out, workspace.data());
  const DeviceCall device_call = {.sequence = &call};
  const absl::Status status = device().Run({&device_call, 1});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(actual, expected);
}

}  // namespace
}  // namespace opserve::testing
