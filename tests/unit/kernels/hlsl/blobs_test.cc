// The compiled GPU kernels are those of the sources, complete, and well-formed.

#include "kernels/hlsl/blobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kernels/hlsl/render.h"
#include "kernels/hlsl/source_hash.h"

namespace opserve::hlsl {
namespace {

std::string Describe(const KernelKey& key) {
  return std::string(TraitsOf(key.op).name) + " " + std::string(NameOf(key.lane)) + " mode " +
         std::to_string(key.mode) + " " + std::string(NameOf(key.layout));
}

TEST(BlobsTest, AreFresh) {
  const Bodies bodies = ReadBodies(OPSERVE_HLSL_SOURCES);
  ASSERT_FALSE(bodies.empty()) << OPSERVE_HLSL_SOURCES;
  for (const KernelKey& key : AllKernelKeys()) {
    const Blob* blob = FindBlob(key);
    ASSERT_NE(blob, nullptr) << Describe(key) << ": run kernels/hlsl/tools/build-shaders.sh";
    EXPECT_EQ(blob->source_hash, SourceHash(RenderKernel(key, bodies)))
        << Describe(key) << " was compiled from another text: "
        << "run kernels/hlsl/tools/build-shaders.sh";
  }
}

TEST(BlobsTest, HaveNoOthers) { EXPECT_EQ(AllBlobs().size(), AllKernelKeys().size()); }

// A DXBC container begins with its name and tells its size at byte 24.
TEST(BlobsTest, AreContainers) {
  for (const Blob& blob : AllBlobs()) {
    const std::vector<std::byte> code = CodeOf(blob);
    ASSERT_GT(code.size(), 32u) << Describe(blob.key);
    EXPECT_EQ(std::memcmp(code.data(), "DXBC", 4), 0) << Describe(blob.key);
    uint32_t size = 0;
    std::memcpy(&size, code.data() + 24, sizeof(size));
    EXPECT_EQ(size, code.size()) << Describe(blob.key);
  }
}

// The instructions of a kernel, in words: the part of the container that is called SHDR, or SHEX.
std::vector<uint32_t> InstructionsOf(const std::vector<std::byte>& code) {
  const auto word_at = [&code](size_t at) {
    uint32_t word = 0;
    std::memcpy(&word, code.data() + at, sizeof(word));
    return word;
  };
  std::vector<uint32_t> words;
  constexpr size_t kPartCountAt = 28;
  for (uint32_t part = 0; part < word_at(kPartCountAt); ++part) {
    const size_t begin = word_at(kPartCountAt + 4 + 4 * part);
    const absl::string_view name(reinterpret_cast<const char*>(code.data() + begin), 4);
    if (name != "SHDR" && name != "SHEX") continue;
    const size_t end = begin + 8 + word_at(begin + 4);
    for (size_t at = begin + 8; at < end; at += sizeof(uint32_t)) words.push_back(word_at(at));
  }
  return words;
}

// Constants get to drivers as floats, whatever they stand for, and some drivers make signalling
// NaNs quiet, which changes a bit. No other word of an instruction looks like one.
TEST(BlobsTest, HaveNoSignallingNans) {
  constexpr uint32_t kInfinity = 0x7f800000;
  constexpr uint32_t kQuiet = 0x00400000;
  constexpr uint32_t kSign = 0x80000000;
  for (const Blob& blob : AllBlobs()) {
    const std::vector<uint32_t> words = InstructionsOf(CodeOf(blob));
    EXPECT_GT(words.size(), 20u) << Describe(blob.key);
    for (const uint32_t word : words) {
      const bool is_nan = (word & ~kSign) > kInfinity;
      EXPECT_FALSE(is_nan && (word & kQuiet) == 0)
          << Describe(blob.key) << " has 0x" << std::hex << word;
    }
  }
}

TEST(BlobsTest, TakeLittleRoom) {
  std::map<const std::byte*, size_t> sizes;
  for (const Blob& blob : AllBlobs()) sizes[blob.packed.data()] = blob.packed.size();
  size_t bytes = 0;
  for (const auto& [code, size] : sizes) bytes += size;
  EXPECT_LT(bytes, size_t{2} << 20);
}

TEST(BlobsTest, DamageIsFound) {
  Blob blob = AllBlobs()[0];
  blob.packed = blob.packed.first(blob.packed.size() - 1);
  EXPECT_TRUE(CodeOf(blob).empty());
  blob = AllBlobs()[0];
  ++blob.code_bytes;
  EXPECT_TRUE(CodeOf(blob).empty());
}

TEST(BlobsTest, TellTheirCompiler) { EXPECT_FALSE(BlobCompiler().empty()); }

TEST(BlobsTest, MovesAreSharedByWidth) {
  const auto code_of = [](DataType type) {
    return FindBlob({OpId::ELEMENT_WISE_IF, type, type, 0, LayoutClass::kPacked})->packed;
  };
  EXPECT_EQ(code_of(DataType::kFloat32).data(), code_of(DataType::kInt32).data());
  EXPECT_NE(code_of(DataType::kFloat32).data(), code_of(DataType::kFloat16).data());
}

TEST(BlobsTest, UnknownKernelIsNotFound) {
  const KernelKey key = {OpId::ELEMENT_WISE_ROUND, DataType::kInt8, DataType::kInt8, 0,
                         LayoutClass::kPacked};
  EXPECT_EQ(FindBlob(key), nullptr);
}

}  // namespace
}  // namespace opserve::hlsl
