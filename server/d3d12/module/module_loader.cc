#include "server/d3d12/module/module_loader.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "server/d3d12/runtime/shared_library.h"

namespace opserve::d3d12 {
namespace {

namespace fs = std::filesystem;

// Those of opserve, in the order in which their adapters are listed.
constexpr const char* kRuntimes[] = {"vkd3d", "wsl"};

constexpr absl::string_view kPrefix = "opserve-d3d12-";
constexpr absl::string_view kSuffix = ".so";

// All that there may be: opserve's own, and what else the directories have.
std::vector<std::string> Runtimes(const std::vector<std::string>& directories) {
  std::vector<std::string> runtimes(std::begin(kRuntimes), std::end(kRuntimes));
  std::set<std::string> others;
  for (const std::string& directory : directories) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
      const std::string file = entry.path().filename().string();
      absl::string_view name = file;
      if (absl::ConsumePrefix(&name, kPrefix) && absl::ConsumeSuffix(&name, kSuffix) &&
          std::find(runtimes.begin(), runtimes.end(), name) == runtimes.end()) {
        others.emplace(name);
      }
    }
  }
  runtimes.insert(runtimes.end(), others.begin(), others.end());
  return runtimes;
}

// The module's path in the first directory that has it; empty if none does.
std::string FindModule(const std::string& file, const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    std::error_code error;
    const fs::path path = fs::path(directory) / file;
    if (fs::exists(path, error)) return path.string();
  }
  return "";
}

absl::StatusOr<std::unique_ptr<const D3D12Module>> LoadOne(
    const std::string& runtime, const std::vector<std::string>& directories) {
  const std::string file = absl::StrCat(kPrefix, runtime, kSuffix);
  const std::string path = FindModule(file, directories);
  if (path.empty()) {
    return absl::NotFoundError(
        absl::StrCat("There is no ", file, " in ", absl::StrJoin(directories, ", "), "."));
  }
  const absl::StatusOr<SharedLibrary> library = SharedLibrary::Load(path);
  if (!library.ok()) return library.status();
  ModuleFunction* function = nullptr;
  if (absl::Status found = library->Find(kModuleSymbol, function); !found.ok()) return found;
  const ModuleEntry& entry = *function();
  if (absl::string_view(entry.abi) != kModuleAbi) {
    return absl::FailedPreconditionError(absl::StrCat(path, " belongs to another build: \"",
                                                      entry.abi, "\", not \"", kModuleAbi, "\"."));
  }
  return entry.load();
}

}  // namespace

std::vector<std::string> ModuleDirectories() {
  // Nothing in the process changes the environment.
  const char* const given = std::getenv("OPSERVE_MODULE_DIR");  // NOLINT(concurrency-mt-unsafe)
  if (given != nullptr && *given != '\0') return {given};
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  return {(program.parent_path().parent_path() / "lib" / "opserve").string()};
}

D3D12Modules LoadD3D12Modules(const std::vector<std::string>& directories) {
  D3D12Modules loaded;
  for (const std::string& runtime : Runtimes(directories)) {
    absl::StatusOr<std::unique_ptr<const D3D12Module>> module = LoadOne(runtime, directories);
    if (module.ok()) {
      loaded.modules.push_back(*std::move(module));
    } else {
      loaded.absent.push_back({runtime, module.status()});
    }
  }
  return loaded;
}

}  // namespace opserve::d3d12
