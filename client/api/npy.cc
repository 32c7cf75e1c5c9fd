#include "client/api/npy.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace opserve {
namespace {

static_assert(std::endian::native == std::endian::little, "payloads are little endian");

constexpr absl::string_view kMagic("\x93NUMPY", 6);
// NumPy's own limit.
constexpr size_t kMaxDimensions = 32;
// NumPy pads headers so that the data starts at a multiple of this.
constexpr size_t kAlignment = 64;

struct Descr {
  absl::string_view name;  // without the byte order
  DataType type;
};
// The first name of a type is the one to write.
constexpr Descr kDescrs[] = {
    {"f4", DataType::kFloat32}, {"f2", DataType::kFloat16}, {"f8", DataType::kFloat64},
    {"u1", DataType::kUint8},   {"u2", DataType::kUint16},  {"u4", DataType::kUint32},
    {"u8", DataType::kUint64},  {"i1", DataType::kInt8},    {"i2", DataType::kInt16},
    {"i4", DataType::kInt32},   {"i8", DataType::kInt64},   {"b1", DataType::kUint8},
};

struct Header {
  std::optional<DataType> type;
  bool big_endian = false;
  std::optional<bool> fortran_order;
  std::optional<std::vector<uint32_t>> shape;
};

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, "; write the file with numpy.save() again"));
}

// Reads the header, a Python dictionary such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  explicit HeaderParser(absl::string_view text) : text_(text) {}

  absl::StatusOr<Header> Parse() {
    if (!Take("{")) return Unexpected("'{'");
    while (!Take("}")) {
      std::optional<absl::string_view> key = TakeString();
      if (!key) return Unexpected("a key in quotes");
      if (!Take(":")) return Unexpected("':'");
      const absl::Status value = ParseValue(*key);
      if (!value.ok()) return value;
      if (!Take(",") && !Peek("}")) return Unexpected("',' or '}'");
    }
    SkipSpace();
    if (!text_.empty()) return Unexpected("the end of the header");
    if (!header_.type) return Malformed("the header has no 'descr'");
    if (!header_.fortran_order) return Malformed("the header has no 'fortran_order'");
    if (!header_.shape) return Malformed("the header has no 'shape'");
    return header_;
  }

 private:
  absl::Status ParseValue(absl::string_view key) {
    if (key == "descr") return ParseDescr();
    if (key == "shape") return ParseShape();
    if (key != "fortran_order") {
      return Malformed(absl::StrCat("the header has the unknown key '", absl::CEscape(key), "'"));
    }
    if (Take("True")) {
      header_.fortran_order = true;
    } else if (Take("False")) {
      header_.fortran_order = false;
    } else {
      return Unexpected("True or False as 'fortran_order'");
    }
    return absl::OkStatus();
  }

  absl::Status ParseDescr() {
    const std::optional<absl::string_view> text = TakeString();
    if (!text) {
      return absl::InvalidArgumentError(
          "'descr' is not a plain type; structured arrays have no tensor: save one field of it");
    }
    absl::string_view name = *text;
    header_.big_endian = absl::ConsumePrefix(&name, ">");
    if (!header_.big_endian && !absl::ConsumePrefix(&name, "<") &&
        !absl::ConsumePrefix(&name, "=")) {
      absl::ConsumePrefix(&name, "|");
    }
    for (const Descr& descr : kDescrs) {
      if (descr.name == name) header_.type = descr.type;
    }
    if (header_.type) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "'descr' is '", absl::CEscape(*text),
        "', which is no tensor type; convert with astype() to one of float16, float32, float64, "
        "bool, or an integer of 8 to 64 bits"));
  }

  absl::Status ParseShape() {
    if (!Take("(")) return Unexpected("'(' before the sizes of 'shape'");
    std::vector<uint32_t>& shape = header_.shape.emplace();
    while (!Take(")")) {
      const absl::StatusOr<uint32_t> size = TakeSize();
      if (!size.ok()) return size.status();
      if (shape.size() == kMaxDimensions) {
        return Malformed(absl::StrCat("'shape' has more than ", kMaxDimensions, " dimensions"));
      }
      shape.push_back(*size);
      if (!Take(",") && !Peek(")")) return Unexpected("',' or ')' in 'shape'");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<uint32_t> TakeSize() {
    SkipSpace();
    const size_t length =
        std::find_if_not(text_.begin(), text_.end(), absl::ascii_isdigit) - text_.begin();
    if (length == 0) return Unexpected("a size in 'shape'");
    const absl::string_view digits = text_.substr(0, length);
    text_.remove_prefix(length);
    absl::ConsumePrefix(&text_, "L");  // Python 2 wrote long integers so
    uint32_t size;
    if (!absl::SimpleAtoi(digits, &size)) {
      return absl::InvalidArgumentError(absl::StrCat("'shape' has a size of ", digits.substr(0, 32),
                                                     "; the largest allowed is 4294967295"));
    }
    if (size == 0) {
      return absl::InvalidArgumentError(
          "'shape' has a size of 0; tensors have at least one element per dimension");
    }
    return size;
  }

  std::optional<absl::string_view> TakeString() {
    SkipSpace();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[0], 1);
    if (end == absl::string_view::npos) return std::nullopt;
    const absl::string_view content = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return content;
  }

  bool Take(absl::string_view token) {
    SkipSpace();
    return absl::ConsumePrefix(&text_, token);
  }

  bool Peek(absl::string_view token) {
    SkipSpace();
    return absl::StartsWith(text_, token);
  }

  void SkipSpace() { text_ = absl::StripLeadingAsciiWhitespace(text_); }

  absl::Status Unexpected(absl::string_view wanted) {
    return Malformed(absl::StrCat("the header has '", absl::CEscape(text_.substr(0, 16)),
                                  "' instead of ", wanted));
  }

  absl::string_view text_;
  Header header_;
};

