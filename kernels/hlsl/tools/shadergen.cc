// Builds the archive of compiled GPU kernels; kernels/hlsl/tools/build-shaders.sh calls it.
//
//   shadergen render SOURCES DIR            write DIR/HASH.hlsl for every distinct kernel text
//   shadergen pack SOURCES DIR OUT COMPILER collect DIR/HASH.cso into OUT/kernels.bin and
//                                           OUT/index.inc; COMPILER is its name and version
//
// SOURCES is the folder of the *.hlsli files.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
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

void Render(const std::string& sources, const std::string& folder) {
  const Bodies bodies = BodiesIn(sources);
  for (const KernelKey& key : AllKernelKeys()) {
    const std::string text = RenderKernel(key, bodies);
    WriteFile(absl::StrCat(folder, "/", HashText(text), ".hlsl"), text);
  }
}

// "FLOAT32" becomes "kFloat32".
std::string EnumeratorOf(DataType type) {
  const std::string name = absl::AsciiStrToLower(NameOf(type));
  return absl::StrCat("k", absl::AsciiStrToUpper(name.substr(0, 1)), name.substr(1));
}

void Pack(const std::string& sources, const std::string& folder, const std::string& out,
          const std::string& compiler) {
  const Bodies bodies = BodiesIn(sources);
  std::string archive;
  // Offset and size of each distinct blob.
  std::map<std::string, std::pair<size_t, size_t>> places;
  std::string index = absl::StrCat(
      "// Made by kernels/hlsl/tools/build-shaders.sh; do not edit.\n"
      "// clang-format off\nOPSERVE_BLOB_COMPILER(\"",
      compiler, "\")\n");
  for (const KernelKey& key : AllKernelKeys()) {
    const std::string hash = HashText(RenderKernel(key, bodies));
    const std::string blob = ReadFile(absl::StrCat(folder, "/", hash, ".cso"));
    const auto [place, is_new] = places.try_emplace(blob, archive.size(), blob.size());
    if (is_new) archive += blob;
    absl::StrAppend(&index, "OPSERVE_BLOB(", TraitsOf(key.op).name, ", ", EnumeratorOf(key.lane),
                    ", ", EnumeratorOf(key.output), ", ", key.mode, ", ",
                    key.layout == LayoutClass::kPacked ? "kPacked" : "kStrided", ", ", hash, ", ",
                    place->second.first, ", ", place->second.second, ")\n");
  }
  WriteFile(out + "/kernels.bin", archive);
  WriteFile(out + "/index.inc", index + "// clang-format on\n");
}

}  // namespace
}  // namespace opserve::hlsl

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "render" && argc == 4) {
    opserve::hlsl::Render(argv[2], argv[3]);
  } else if (verb == "pack" && argc == 6) {
    opserve::hlsl::Pack(argv[2], argv[3], argv[4], argv[5]);
  } else {
    std::cerr << "usage: shadergen render SOURCES DIR | pack SOURCES DIR OUT COMPILER\n";
    return 2;
  }
  return 0;
}
