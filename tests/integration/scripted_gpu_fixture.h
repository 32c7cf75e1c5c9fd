// File: tests/integration/scripted_gpu_fixture.h
//
// A server whose GPU is scripted, a client of it, and the verbs of the command against it.

#ifndef OPSERVE_TESTS_INTEGRATION_SCRIPTED_GPU_FIXTURE_H_
#define OPSERVE_TESTS_INTEGRATION_SCRIPTED_GPU_FIXTURE_H_

#include <sstream>

#include "client/cli/commands.h"
#include "tests/integration/client_fixture.h"
#include "tests/integration/wait_until.h"
#include "tests/testing/null_device.h"

namespace opserve::testing {

class ScriptedGpuFixture : public ClientFixture {
 protected:
  // The server uses the GPU and its clock until it has stopped.
  void TearDown() override { server_.reset(); }

  // Returns when the GPU is ready; fails the test where it is not after a minute.
  void StartWithGpu(const Clock* clock = nullptr) {
    ServerEnvironment environment;
    environment.find_gpus = gpu_.finder();
    environment.clock = clock;
    Start(environment);
    ASSERT_TRUE(WaitUntil([this] { return InfoOfGpu().state == DeviceInfo::State::kReady; }));
  }
  DeviceInfo InfoOfGpu() {
    const auto info = client_->GetServerInfo();
    EXPECT_TRUE(info.ok()) << info.status();
    return info->devices.size() == 2 ? info->devices[1] : DeviceInfo();
  }

  // Runs a verb; its exit code.
  template <class Arguments>
  int Do(Arguments arguments) {
    arguments.server.address = options_.listen[0];
    out_.str("");
    err_.str("");
    return cli::RunCommand(arguments, cli::Terminal{.out = out_, .err = err_});
  }

  NullDeviceFactory gpu_{NullProfile("null/0", /*is_software=*/true)};
  std::ostringstream out_;
  std::ostringstream err_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_SCRIPTED_GPU_FIXTURE_H_
