// Every operator in every type, with inputs that lie in pieces, and with results that take the
// place of an input: bit for bit what the same call gives in one piece.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_executor.h"
#include "kernels/tensor_bytes.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/targets.h"

namespace opserve::testing {
namespace {

// A tensor in pieces of random lengths, some without any bytes, each before a forbidden page.
class Pieces {
 public:
  Pieces(const std::byte* bytes, size_t size, size_t longest, std::mt19937_64& random) {
    for (size_t at = 0; at < size;) {
      const size_t count = std::min<size_t>(random() % (longest + 1), size - at);
      GuardedInput& piece = owned_.emplace_back(count);
      std::copy_n(bytes + at, count, piece.data());
      at += count;
    }
    for (const GuardedInput& piece : owned_) views_.emplace_back(piece.data(), piece.size());
  }

  TensorBytes bytes() const { return TensorBytes(views_); }

  std::vector<std::byte> Joined() const {
    std::vector<std::byte> joined;
    for (const auto& view : views_) joined.insert(joined.end(), view.begin(), view.end());
    return joined;
  }

 private:
  std::vector<GuardedInput> owned_;
  std::vector<std::span<const std::byte>> views_;
};

class KernelPiecesTest : public ::testing::TestWithParam<Cell> {
 protected:
  void SetUp() override {
    for (const uint32_t count : {1u, 3u, 64u, 1000u, 20'000u}) {
      // Attributes that are no modes do not meet pieces: one setting stands for them.
      const int settings = std::min(GetParam().setting_count(), GetParam().mode_count() + 1);
      for (int setting = 0; setting < settings; ++setting) {
        const auto call = MakeCall(GetParam(), setting, Packed(count));
        ASSERT_NE(call, nullptr);
        calls_.push_back(call);
      }
    }
  }

  // Calls check(call, whole inputs, the same in pieces, what the reference says) for pieces of
  // different lengths.
  template <class Function>
  void ForAll(const Function& check) {
    for (const auto& call : calls_) {
      const std::vector<GuardedInput> inputs = MakeInputs(*call, random_);
      const std::vector<std::byte> expected = ReferenceOutput(*call, PointersTo(inputs));
      // Pages are costly: few pieces of the large ones.
      const size_t least = call->output_bytes / 50;
      for (const size_t longest : {least + 1, least + 13, least + 500, size_t{1} << 20}) {
        std::vector<Pieces> pieces;
        pieces.reserve(inputs.size());
        for (const GuardedInput& input : inputs) {
          pieces.emplace_back(input.data(), input.size(), longest, random_);
        }
        SCOPED_TRACE(std::to_string(call->plan.element_count) + " elements in pieces of up to " +
                     std::to_string(longest) + " bytes, mode " + std::to_string(call->mode()));
        check(*call, PointersTo(inputs), pieces, expected.data());
        if (HasFailure()) return;
      }
    }
  }

  static std::vector<TensorBytes> BytesOf(const std::vector<Pieces>& pieces) {
    std::vector<TensorBytes> bytes;
    for (const Pieces& input : pieces) bytes.push_back(input.bytes());
    return bytes;
  }

  std::vector<std::shared_ptr<const Invocation>> calls_;
  std::mt19937_64 random_{20261122};
};

TEST_P(KernelPiecesTest, GiveTheSame) {
  ForAll([](const Invocation& call, const std::vector<const std::byte*>& /*whole*/,
            const std::vector<Pieces>& pieces, const std::byte* expected) {
    SentinelOutput output(call.output_bytes, 1);
    Executor().RunPieces(call, BytesOf(pieces), output.data());
    EXPECT_EQ(Difference(call, expected, output.data()), "");
    EXPECT_TRUE(output.intact());
  });
}

TEST_P(KernelPiecesTest, OneInputMayBeWhole) {
  ForAll([](const Invocation& call, const std::vector<const std::byte*>& whole,
            const std::vector<Pieces>& pieces, const std::byte* expected) {
    std::vector<TensorBytes> inputs = BytesOf(pieces);
    inputs.back() = whole.back();
    SentinelOutput output(call.output_bytes, 0);
    Executor().RunPieces(call, inputs, output.data());
    EXPECT_EQ(Difference(call, expected, output.data()), "");
  });
}

// As inputs are computed that come while they are.
TEST_P(KernelPiecesTest, PartsGiveTheSame) {
  for (const auto& call : calls_) {
    const std::vector<GuardedInput> inputs = MakeInputs(*call, random_);
    const std::vector<std::byte> expected = ReferenceOutput(*call, PointersTo(inputs));
    SentinelOutput output(call->output_bytes, 1);
    const uint64_t count = call->plan.element_count;
    for (uint64_t first = 0; first < count;) {
      const uint64_t part = std::min<uint64_t>(1 + random_() % (count / 3 + 1), count - first);
      std::vector<const std::byte*> at = PointersTo(inputs);
      for (size_t i = 0; i < at.size(); ++i) at[i] += first * SizeOf(call->inputs[i].data_type);
      Executor().RunPart(*call, part, at, output.data() + first * SizeOf(call->output.data_type));
      first += part;
    }
    EXPECT_EQ(Difference(*call, expected.data(), output.data()), "") << count << " elements";
    EXPECT_TRUE(output.intact());
  }
}

TEST_P(KernelPiecesTest, ResultsMayTakeThePlaceOfAnInput) {
  for (size_t target = 0; target < GetParam().op->inputs.size(); ++target) {
    ForAll([&](const Invocation& call, const std::vector<const std::byte*>& whole,
               std::vector<Pieces>& pieces, const std::byte* expected) {
      if (!CanRunInPlace(call, static_cast<int>(target))) return;
      Executor().RunInPlace(call, BytesOf(pieces), target);
      const std::vector<std::byte> result = pieces[target].Joined();
      ASSERT_EQ(result.size(), call.output_bytes);
      EXPECT_EQ(Difference(call, expected, result.data()), "");
      for (size_t i = 0; i < pieces.size(); ++i) {
        if (i == target) continue;
        const std::vector<std::byte> input = pieces[i].Joined();
        EXPECT_EQ(std::memcmp(input.data(), whole[i], input.size()), 0) << "input " << i;
      }
    });
  }
}

// Several threads, and several steps of each.
TEST(RunInPlaceTest, LargeTensorsAreComputedInParts) {
  std::mt19937_64 random(20261122);
  int computed = 0;
  for (const Cell& cell : AllCells()) {
    if (cell.lane != DataType::kFloat32) continue;
    const auto call = MakeCall(cell, 0, Packed(600'001));
    ASSERT_NE(call, nullptr);
    if (!CanRunInPlace(*call, 0)) continue;
    const std::vector<GuardedInput> inputs = MakeInputs(*call, random);
    std::vector<Pieces> pieces;
    std::vector<TensorBytes> bytes;
    pieces.reserve(inputs.size());
    for (const GuardedInput& input : inputs) {
      bytes.push_back(pieces.emplace_back(input.data(), input.size(), 100'000, random).bytes());
    }
    Executor().RunInPlace(*call, bytes, 0);
    const std::vector<std::byte> result = pieces[0].Joined();
    EXPECT_EQ(Difference(*call, ReferenceOutput(*call, PointersTo(inputs)).data(), result.data()),
              "")
        << cell.name();
    ++computed;
  }
  EXPECT_GT(computed, 0);
}

TEST(CanRunInPlaceTest, FollowsTheOperatorTable) {
  size_t allowed = 0;
  for (const Cell& cell : AllCells()) {
    const auto call = MakeCall(cell, 0, Packed(5));
    ASSERT_NE(call, nullptr);
    for (size_t i = 0; i < cell.op->inputs.size(); ++i) {
      const bool is_listed = std::find(cell.op->in_place.begin(), cell.op->in_place.end(),
                                       cell.op->inputs[i].name) != cell.op->in_place.end();
      const bool fits = call->input_bytes[i] == call->output_bytes;
      EXPECT_EQ(CanRunInPlace(*call, static_cast<int>(i)), is_listed && fits) << cell.name();
      allowed += is_listed && fits ? 1 : 0;
    }
  }
  EXPECT_GT(allowed, 0u);
}

INSTANTIATE_TEST_SUITE_P(PackableCells, KernelPiecesTest, ::testing::ValuesIn(PackableCells()),
                         [](const auto& instance) { return instance.param.name(); });

}  // namespace
}  // namespace opserve::testing
