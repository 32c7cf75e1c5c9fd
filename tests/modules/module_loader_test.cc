#include "server/d3d12/module/module_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace opserve::d3d12 {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Why `runtime` is absent; fails the test where it is not.
absl::Status ReasonOf(const D3D12Modules& loaded, const std::string& runtime) {
  for (const AbsentRuntime& absent : loaded.absent) {
    if (absent.name == runtime) return absent.reason;
  }
  ADD_FAILURE() << runtime << " is not absent";
  return absl::OkStatus();
}

TEST(ModuleDirectoriesTest, BesideTheProgram) {
  unsetenv("OPSERVE_MODULE_DIR");
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_THAT(ModuleDirectories(),
              ElementsAre((program.parent_path() / "../lib/opserve").lexically_normal().string()));
}

TEST(ModuleDirectoriesTest, TheEnvironmentOverrides) {
  setenv("OPSERVE_MODULE_DIR", "/some/where", 1);
  EXPECT_THAT(ModuleDirectories(), ElementsAre("/some/where"));
  setenv("OPSERVE_MODULE_DIR", "", 1);
  EXPECT_EQ(ModuleDirectories().at(0).find("/some/where"), std::string::npos);
  unsetenv("OPSERVE_MODULE_DIR");
}

TEST(ModuleLoaderTest, MissingModuleIsNamed) {
  const D3D12Modules loaded = LoadD3D12Modules({"/no/such/folder", "/nor/this"});
  EXPECT_TRUE(loaded.modules.empty());
  for (const std::string runtime : {"vkd3d", "wsl"}) {
    const absl::Status reason = ReasonOf(loaded, runtime);
    EXPECT_EQ(reason.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(reason.message()),
                AllOf(HasSubstr("opserve-d3d12-" + runtime + ".so"), HasSubstr("/no/such/folder"),
                      HasSubstr("/nor/this")));
  }
}

TEST(ModuleLoaderTest, NoDirectoriesNoModules) {
  EXPECT_EQ(LoadD3D12Modules({}).absent.size(), 2u);
}

TEST(ModuleLoaderTest, ModuleOfAnotherBuildIsRefused) {
  const absl::Status reason = ReasonOf(LoadD3D12Modules({OPSERVE_FOREIGN_MODULE}), "vkd3d");
  EXPECT_EQ(reason.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(reason.message()), HasSubstr("opserve of another day"));
}

// A run time that opserve does not have.
TEST(ModuleLoaderTest, ModulesOfOthersAreLoadedToo) {
  const D3D12Modules loaded = LoadD3D12Modules({OPSERVE_OTHER_MODULE});
  EXPECT_EQ(loaded.absent.size(), 2u);
  ASSERT_EQ(loaded.modules.size(), 1u);
  EXPECT_EQ(loaded.modules[0]->name(), "other");
}

class ModuleFolderTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = ::testing::TempDir() + "/opserve-modules-XXXXXX";
};

TEST_F(ModuleFolderTest, FileThatIsNoModuleIsRefused) {
  std::ofstream(folder_ + "/opserve-d3d12-wsl.so") << "no library\n";
  const absl::Status reason = ReasonOf(LoadD3D12Modules({folder_}), "wsl");
  EXPECT_EQ(reason.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(reason.message()), HasSubstr(folder_ + "/opserve-d3d12-wsl.so"));
}

// What a Linux machine says that is not WSL: the module itself loads. Alone, because GPU drivers
// leak, and sanitizers tell.
TEST_F(ModuleFolderTest, WslIsAbsentOnLinux) {
  if (access("/dev/dxg", F_OK) == 0) GTEST_SKIP() << "this is WSL";
  const std::string module = "/opserve-d3d12-wsl.so";
  std::filesystem::create_symlink(ModuleDirectories().at(0) + module, folder_ + module);
  const absl::Status reason = ReasonOf(LoadD3D12Modules({"/no/such/folder", folder_}), "wsl");
  EXPECT_EQ(reason.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(reason.message()),
              ::testing::AnyOf(HasSubstr("libdxcore.so"), HasSubstr("/dev/dxg")));
}

}  // namespace
}  // namespace opserve::d3d12
