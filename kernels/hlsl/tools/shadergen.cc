// Builds the archive of compiled GPU kernels; kernels/hlsl/tools/build-shaders.sh calls it.
//
//   shadergen render SOURCES DIR COMPILER   write DIR/HASH.hlsl for every distinct kernel text that
//                                           COMPILER has not compiled yet
//   shadergen pack SOURCES DIR OUT COMPILER collect DIR/HASH.cso, and what was compiled before,
//   into
//                                           OUT/kernels.bin and OUT/index.inc
//
// SOURCES is the folder of the *.hlsli files, COMPILER a name and version. What was compiled before
// is what the program has that this one was built from.

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "kernels/hlsl/blobs.h"
#include "kernels/hlsl/render.h"
#include "kernels/hlsl/source_hash.h"

namespace opserve::hlsl {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::cerr << "shadergen: cannot read " << path << "\n";
    std::exit(1);
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) {
    std::cerr << "shadergen: cannot write " << path << "\n";
    std::exit(1);
  }
}

std::string HashText(const std::string& source) {
  return absl::StrCat("0x", absl::Hex(SourceHash(source), absl::kZeroPad16));
}

Bodies BodiesIn(const std::string& sources) {
  Bodies bodies = ReadBodies(sources);
  if (bodies.empty()) {
    std::cerr << "shadergen: cannot read the bodies in " << sources << "\n";
    std::exit(1);
  }
  return bodies;
}

// The kernels that `compiler` has compiled before, by the hashes of their texts.
std::map<uint64_t, std::string> CompiledBy(const std::string& compiler) {
  std::map<uint64_t, std::string> codes;
  if (BlobCompiler() != compiler) return codes;
  for (const Blob& blob : AllBlobs()) {
    const std::vector<std::byte> code = CodeOf(blob);
    codes[blob.source_hash] = {reinterpret_cast<const char*>(code.data()), code.size()};
  }
  return codes;
}

void Render(const std::string& sources, const std::string& folder, const std::string& compiler) {
  const Bodies bodies = BodiesIn(sources);
  const auto compiled = CompiledBy(compiler);
  for (const KernelKey& key : AllKernelKeys()) {
    const std::string text = RenderKernel(key, bodies);
    if (compiled.contains(SourceHash(text))) continue;
    WriteFile(absl::StrCat(folder, "/", HashText(text), ".hlsl"), text);
  }
}

// "FLOAT32" becomes "kFloat32".
std::string EnumeratorOf(DataType type) {
  const std::string name = absl::AsciiStrToLower(NameOf(type));
  return absl::StrCat("k", absl::AsciiStrToUpper(name.substr(0, 1)), name.substr(1));
}

std::string Compressed(const std::string& code) {
  uLongf bytes = compressBound(static_cast<uLong>(code.size()));
  std::string packed(bytes, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(packed.data()), &bytes,
                               reinterpret_cast<const Bytef*>(code.data()),
                               static_cast<uLong>(code.size()), Z_BEST_COMPRESSION);
  if (status != Z_OK) {
    std::cerr << "shadergen: cannot compress a kernel\n";
    std::exit(1);
  }
  packed.resize(bytes);
  return packed;
}

void Pack(const std::string& sources, const std::string& folder, const std::string& out,
          const std::string& compiler) {
  const Bodies bodies = BodiesIn(sources);
  const auto compiled = CompiledBy(compiler);
  std::string archive;
  // Offset and packed size of each distinct blob.
  std::map<std::string, std::pair<size_t, size_t>> places;
  std::string index = absl::StrCat(
      "// Made by kernels/hlsl/tools/build-shaders.sh; do not edit.\n"
      "// clang-format off\nOPSERVE_BLOB_COMPILER(\"",
      compiler, "\")\n");
  for (const KernelKey& key : AllKernelKeys()) {
    const std::string text = RenderKernel(key, bodies);
    const std::string hash = HashText(text);
    const auto before = compiled.find(SourceHash(text));
    const std::string blob = before != compiled.end()
                                 ? before->second
                                 : ReadFile(absl::StrCat(folder, "/", hash, ".cso"));
    const auto [place, is_new] = places.try_emplace(blob, archive.size(), 0);
    if (is_new) {
      const std::string packed = Compressed(blob);
      place->second.second = packed.size();
      archive += packed;
    }
    absl::StrAppend(&index, "OPSERVE_BLOB(", TraitsOf(key.op).name, ", ", EnumeratorOf(key.lane),
                    ", ", EnumeratorOf(key.output), ", ", key.mode, ", ",
                    key.layout == LayoutClass::kPacked ? "kPacked" : "kStrided", ", ", hash, ", ",
                    place->second.first, ", ", place->second.second, ", ", blob.size(), ")\n");
  }
  WriteFile(out + "/kernels.bin", archive);
  WriteFile(out + "/index.inc", index + "// clang-format on\n");
}

}  // namespace
}  // namespace opserve::hlsl

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "render" && argc == 5) {
    opserve::hlsl::Render(argv[2], argv[3], argv[4]);
  } else if (verb == "pack" && argc == 6) {
    opserve::hlsl::Pack(argv[2], argv[3], argv[4], argv[5]);
  } else {
    std::cerr << "usage: shadergen render SOURCES DIR COMPILER | pack SOURCES DIR OUT COMPILER\n";
    return 2;
  }
  return 0;
}
