// NumPy files: what is read, what is written, and what is refused with which words.

#include "client/api/npy.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A file of the given version, as NumPy writes it but without padding.
std::string File(int version, absl::string_view header, absl::string_view data) {
  std::string file = absl::StrCat("\x93NUMPY", std::string(1, static_cast<char>(version)),
                                  absl::string_view("\0", 1));
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file.push_back(static_cast<char>(header.size() >> (8 * i)));
  }
  return absl::StrCat(file, header, data);
}

std::string Header(absl::string_view descr, absl::string_view shape,
                   absl::string_view fortran = "False") {
  return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", fortran, ", 'shape': ", shape,
                      ", }\n");
}

TEST(NpyTest, ReadsEveryVersionAndType) {
  const std::pair<absl::string_view, DataType> types[] = {
      {"<f4", DataType::kFloat32}, {"<f2", DataType::kFloat16}, {"<f8", DataType::kFloat64},
      {"|u1", DataType::kUint8},   {"<u2", DataType::kUint16},  {"<u4", DataType::kUint32},
      {"<u8", DataType::kUint64},  {"|i1", DataType::kInt8},    {"<i2", DataType::kInt16},
      {"<i4", DataType::kInt32},   {"<i8", DataType::kInt64},   {"|b1", DataType::kUint8},
  };
  for (const auto& [descr, type] : types) {
    for (int version : {1, 2, 3}) {
      const std::string data(6 * SizeOf(type), 'x');
      const auto tensor = ParseNpy(File(version, Header(descr, "(2, 3)"), data));
      ASSERT_TRUE(tensor.ok()) << descr << ": " << tensor.status();
      EXPECT_EQ(tensor->spec(), (TensorSpec{type, {2, 3}, {}}));
      EXPECT_EQ(tensor->bytes().size(), data.size());
    }
  }
}

TEST(NpyTest, ReadsHeadersAsPythonWouldWriteThem) {
  for (absl::string_view header : {
           "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }          \n",
           "{\"shape\":(3,),\"fortran_order\":False,\"descr\":\"u1\"}",
           "  { 'shape' : ( 3L , ) , 'descr' : '=u1' , 'fortran_order' : False }\n",
       }) {
    const auto tensor = ParseNpy(File(1, header, "abc"));
    ASSERT_TRUE(tensor.ok()) << header << tensor.status();
    EXPECT_THAT(*tensor->Elements<uint8_t>(), ElementsAre('a', 'b', 'c'));
  }
}

TEST(NpyTest, AZeroDimensionalArrayHasOneElement) {
  const auto tensor = ParseNpy(File(1, Header("|i1", "()"), "\x7f"));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->spec(), (TensorSpec{DataType::kInt8, {1}, {}}));
}

TEST(NpyTest, FortranOrderBecomesStrides) {
  const auto tensor =
      ParseNpy(File(1, Header("|u1", "(2, 3)", "True"), absl::string_view("\0\3\1\4\2\5", 6)));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->spec(), (TensorSpec{DataType::kUint8, {2, 3}, {1, 2}}));
  EXPECT_THAT(*tensor->Packed().Elements<uint8_t>(), ElementsAre(0, 1, 2, 3, 4, 5));
  // One dimension has one order.
  EXPECT_TRUE(ParseNpy(File(1, Header("|u1", "(2,)", "True"), "ab"))->spec().strides.empty());
}

TEST(NpyTest, BigEndianFilesAreConverted) {
  const auto tensor =
      ParseNpy(File(1, Header(">i4", "(2,)"), absl::string_view("\0\0\1\2\xff\xff\xff\xff", 8)));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(*tensor->Elements<int32_t>(), ElementsAre(258, -1));
}

TEST(NpyTest, WritesWhatItReads) {
  for (DataType type : kAllDataTypes) {
    for (const std::vector<uint32_t>& sizes :
         std::vector<std::vector<uint32_t>>{{7}, {2, 3}, {1, 1, 2, 1, 3, 1, 1, 2}}) {
      TensorSpec spec{type, sizes, {}};
      std::string bytes(*ByteSize(spec), '\0');
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 37);
      const Tensor tensor = *Tensor::FromBytes(spec, bytes);
      const std::string file = FormatNpy(tensor);
      EXPECT_EQ((file.size() - bytes.size()) % 64, 0u);
      const auto again = ParseNpy(file);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(again->spec(), spec);
      EXPECT_TRUE(std::equal(again->bytes().begin(), again->bytes().end(), tensor.bytes().begin()));
    }
  }
}

// The exact bytes that numpy.save writes for np.array([1, 2], np.uint8).
TEST(NpyTest, WritesTheBytesThatNumpyWrites) {
  const Tensor tensor = *Tensor::FromBytes({DataType::kUint8, {2}, {}}, "\1\2");
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
  header.resize(117, ' ');
  EXPECT_EQ(FormatNpy(tensor), File(1, header + "\n", "\1\2"));
}

