// The text of GPU kernels: one golden per shape, and what must hold for all.

#include "kernels/hlsl/render.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "kernels/hlsl/source_hash.h"

namespace opserve::hlsl {
namespace {

struct Representative {
  const char* golden;
  KernelKey key;
};

const Representative kRepresentatives[] = {
    {"unary_float16_packed",
     {OpId::ELEMENT_WISE_ROUND, DataType::kFloat16, DataType::kFloat16, 2, LayoutClass::kPacked}},
    {"unary_int16_packed",
     {OpId::ELEMENT_WISE_CLIP, DataType::kInt16, DataType::kInt16, 0, LayoutClass::kPacked}},
    {"predicate_float32_strided",
     {OpId::ELEMENT_WISE_IS_INFINITY, DataType::kFloat32, DataType::kUint8, 1,
      LayoutClass::kStrided}},
    {"comparison_int64_packed",
     {OpId::ELEMENT_WISE_LOGICAL_EQUALS, DataType::kInt64, DataType::kUint8, 0,
      LayoutClass::kPacked}},
    {"count_uint8_packed",
     {OpId::ELEMENT_WISE_BIT_COUNT, DataType::kUint8, DataType::kUint32, 0, LayoutClass::kPacked}},
    {"binary_int8_strided",
     {OpId::ELEMENT_WISE_MODULUS_TRUNCATE, DataType::kInt8, DataType::kInt8, 0,
      LayoutClass::kStrided}},
    {"open_float16_strided",
     {OpId::ACTIVATION_ELU, DataType::kFloat16, DataType::kFloat16, 0, LayoutClass::kStrided}},
    {"open_float16_packed",
     {OpId::ACTIVATION_ELU, DataType::kFloat16, DataType::kFloat16, 0, LayoutClass::kPacked}},
    {"scalars_uint64_packed",
     {OpId::ELEMENT_WISE_CLIP1, DataType::kUint64, DataType::kUint64, 0, LayoutClass::kPacked}},
    {"select_float64_packed",
     {OpId::ELEMENT_WISE_IF, DataType::kFloat64, DataType::kFloat64, 0, LayoutClass::kPacked}},
    {"numbers_float32_packed",
     {OpId::ELEMENT_WISE_DEQUANTIZE_LINEAR, DataType::kFloat32, DataType::kFloat32, 0,
      LayoutClass::kPacked}},
    {"numbers_uint8_packed",
     {OpId::ELEMENT_WISE_QUANTIZE_LINEAR, DataType::kUint8, DataType::kUint8, 0,
      LayoutClass::kPacked}},
    {"power_float16_packed",
     {OpId::ELEMENT_WISE_POW, DataType::kFloat16, DataType::kFloat16, 0, LayoutClass::kPacked}},
    {"row_float32",
     {OpId::ACTIVATION_HARDMAX, DataType::kFloat32, DataType::kFloat32, 0, LayoutClass::kStrided}},
    {"open_row_float16",
     {OpId::ACTIVATION_LOG_SOFTMAX, DataType::kFloat16, DataType::kFloat16, 0,
      LayoutClass::kStrided}},
    {"single_numbers_int8_strided",
     {OpId::ELEMENT_WISE_QUANTIZED_LINEAR_ADD, DataType::kInt8, DataType::kInt8, 0,
      LayoutClass::kStrided}},
};

// What stands for the text of the files.
const Bodies kNamesOfBodies = {
    "// (bodies)\n\n",
    "// (arithmetic)\n\n",
    "// (typed numbers)\n\n",
    "// (quantization)\nuint Quantize(\nuint Dequantize(\nuint AddQuantized(\n\n",
    "// (elementary)\n\n",
    "// (normal distribution)\n\n",
    "// (open)\n\n",
    "// (power)\nuint DecidedPower(\n\n",
    "// (softmax)\n\n",
    "// (rows)\n\n"};

class RenderGoldenTest : public ::testing::TestWithParam<Representative> {};

// OPSERVE_UPDATE_GOLDENS=1 writes the goldens instead.
TEST_P(RenderGoldenTest, TextIsAsBefore) {
  const std::string path = std::string(OPSERVE_GOLDENS) + "/hlsl/" + GetParam().golden + ".hlsl";
  const std::string text = RenderKernel(GetParam().key, kNamesOfBodies);
  if (std::getenv("OPSERVE_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    GTEST_SKIP() << "wrote " << path;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path;
  const std::string golden{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(text, golden);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RenderGoldenTest, ::testing::ValuesIn(kRepresentatives),
                         [](const auto& instance) { return instance.param.golden; });

// Those of rows have one for any plan.
TEST(RenderTest, EveryOperatorTypeAndModeHasBothLayouts) {
  const std::vector<KernelKey> keys = AllKernelKeys();
  for (KernelKey key : keys) {
    if (TraitsOf(key.op).shape.is_row) {
      EXPECT_EQ(key.layout, LayoutClass::kStrided);
      continue;
    }
    key.layout = key.layout == LayoutClass::kPacked ? LayoutClass::kStrided : LayoutClass::kPacked;
    EXPECT_EQ(std::count(keys.begin(), keys.end(), key), 1);
  }
  // 11 types of IF, 2 types in 3 modes of IS_INFINITY and ROUND, 10 types of MODULUS_TRUNCATE.
  EXPECT_GE(keys.size(), 2u * (11 + 6 + 10 + 6));
}

TEST(RenderTest, MovesDependOnTheWidthOnly) {
  const auto text_of = [](DataType type) {
    return RenderKernel({OpId::ELEMENT_WISE_IF, type, type, 0, LayoutClass::kPacked}, {});
  };
  EXPECT_EQ(text_of(DataType::kFloat32), text_of(DataType::kUint32));
  EXPECT_EQ(text_of(DataType::kFloat64), text_of(DataType::kInt64));
  EXPECT_NE(text_of(DataType::kFloat16), text_of(DataType::kFloat32));
}

TEST(RenderTest, ModesDiffer) {
  const auto text_of = [](int mode) {
    return RenderKernel({OpId::ELEMENT_WISE_ROUND, DataType::kFloat32, DataType::kFloat32, mode,
                         LayoutClass::kPacked},
                        {});
  };
  EXPECT_NE(text_of(0), text_of(1));
}

TEST(RenderTest, LongBodiesArePartOfKernelsThatCallThem) {
  const auto bodies_of = [](OpId op) {
    const LayoutClass layout =
        TraitsOf(op).shape.is_row ? LayoutClass::kStrided : LayoutClass::kPacked;
    const KernelKey key = {op, DataType::kFloat32, DataType::kFloat32, 0, layout};
    const Bodies bodies = {"",
                           "(arithmetic)\nuint Added(uint x, uint y)\n",
                           "(typed numbers)\n",
                           "(quantization)\nuint Dequantize(Number v)\n",
                           "(elementary)\nuint Exp(uint x)\n",
                           "(normal distribution)\nuint Gelu(uint x)\n",
                           "(open)\n",
                           "(power)\nuint DecidedPower(uint x, Number y)\n",
                           "(softmax)\n",
                           "(rows)\n"};
    const std::string text = RenderKernel(key, bodies);
    std::string found;
    for (const char* const name :
         {"(arithmetic)", "(typed numbers)", "(quantization)", "(elementary)",
          "(normal distribution)", "(open)", "(power)", "(softmax)", "(rows)"}) {
      if (text.find(name) != std::string::npos) found += name;
    }
    return found;
  };
  EXPECT_EQ(bodies_of(OpId::ELEMENT_WISE_ROUND), "");
  EXPECT_EQ(bodies_of(OpId::ACTIVATION_RELU), "");
  EXPECT_EQ(bodies_of(OpId::ELEMENT_WISE_ADD), "(arithmetic)");
  EXPECT_EQ(bodies_of(OpId::ELEMENT_WISE_EXP), "(arithmetic)(elementary)");
  EXPECT_EQ(bodies_of(OpId::ACTIVATION_ELU), "(arithmetic)(elementary)(open)");
  EXPECT_EQ(bodies_of(OpId::ACTIVATION_GELU), "(arithmetic)(elementary)(normal distribution)");
  EXPECT_EQ(bodies_of(OpId::ELEMENT_WISE_DEQUANTIZE_LINEAR),
            "(arithmetic)(typed numbers)(quantization)");
  EXPECT_EQ(bodies_of(OpId::ELEMENT_WISE_CONSTANT_POW), "(arithmetic)(elementary)(open)(power)");
  EXPECT_EQ(bodies_of(OpId::ELEMENT_WISE_POW),
            "(arithmetic)(typed numbers)(elementary)(open)(power)");
  EXPECT_EQ(bodies_of(OpId::ACTIVATION_HARDMAX1), "(rows)");
  EXPECT_EQ(bodies_of(OpId::ACTIVATION_SOFTMAX), "(arithmetic)(elementary)(open)(softmax)(rows)");
}

// A long body is called once, whatever the number of elements in a word.
TEST(RenderTest, LongBodiesAreCalledOnce) {
  for (const KernelKey& key : AllKernelKeys()) {
    if (!HasLongBody(TraitsOf(key.op))) continue;
    const std::string text = RenderKernel(key, {});
    // Its definition and one call.
    EXPECT_EQ(std::vector<std::string>(absl::StrSplit(text, "Element(")).size(), 3u) << text;
  }
}

// Of a step, all blocks are read before one is written; what the threads of a group read for each
// other lies between two barriers.
TEST(RenderTest, StepsReadFirst) {
  int shared = 0;
  for (const KernelKey& key : AllKernelKeys()) {
    const std::string text = RenderKernel(key, {});
    const std::vector<std::string> loops = absl::StrSplit(text, "  for (");
    const uint32_t step = BlocksPerStep(key);
    if (step == 1) continue;
    ASSERT_EQ(loops.size(), 3u) << text;
    EXPECT_LT(loops[1].rfind("Input"), loops[1].find("Output")) << text;
    if (absl::StrContains(text, "groupshared")) {
      ++shared;
      const std::vector<std::string> parts =
          absl::StrSplit(loops[1], "GroupMemoryBarrierWithGroupSync");
      ASSERT_EQ(parts.size(), 3u) << text;
      EXPECT_FALSE(absl::StrContains(parts[0], "shared_")) << text;
      EXPECT_LT(parts[1].rfind("shared_"), parts[1].rfind("Input")) << text;
      EXPECT_FALSE(absl::StrContains(parts[2], "Input")) << text;
    }
    const std::vector<std::string> stores = absl::StrSplit(loops[1], "Output.Store");
    EXPECT_EQ(stores.size() - 1, step) << text;
  }
  EXPECT_GT(shared, 0);
}

TEST(RenderTest, MissingBodiesAreEmpty) { EXPECT_TRUE(ReadBodies("/nonexistent").empty()); }

TEST(SourceHashTest, IsFnv1a) {
  EXPECT_EQ(SourceHash(""), 0xcbf29ce484222325u);
  EXPECT_EQ(SourceHash("a"), 0xaf63dc4c8601ec8cu);
}

}  // namespace
}  // namespace opserve::hlsl
