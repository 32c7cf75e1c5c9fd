// Layout of calls on the device. The device checks no bounds, so a model of what kernels touch is
// held against the buffers, byte by byte, for calls of every layout, and some of every operator.

#include "server/d3d12/dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "kernels/hlsl/kernel_key.h"
#include "server/d3d12/dispatch_pieces.h"
#include "server/d3d12/host_copy.h"
#include "server/device/lane_key.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/dispatch_model.h"
#include "tests/conformance/quantization_cases.h"
#include "tests/testing/request_builder.h"

namespace opserve::d3d12 {
namespace {

using opserve::testing::AllCells;
using opserve::testing::AllQuantizedTypes;
using opserve::testing::CanBePacked;
using opserve::testing::Cell;
using opserve::testing::FirstOutOfBounds;
using opserve::testing::Layout;
using opserve::testing::LayoutsOf;
using opserve::testing::MakeCall;
using opserve::testing::PackableCells;
using opserve::testing::Packed;
using opserve::testing::QuantizationCall;
using ::testing::ElementsAre;

constexpr uint64_t kNoLimit = uint64_t{1} << 40;

using Invocations = std::vector<std::shared_ptr<const Invocation>>;

std::vector<DeviceCall> CallsOf(const Invocations& invocations) {
  std::vector<DeviceCall> calls;
  for (const auto& invocation : invocations) calls.push_back({invocation.get(), {}, nullptr});
  return calls;
}

absl::StatusOr<BatchLayout> LayOutAll(const Invocations& invocations, uint64_t limit = kNoLimit) {
  return LayOut(CallsOf(invocations), limit);
}

void CheckBounds(const Invocations& invocations) {
  for (const auto& invocation : invocations) ASSERT_NE(invocation, nullptr);
  const auto layout = LayOutAll(invocations);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(FirstOutOfBounds(CallsOf(invocations), *layout), "");
}

// Cells of which no two have the same signature and widths: that is all that layouts depend on.
std::vector<Cell> CellsOfEachSignature() {
  std::set<std::tuple<std::string, size_t, size_t, bool, bool>> seen;
  std::vector<Cell> cells = AllCells();
  std::erase_if(cells, [&seen](const Cell& cell) {
    const bool has_numbers = !cell.op->attributes.empty() && !cell.op->has_mode();
    return !seen.insert({std::string(cell.op->shape.operands), SizeOf(cell.lane),
                         SizeOf(cell.output), hlsl::HasLongBody(*cell.op), has_numbers})
                .second;
  });
  return cells;
}

TEST(DispatchTest, KernelsStayInBounds) {
  for (const Cell& cell : CellsOfEachSignature()) {
    for (uint32_t size : {1u, 2u, 3u, 5u, 17u, 255u, 4097u}) {
      for (const Layout& layout : LayoutsOf(size)) {
        SCOPED_TRACE(cell.name() + ", " + layout.name + ", size " + std::to_string(size));
        const std::shared_ptr<const Invocation> call = MakeCall(cell, 0, layout);
        CheckBounds({call});
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

// Calls that are computed in pieces of about so many blocks, or, where that is fewer, of as few as
// a piece can have. Returns the number of pieces of each.
size_t CheckPieces(const Invocations& invocations, uint64_t most_blocks) {
  auto layout = LayOutAll(invocations);
  if (!layout.ok()) {
    ADD_FAILURE() << layout.status();
    return 0;
  }
  for (Dispatch& dispatch : layout->dispatches) dispatch.most_blocks = most_blocks;
  EXPECT_EQ(FirstOutOfBounds(CallsOf(invocations), *layout), "");
  return PiecesOf(layout->kernel, layout->dispatches[0]).size();
}

TEST(DispatchTest, PiecesStayInBounds) {
  for (const Cell& cell : CellsOfEachSignature()) {
    size_t most = 0;
    for (const Layout& layout : LayoutsOf(6001)) {
      SCOPED_TRACE(cell.name() + ", " + layout.name);
      const std::shared_ptr<const Invocation> call = MakeCall(cell, 0, layout);
      ASSERT_NE(call, nullptr);
      most = std::max(most, CheckPieces({call}, SizeOf(cell.output) == 2 ? 1000 : 0));
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GE(most, 3u) << cell.name();
  }
}

TEST(DispatchTest, BatchesInPiecesStayInBounds) {
  const Cell cell = {FindOperator("ELEMENT_WISE_IF"), DataType::kFloat16};
  for (const Layout& layout : {Packed(20001), LayoutsOf(20001)[5]}) {
    EXPECT_GE(CheckPieces({MakeCall(cell, 0, layout), MakeCall(cell, 0, layout)}, 600), 3u);
  }
}

// A call on rows, over dimension 1 of two where the operator has no Axes.
std::shared_ptr<const Invocation> RowCall(const char* op, DataType type,
                                          const std::vector<uint32_t>& sizes,
                                          const std::vector<uint32_t>& strides,
                                          const std::vector<int64_t>& axes) {
  testing::RequestBuilder builder{std::string(op)};
  builder.Input({type, sizes}).Output({type, sizes, strides});
  if (FindOperator(op)->axes_attribute() >= 0) builder.AxesOf("Axes", axes);
  return builder.Validate().invocation;
}

constexpr const char* kRowOperators[] = {"ACTIVATION_HARDMAX1", "ACTIVATION_SOFTMAX1"};

TEST(DispatchTest, RowsStayInBounds) {
  for (const char* const op : kRowOperators) {
    for (const DataType type : {DataType::kFloat32, DataType::kFloat16}) {
      for (const uint32_t length : {1u, 2u, 63u, 64u, 65u, 4096u, 4097u}) {
        SCOPED_TRACE(std::string(op) + " " + std::to_string(length));
        CheckBounds({RowCall(op, type, {3, length}, {}, {1})});
        CheckBounds({RowCall(op, type, {3, length}, {1, 3}, {1})});
        CheckBounds({RowCall(op, type, {length, 3}, {}, {0})});
        CheckBounds({RowCall(op, type, {length, 3}, {4, 1}, {})});
        CheckBounds({RowCall(op, type, {3, length}, {}, {0, 1})});
        // Interleaved: written densely.
        CheckBounds({RowCall(op, type, {2, 3, length}, {3, 2, 11}, {0, 2})});
        CheckBounds({RowCall(op, type, {2, length}, {}, {1}), RowCall(op, type, {1, 5}, {}, {1}),
                     RowCall(op, type, {300, 2}, {1, 300}, {1})});
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(DispatchTest, RowsInPiecesStayInBounds) {
  for (const char* const op : kRowOperators) {
    EXPECT_GE(CheckPieces({RowCall(op, DataType::kFloat32, {1500, 130}, {}, {1})}, 600), 3u);
    EXPECT_GE(CheckPieces({RowCall(op, DataType::kFloat16, {3, 100'001}, {1, 3}, {1}),
                           RowCall(op, DataType::kFloat16, {1, 20}, {}, {1})},
                          600),
              3u);
  }
}

// Stages of calls that need not wait for each other lie side by side: as many waits as the call
// with the longest rows has.
TEST(DispatchTest, StagesOfABatchWaitTogether) {
  const auto layout = LayOutAll({RowCall("ACTIVATION_SOFTMAX", DataType::kFloat32, {5}, {}, {}),
                                 RowCall("ACTIVATION_SOFTMAX", DataType::kFloat32, {300}, {}, {}),
                                 RowCall("ACTIVATION_SOFTMAX", DataType::kFloat32, {7}, {}, {})});
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->dispatches.size(), 3u + 5u + 3u);
  EXPECT_EQ(std::count_if(layout->dispatches.begin(), layout->dispatches.end(),
                          [](const Dispatch& dispatch) { return dispatch.reads_earlier; }),
            4);
}

// 40 bytes of records for each row of one element.
TEST(DispatchTest, RecordsCountToTheLimit) {
  const auto call = RowCall("ACTIVATION_SOFTMAX1", DataType::kFloat32, {10'000}, {}, {});
  EXPECT_TRUE(LayOutAll({call}, 450'000).ok());
  EXPECT_TRUE(absl::IsUnimplemented(LayOutAll({call}, 400'000).status()));
}

Layout RandomLayout(std::mt19937_64& random) {
  Layout layout{"random", {}, std::vector<std::vector<uint32_t>>(4)};
  const size_t dimensions = 1 + random() % 8;
  uint32_t stride = 1;
  for (size_t d = 0; d < dimensions; ++d) layout.sizes.push_back(1 + random() % 4);
  for (int input = 0; input < 3; ++input) {
    for (size_t d = 0; d < dimensions; ++d) {
      layout.strides[input].push_back(static_cast<uint32_t>(random() % 7));
    }
  }
  // An output that does not overlap: each stride steps over what lies inside.
  layout.strides[3].resize(dimensions);
  for (size_t d = dimensions; d-- > 0;) {
    layout.strides[3][d] = stride;
    stride = stride * layout.sizes[d] + static_cast<uint32_t>(random() % 3);
  }
  return layout;
}

TEST(DispatchTest, RandomLayoutsStayInBounds) {
  std::mt19937_64 random(1);
  const std::vector<Cell> cells = AllCells();
  for (int i = 0; i < 3000; ++i) {
    CheckBounds({MakeCall(cells[random() % cells.size()], 0, RandomLayout(random))});
    if (::testing::Test::HasFailure()) return;
  }
}

// Kernels are told the types of numbers, and read something where one is absent.
TEST(DispatchTest, NumbersOfEveryTypeStayInBounds) {
  for (const auto& [op, types] : AllQuantizedTypes()) {
    for (const std::vector<uint32_t>& sizes : {std::vector<uint32_t>{1}, {259}, {3, 70}}) {
      for (const bool is_per_tensor : {false, true}) {
        SCOPED_TRACE(types.ToString());
        const auto call = QuantizationCall(op, types, sizes, is_per_tensor);
        ASSERT_NE(call, nullptr);
        CheckBounds({call});
        const auto layout = LayOutAll({call});
        ASSERT_TRUE(layout.ok());
        for (size_t i = 0; i < types.inputs.size(); ++i) {
          EXPECT_EQ(layout->dispatches[0].input_types[i], types.inputs[i]);
        }
      }
    }
  }
}

TEST(DispatchTest, CallsWithOtherTypesOfNumbersAreOfOtherLanes) {
  std::set<std::pair<OpId, std::vector<DataType>>> kinds;
  absl::flat_hash_set<LaneKey> lanes;
  for (const auto& [op, types] : AllQuantizedTypes()) {
    std::vector<DataType> kind = types.inputs;
    kind.push_back(types.output);
    kinds.insert({op, kind});
    lanes.insert(LaneKeyOf(*QuantizationCall(op, types, {3, 70}, true)));
  }
  EXPECT_EQ(lanes.size(), kinds.size());
}

// Batches of 1 to 40 calls of any sizes.
TEST(DispatchTest, BatchesStayInBounds) {
  std::mt19937_64 random(2);
  for (const Cell& cell : CellsOfEachSignature()) {
    for (int i = 0; i < 8; ++i) {
      SCOPED_TRACE(cell.name() + ", batch " + std::to_string(i));
      const bool is_packed = i % 2 == 0;
      if (is_packed && !CanBePacked(*cell.op)) continue;
      Invocations batch;
      for (size_t count = 1 + random() % 40; batch.size() < count;) {
        const auto size = static_cast<uint32_t>(1 + random() % (i % 4 < 2 ? 20 : 2000));
        const auto call = MakeCall(cell, 0, is_packed ? Packed(size) : RandomLayout(random));
        ASSERT_NE(call, nullptr);
        // Few strided layouts are small enough to be packed.
        if (call->plan.is_packed() == is_packed) batch.push_back(call);
      }
      CheckBounds(batch);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// Copies move whole words, of which none may be another call's too.
TEST(DispatchTest, NoTwoCallsShareAWord) {
  using Range = std::pair<uint64_t, uint64_t>;
  const auto expect_apart = [](std::vector<Range> ranges, uint64_t end) {
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_EQ(ranges[i].first % kWordBytes, 0u);
      EXPECT_LE(ranges[i].second, i + 1 < ranges.size() ? ranges[i + 1].first : end);
    }
  };
  std::mt19937_64 random(3);
  for (const Cell& cell : PackableCells()) {
    SCOPED_TRACE(cell.name());
    Invocations batch;
    while (batch.size() < 20) {
      batch.push_back(MakeCall(cell, 0, Packed(static_cast<uint32_t>(1 + random() % 20))));
    }
    const auto layout = LayOutAll(batch);
    ASSERT_TRUE(layout.ok());
    std::vector<Range> inputs;
    std::vector<Range> outputs;
    for (size_t c = 0; c < batch.size(); ++c) {
      const Offsets& at = layout->places[c].at;
      for (int i = 0; i < cell.op->input_count(); ++i) {
        inputs.emplace_back(at.inputs[i], at.inputs[i] + RoundUpToFour(batch[c]->input_bytes[i]));
      }
      outputs.emplace_back(at.output, at.output + RoundUpToFour(batch[c]->output_bytes));
    }
    expect_apart(std::move(inputs), layout->input_buffer_bytes);
    expect_apart(std::move(outputs), layout->output_buffer_bytes);
  }
}

// What is written to the places comes back from there: the host's half of a batch.
TEST(DispatchTest, CallsHavePlacesOfTheirOwn) {
  const Cell cell = {FindOperator("ELEMENT_WISE_IF"), DataType::kFloat64};
  const Invocations batch = {MakeCall(cell, 0, Packed(3)), MakeCall(cell, 0, Packed(1)),
                             MakeCall(cell, 0, Packed(2))};
  std::vector<DeviceCall> calls = CallsOf(batch);
  // Call k has conditions of k + 1 and numbers of 10 k and more.
  std::vector<std::vector<uint8_t>> conditions;
  std::vector<std::vector<uint64_t>> numbers;
  std::vector<std::vector<uint64_t>> outputs;
  for (size_t k = 0; k < calls.size(); ++k) {
    const uint64_t count = batch[k]->plan.element_count;
    conditions.emplace_back(count, static_cast<uint8_t>(k + 1));
    std::vector<uint64_t>& own = numbers.emplace_back(count);
    std::iota(own.begin(), own.end(), 10 * k);
    outputs.emplace_back(count, 99);
  }
  for (size_t k = 0; k < calls.size(); ++k) {
    const auto* number = reinterpret_cast<const std::byte*>(numbers[k].data());
    calls[k].inputs = {reinterpret_cast<const std::byte*>(conditions[k].data()), number, number};
    calls[k].output = reinterpret_cast<std::byte*>(outputs[k].data());
  }
  const auto layout = LayOut(calls, kNoLimit);
  ASSERT_TRUE(layout.ok());
  std::vector<std::byte> upload(layout->input_buffer_bytes);
  HostCopies copies;
  for (size_t k = 0; k < calls.size(); ++k) {
    WriteInputs(*layout, k, calls[k], upload.data(), copies);
  }
  CopyAll(std::exchange(copies, {}));

  // Each call begins with a whole word of conditions.
  const uint8_t* condition = reinterpret_cast<const uint8_t*>(upload.data());
  EXPECT_THAT(std::span(condition, 10), ElementsAre(1, 1, 1, 0, 2, 0, 0, 0, 3, 3));
  ASSERT_EQ(layout->dispatches.size(), 1u);
  const auto* number =
      reinterpret_cast<const uint64_t*>(upload.data() + layout->dispatches[0].bound.inputs[2]);
  EXPECT_THAT(std::span(number, 10), ElementsAre(0, 1, 2, 0, 10, 0, 0, 0, 20, 21));
  for (size_t k = 0; k < calls.size(); ++k) {
    WriteResult(layout->places[k], calls[k], reinterpret_cast<const std::byte*>(number), copies);
  }
  CopyAll(copies);
  EXPECT_EQ(outputs, numbers);
}

TEST(DispatchTest, PackedCallsShareADispatch) {
  const Cell cell = {FindOperator("ELEMENT_WISE_ROUND"), DataType::kFloat32};
  const auto packed = LayOutAll(Invocations(300, MakeCall(cell, 0, Packed(5))));
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->dispatches.size(), 1u);
  EXPECT_EQ(packed->dispatches[0].block_count, 1500u);
  const auto strided = LayOutAll(Invocations(300, MakeCall(cell, 0, LayoutsOf(5)[1])));
  ASSERT_TRUE(strided.ok());
  EXPECT_EQ(strided->dispatches.size(), 300u);
}

// Threads of kernels that are bound by memory take several blocks each, from few blocks on.
TEST(DispatchTest, ThreadsAreThoseOfOneStep) {
  const auto groups_of = [](const char* name, DataType lane, uint32_t elements) {
    const auto layout = LayOutAll({MakeCall({FindOperator(name), lane}, 0, Packed(elements))});
    const std::vector<DispatchPiece> pieces = PiecesOf(layout->kernel, layout->dispatches[0]);
    EXPECT_EQ(pieces.size(), 1u);
    EXPECT_EQ(pieces[0].thread_count, pieces[0].group_count * hlsl::kThreadsPerGroup);
    return pieces[0].group_count;
  };
  EXPECT_EQ(groups_of("ELEMENT_WISE_ROUND", DataType::kFloat32, 1), 1u);
  EXPECT_EQ(groups_of("ELEMENT_WISE_ROUND", DataType::kFloat32, 1024), 1u);
  EXPECT_EQ(groups_of("ELEMENT_WISE_ROUND", DataType::kFloat32, 1025), 2u);
  EXPECT_EQ(groups_of("ELEMENT_WISE_ROUND", DataType::kFloat16, 10240), 5u);
  EXPECT_EQ(groups_of("ELEMENT_WISE_IDENTITY", DataType::kFloat64, 10240), 20u);
  EXPECT_EQ(groups_of("ELEMENT_WISE_EXP", DataType::kFloat32, 10240), 40u);
  EXPECT_EQ(groups_of("ELEMENT_WISE_ADD", DataType::kFloat32, 10240), 40u);
  EXPECT_EQ(groups_of("ELEMENT_WISE_ROUND", DataType::kFloat32, 1u << 28), 65535u);
}

TEST(DispatchTest, LanesAreNotMixed) {
  const Cell half = {FindOperator("ELEMENT_WISE_ROUND"), DataType::kFloat16};
  const Cell single = {FindOperator("ELEMENT_WISE_ROUND"), DataType::kFloat32};
  const auto first = MakeCall(half, 0, Packed(5));
  for (const auto& other : {MakeCall(single, 0, Packed(5)), MakeCall(half, 1, Packed(5)),
                            MakeCall(half, 0, LayoutsOf(5)[1])}) {
    EXPECT_EQ(LayOutAll({first, other}).status().code(), absl::StatusCode::kInternal);
  }
}

std::shared_ptr<const Invocation> RoundCall(const Layout& layout) {
  return MakeCall({FindOperator("ELEMENT_WISE_ROUND"), DataType::kFloat32}, 0, layout);
}

TEST(DispatchTest, LargeTensorsAreRefused) {
  const auto call = RoundCall(Packed(1000));
  EXPECT_TRUE(LayOutAll({call}, 4096).ok());
  EXPECT_EQ(LayOutAll({call}, 3999).status().code(), absl::StatusCode::kUnimplemented);
  // Too large only together; but not if one of them is too large whatever the others are.
  EXPECT_TRUE(LayOutAll({call, call}, 8192).ok());
  EXPECT_EQ(LayOutAll({call, call}, 7999).status().code(), absl::StatusCode::kResourceExhausted);
  const auto large = RoundCall(Packed(2000));
  EXPECT_EQ(LayOutAll({call, call, large}, 4096).status().code(), absl::StatusCode::kUnimplemented);
  // More than kernels can address in 32 bits, whatever the device can.
  const Cell select = {FindOperator("ELEMENT_WISE_IF"), DataType::kFloat32};
  EXPECT_EQ(LayOutAll({MakeCall(select, 0, Packed(1u << 28))}).status().code(),
            absl::StatusCode::kUnimplemented);
  const auto half = RoundCall(Packed(1u << 28));
  EXPECT_EQ(LayOutAll({half, half, half}).status().code(), absl::StatusCode::kResourceExhausted);
}

// Offsets 0, 2, 4, 3, 5, 7: neither loop lies inside the other.
TEST(DispatchTest, InterleavedOutputsArePutInPlaceByTheHost) {
  const auto call = RoundCall({"interleaved", {2, 3}, {{}, {}, {}, {3, 2}}});
  const auto layout = LayOutAll({call});
  ASSERT_TRUE(layout.ok());
  const CallPlace& place = layout->places[0];
  EXPECT_TRUE(place.is_dense);
  EXPECT_EQ(place.result_bytes, 24u);
  const uint32_t device[6] = {1, 2, 3, 4, 5, 6};
  std::vector<uint32_t> output(call->output_bytes / 4, 99);
  HostCopies copies;
  WriteResult(place, {call.get(), {}, reinterpret_cast<std::byte*>(output.data())},
              reinterpret_cast<const std::byte*>(device), copies);
  EXPECT_TRUE(copies.empty());
  EXPECT_EQ(output, (std::vector<uint32_t>{1, 0, 2, 4, 3, 5, 0, 6}));
}

TEST(DispatchTest, NestedOutputsAreWrittenByTheDevice) {
  const auto call = RoundCall({"padded", {2, 3}, {{}, {}, {}, {5, 1}}});
  const auto layout = LayOutAll({call});
  ASSERT_TRUE(layout.ok());
  const CallPlace& place = layout->places[0];
  EXPECT_FALSE(place.is_dense);
  EXPECT_EQ(place.result_bytes, call->output_bytes);
  std::array<uint32_t, kPlanBytes / 4> plan;
  WritePlan(*call, place, reinterpret_cast<std::byte*>(plan.data()));
  // Size, stride of the output, stride of the input.
  EXPECT_THAT(std::span(plan).subspan(0, 3), ElementsAre(2, 5, 3));
  EXPECT_THAT(std::span(plan).subspan(8, 3), ElementsAre(3, 1, 1));
  EXPECT_EQ(layout->dispatches[0].loop_count, 2u);
}

// The model itself must see what is wrong.
TEST(DispatchModelTest, SeesWhatIsOutOfBounds) {
  for (const Layout& each : {Packed(1001), LayoutsOf(1001)[5]}) {
    const Invocations batch(3, RoundCall(each));
    const auto good = LayOutAll(batch);
    ASSERT_TRUE(good.ok());
    const auto problem_with = [&](const std::function<void(BatchLayout&)>& change) {
      BatchLayout changed = *good;
      change(changed);
      return FirstOutOfBounds(CallsOf(batch), changed);
    };
    EXPECT_EQ(problem_with([](BatchLayout&) {}), "");
    const std::vector<std::function<void(BatchLayout&)>> faults = {
        [](BatchLayout& layout) { layout.dispatches.back().block_count += 1024; },
        [](BatchLayout& layout) { layout.dispatches.back().block_count -= 1; },
        [](BatchLayout& layout) { layout.dispatches[0].bound.plan -= kTensorAlignment; },
        [](BatchLayout& layout) { layout.dispatches[0].bound.inputs[0] += 4; },
        [](BatchLayout& layout) { layout.dispatches[0].bound.inputs[0] += kTensorAlignment; },
        [](BatchLayout& layout) { layout.dispatches[0].bound.output += kTensorAlignment; },
        [](BatchLayout& layout) { layout.output_buffer_bytes -= 4; },
        [](BatchLayout& layout) { layout.input_buffer_bytes -= kTensorAlignment; },
        [](BatchLayout& layout) { layout.result_bytes -= 4; },
        [](BatchLayout& layout) { layout.places[1].at.inputs[0] -= 16; },
        [](BatchLayout& layout) { layout.places[1].at.inputs[0] += 4; },
        [](BatchLayout& layout) { layout.places[1].at.output += 16; },
        [](BatchLayout& layout) {
          std::swap(layout.places[0].at.inputs, layout.places[2].at.inputs);
        },
    };
    for (size_t i = 0; i < faults.size(); ++i) {
      EXPECT_NE(problem_with(faults[i]), "") << each.name << ", fault " << i;
    }
  }
}

}  // namespace
}  // namespace opserve::d3d12