// Splits `file` after the preamble. Returns the header's text and where the data starts.
absl::StatusOr<std::pair<absl::string_view, size_t>> FindHeader(absl::string_view file) {
  if (!absl::StartsWith(file, kMagic)) {
    return absl::InvalidArgumentError(
        "not a .npy file: it does not start with \\x93NUMPY; write it with numpy.save()");
  }
  if (file.size() < 10) return Malformed("the file ends within its preamble");
  const auto byte = [&](size_t i) { return size_t{static_cast<unsigned char>(file[i])}; };
  const size_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0) {
    return Malformed(absl::StrCat("format version ", version, ".", byte(7),
                                  " is unknown; known are 1.0, 2.0 and 3.0"));
  }
  const size_t preamble = version == 1 ? 10 : 12;
  if (file.size() < preamble) return Malformed("the file ends within its preamble");
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > file.size() - preamble) {
    return Malformed(absl::StrCat("the header should have ", length, " bytes, but only ",
                                  file.size() - preamble, " follow"));
  }
  return std::pair(file.substr(preamble, length), preamble + length);
}

std::vector<uint32_t> FortranStrides(const std::vector<uint32_t>& sizes) {
  std::vector<uint32_t> reversed(sizes.rbegin(), sizes.rend());
  std::vector<uint32_t> strides = PackedStrides(reversed);
  std::reverse(strides.begin(), strides.end());
  return strides;
}

void SwapBytes(std::string& data, size_t element_size) {
  for (auto at = data.begin(); at != data.end(); at += element_size) {
    std::reverse(at, at + element_size);
  }
}

absl::Status SystemError(absl::string_view action, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", action, " ", path));
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

}  // namespace

absl::StatusOr<Tensor> ParseNpy(std::string file) {
  const auto found = FindHeader(file);
  if (!found.ok()) return found.status();
  const auto& [text, data_start] = *found;
  absl::StatusOr<Header> header = HeaderParser(text).Parse();
  if (!header.ok()) return header.status();

  TensorSpec spec{*header->type, *std::move(header->shape), {}};
  if (spec.sizes.empty()) spec.sizes = {1};
  const absl::StatusOr<uint64_t> bytes = ByteSize(spec);
  if (!bytes.ok()) return bytes.status();
  if (*bytes != file.size() - data_start) {
    return Malformed(absl::StrCat("the header says ", ToString(spec), ", which takes ", *bytes,
                                  " bytes, but ", file.size() - data_start, " follow it"));
  }
  if (*header->fortran_order && spec.sizes.size() > 1) spec.strides = FortranStrides(spec.sizes);
  file.erase(0, data_start);
  if (header->big_endian) SwapBytes(file, SizeOf(spec.data_type));
  return Tensor::FromBytes(std::move(spec), std::move(file));
}

std::string FormatNpy(const Tensor& tensor) {
  const Tensor packed = tensor.Packed();
  const auto* descr = std::find_if(std::begin(kDescrs), std::end(kDescrs),
                                   [&](const Descr& d) { return d.type == packed.data_type(); });
  std::string header =
      absl::StrCat("{'descr': '", SizeOf(packed.data_type()) == 1 ? "|" : "<", descr->name,
                   "', 'fortran_order': False, 'shape': (", absl::StrJoin(packed.sizes(), ", "),
                   packed.sizes().size() == 1 ? ",), }" : "), }");
  const size_t used = kMagic.size() + 4 + header.size() + 1;
  header.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  header.push_back('\n');

  std::string file(kMagic);
  file.append(
      {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)});
  file.append(header);
  file.append(reinterpret_cast<const char*>(packed.bytes().data()), packed.bytes().size());
  return file;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  errno = 0;
  const File file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) return SystemError("open", path);
  return ReadToEnd(file.get(), path);
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
  errno = 0;
  File file(std::fopen(path.c_str(), "wb"), std::fclose);
  if (file == nullptr) return SystemError("create", path);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  // Buffered bytes can still fail to reach the disk when the file is closed.
  if (std::fclose(file.release()) != 0 || !written) return SystemError("write", path);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadToEnd(std::FILE* file, const std::string& name) {
  errno = 0;
  std::string content;
  char buffer[1 << 16];
  try {
    while (const size_t count = std::fread(buffer, 1, sizeof(buffer), file)) {
      content.append(buffer, count);
    }
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", name));
  }
  if (std::ferror(file) != 0) return SystemError("read", name);
  return content;
}

absl::StatusOr<Tensor> ReadNpy(const std::string& path) {
  absl::StatusOr<std::string> file = ReadFile(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<Tensor> tensor = ParseNpy(*std::move(file));
  if (tensor.ok()) return tensor;
  return absl::Status(tensor.status().code(), absl::StrCat(path, ": ", tensor.status().message()));
}

absl::Status WriteNpy(const std::string& path, const Tensor& tensor) {
  return WriteFile(path, FormatNpy(tensor));
}

}  // namespace opserve