TEST(NpyTest, RefusesWithAMessageThatTellsWhatAndTheCure) {
  const std::pair<std::string, absl::string_view> cases[] = {
      {"", "not a .npy file"},
      {"hello, world", "not a .npy file"},
      {"\x93NUMPY\1", "ends within its preamble"},
      {std::string("\x93NUMPY\4\0\0\0", 10), "format version 4.0 is unknown"},
      {std::string("\x93NUMPY\1\0\xff\xff{", 11), "should have 65535 bytes, but only 1 follow"},
      {std::string("\x93NUMPY\2\0\xff\xff\xff\xff{", 13), "4294967295 bytes, but only 1 follow"},
      {File(1, Header("<f4", "(2,)"), "1234567"), "takes 8 bytes, but 7 follow"},
      {File(1, Header("<f4", "(2,)"), "123456789"), "takes 8 bytes, but 9 follow"},
      {File(1, Header("<f8", "(4294967295, 4294967295, 4294967295)"), ""), "exceeds 64 bits"},
      {File(1, Header("<f4", "(1000000000,)"), ""), "takes 4000000000 bytes, but 0 follow"},
      {File(1, Header("<f4", "(4294967296,)"), ""), "the largest allowed is 4294967295"},
      {File(1, Header("<f4", "(0, 3)"), ""), "size of 0"},
      {File(1, Header("<f4", "(-1,)"), ""), "instead of a size"},
      {File(1, Header("<f4", "(1 2)"), ""), "instead of ',' or ')'"},
      {File(1, Header("<f4", "7"), ""), "instead of '('"},
      {File(1, Header("<c8", "(1,)"), "12345678"), "'<c8', which is no tensor type"},
      {File(1, Header("|S5", "(1,)"), "12345"), "convert with astype()"},
      {File(1, Header("|O", "(1,)"), "12345"), "convert with astype()"},
      {File(1, "{'descr': [('a', '<f4')], 'shape': (1,)}", "1234"), "structured arrays"},
      {File(1, Header("<f4", "(1,)", "Maybe"), "1234"), "True or False"},
      {File(1, "{'shape': (1,), 'fortran_order': False}", "1"), "has no 'descr'"},
      {File(1, "{'descr': '|u1', 'fortran_order': False}", "1"), "has no 'shape'"},
      {File(1, "{'descr': '|u1', 'shape': (1,)}", "1"), "has no 'fortran_order'"},
      {File(1, "{'extra': 1}", ""), "unknown key 'extra'"},
      {File(1, "{'descr", ""), "a key in quotes"},
      {File(1, "{", ""), "a key in quotes"},
      {File(1, "", ""), "instead of '{'"},
      {File(1, Header("|u1", "(1,)") + "x", "1"), "the end of the header"},
  };
  for (const auto& [file, words] : cases) {
    const absl::Status status = ParseNpy(file).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(status.message(), HasSubstr(std::string(words)));
  }
}

TEST(NpyTest, RefusesMoreDimensionsThanNumpyHas) {
  std::string shape;
  for (int i = 0; i < 33; ++i) absl::StrAppend(&shape, "1, ");
  EXPECT_THAT(ParseNpy(File(1, Header("|u1", "(" + shape + ")"), "1")).status().message(),
              HasSubstr("more than 32 dimensions"));
}

TEST(NpyTest, EveryTruncationIsRefused) {
  const std::string file = FormatNpy(*Tensor::FromBytes({DataType::kUint16, {3}, {}}, "abcdef"));
  for (size_t length = 0; length < file.size(); ++length) {
    EXPECT_EQ(ParseNpy(file.substr(0, length)).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(NpyFileTest, ErrorsNameTheFile) {
  const absl::Status missing = ReadNpy("/nowhere/x.npy").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), StartsWith("cannot open /nowhere/x.npy: "));
  EXPECT_FALSE(ReadNpy("/").ok());
  EXPECT_THAT(std::string(WriteFile("/nowhere/x", "").message()),
              StartsWith("cannot create /nowhere/x: "));

  const std::string path =
      ::testing::TempDir() + "opserve_npy_test_bad-" + std::to_string(getpid());
  ASSERT_TRUE(WriteFile(path, "not numpy").ok());
  EXPECT_THAT(std::string(ReadNpy(path).status().message()),
              StartsWith(path + ": not a .npy file"));
  std::remove(path.c_str());
}

TEST(NpyFileTest, ReadsWhatItWrote) {
  const std::string path =
      ::testing::TempDir() + "opserve_npy_test_good-" + std::to_string(getpid());
  const Tensor tensor = *Tensor::FromBytes({DataType::kUint8, {2, 2}, {}}, "abcd");
  ASSERT_TRUE(WriteNpy(path, tensor).ok());
  const auto again = ReadNpy(path);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(*again->Elements<uint8_t>(), ElementsAre('a', 'b', 'c', 'd'));
  std::remove(path.c_str());
}

// Leaves less memory than the file has bytes.
[[noreturn]] void ReadWithoutMemory(const std::string& path) {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const uint64_t bytes = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const rlimit limit = {bytes + (uint64_t{16} << 20), RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::exit(2);
  const absl::Status read = ReadNpy(path).status();
  const bool is_told =
      absl::IsResourceExhausted(read) && read.message() == absl::StrCat("no memory for ", path);
  std::exit(is_told ? 0 : 1);
}

TEST(NpyDeathTest, TellsWhereThereIsNoMemoryForAFile) {
  const std::string path =
      ::testing::TempDir() + "opserve_npy_test_large-" + std::to_string(getpid());
  ASSERT_TRUE(WriteFile(path, "").ok());
  std::filesystem::resize_file(path, uint64_t{1} << 30);
  EXPECT_EXIT(ReadWithoutMemory(path), ::testing::ExitedWithCode(0), "");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace opserve
