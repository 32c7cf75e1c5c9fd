#include "kernels/hlsl/blobs.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

// The archive becomes read-only data of the program, between two symbols.
#ifdef _WIN32
#define OPSERVE_BEGIN_READ_ONLY_DATA ".section .rdata,\"dr\"\n"
#define OPSERVE_END_READ_ONLY_DATA ".text\n"
#else
#define OPSERVE_BEGIN_READ_ONLY_DATA ".pushsection .rodata\n"
#define OPSERVE_END_READ_ONLY_DATA ".popsection\n"
#endif
asm(OPSERVE_BEGIN_READ_ONLY_DATA
    ".balign 16\n"
    "opserve_kernel_archive:\n"
    ".incbin \"" OPSERVE_KERNEL_ARCHIVE
    "\"\n"
    "opserve_kernel_archive_end:\n" OPSERVE_END_READ_ONLY_DATA);
extern "C" const std::byte opserve_kernel_archive[];
extern "C" const std::byte opserve_kernel_archive_end[];

namespace opserve::hlsl {
namespace {

using enum DataType;
using enum LayoutClass;

struct Entry {
  KernelKey key;
  uint64_t source_hash;
  size_t offset;
  size_t packed_bytes;
  size_t code_bytes;
};

constexpr Entry kEntries[] = {
#define OPSERVE_BLOB_COMPILER(VERSION)
#define OPSERVE_BLOB(OP, LANE, OUTPUT, MODE, LAYOUT, HASH, OFFSET, PACKED, CODE) \
  {{OpId::OP, LANE, OUTPUT, MODE, LAYOUT}, HASH, OFFSET, PACKED, CODE},
#include "kernels/hlsl/blobs/index.inc"
#undef OPSERVE_BLOB
#undef OPSERVE_BLOB_COMPILER
};

constexpr absl::string_view kCompiler =
#define OPSERVE_BLOB_COMPILER(VERSION) VERSION;
#define OPSERVE_BLOB(...)
#include "kernels/hlsl/blobs/index.inc"
#undef OPSERVE_BLOB
#undef OPSERVE_BLOB_COMPILER

    std::vector<Blob> ReadArchive() {
  const std::span archive(opserve_kernel_archive, opserve_kernel_archive_end);
  std::vector<Blob> blobs;
  for (const Entry& entry : kEntries) {
    blobs.push_back({entry.key, entry.source_hash,
                     archive.subspan(entry.offset, entry.packed_bytes), entry.code_bytes});
  }
  return blobs;
}

}  // namespace

std::span<const Blob> AllBlobs() {
  static const std::vector<Blob>& blobs = *new std::vector<Blob>(ReadArchive());
  return blobs;
}

const Blob* FindBlob(const KernelKey& key) {
  const std::span<const Blob> blobs = AllBlobs();
  const auto found = std::find_if(blobs.begin(), blobs.end(),
                                  [&key](const Blob& blob) { return blob.key == key; });
  return found == blobs.end() ? nullptr : &*found;
}

std::vector<std::byte> CodeOf(const Blob& blob) {
  std::vector<std::byte> code(blob.code_bytes);
  uLongf bytes = code.size();
  const int status = uncompress(reinterpret_cast<Bytef*>(code.data()), &bytes,
                                reinterpret_cast<const Bytef*>(blob.packed.data()),
                                static_cast<uLong>(blob.packed.size()));
  if (status != Z_OK || bytes != code.size()) return {};
  return code;
}

absl::string_view BlobCompiler() { return kCompiler; }

}  // namespace opserve::hlsl
