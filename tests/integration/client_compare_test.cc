// Results of other devices against those of a server: Client::Compare, and the verb compare where
// the server's GPUs are scripted.

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "client/api/npy.h"
#include "client/cli/arguments/exit_code.h"
#include "gmock/gmock.h"
#include "tests/integration/scripted_gpu_fixture.h"

namespace opserve::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class ClientCompareTest : public ScriptedGpuFixture {
 protected:
  const Floats values_ = {-1.5f, 0.5f, 1.5f, 2.5f, 1e30f};
  const Floats rounded_ = {-2, 0, 2, 2, 1e30f};
};

TEST_F(ClientCompareTest, ComparesWithTheResultOfTheServer) {
  Start();
  const OperatorCall call = Round(ViewOf(values_));
  ExecutionInfo info;
  const auto same = client_->Compare(call, ViewOf(rounded_), {}, {}, &info);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_TRUE(same->within_tolerance());
  EXPECT_EQ(same->elements, 5u);
  EXPECT_EQ(same->different, 0u);
  EXPECT_THAT(info.device, HasSubstr("cpu/"));

  Floats wrong = rounded_;
  wrong[3] = std::nextafterf(3, 0);
  const auto other = client_->Compare(call, ViewOf(wrong), {.tolerance = {.ulp = 2}});
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_FALSE(other->within_tolerance());
  ASSERT_THAT(other->worst, SizeIs(1));
  EXPECT_THAT(other->worst[0].coordinates, ElementsAre(3));
  EXPECT_EQ(ToString(other->worst[0].expected), "2");
  EXPECT_EQ(ToString(other->worst[0].actual), "2.9999998");
  ASSERT_THAT(other->worst[0].inputs, SizeIs(1));
  EXPECT_EQ(ToString(*other->worst[0].inputs[0]), "2.5");
}

TEST_F(ClientCompareTest, LayoutsMayDiffer) {
  Start();
  const Floats wide = {-2, 9, 0, 9, 2, 9, 2, 9, 1e30f};
  OperatorCall call = Round(ViewOf(values_));
  call.output = TensorSpec{.strides = {3}};
  const auto comparison = client_->Compare(call, TensorView::Of<float>(wide, {5}, {2}));
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_EQ(comparison->different, 0u);
}

TEST_F(ClientCompareTest, TellsWhichSideIsAtFault) {
  Start();
  const auto of_call = client_->Compare({.operator_name = "NONE"}, ViewOf(rounded_));
  EXPECT_TRUE(absl::IsNotFound(of_call.status())) << of_call.status();
  const auto of_sizes = client_->Compare(Round(ViewOf(values_)), ViewOf({1, 2}));
  EXPECT_TRUE(absl::IsInvalidArgument(of_sizes.status())) << of_sizes.status();
  EXPECT_THAT(of_sizes.status().message(), HasSubstr("the actual tensor is FLOAT32 {2}"));
}

class CompareVerbTest : public ClientCompareTest {
 protected:
  CompareVerbTest() {
    for (const auto& [name, values] : {std::pair("x.npy", values_), {"right.npy", rounded_}}) {
      const std::string bytes(reinterpret_cast<const char*>(values.data()),
                              values.size() * sizeof(float));
      const auto tensor = Tensor::FromBytes(FloatsSpec(values.size()), bytes);
      EXPECT_TRUE(WriteNpy(PathOf(name), *tensor).ok());
    }
  }

  // The exit code of the verb, with these GPUs and files.
  int Compare(const std::vector<std::string>& devices,
              const std::vector<std::string>& actuals = {}) {
    cli::CompareArguments arguments{.actuals = actuals, .devices = devices};
    arguments.call.operator_name = "ELEMENT_WISE_ROUND";
    arguments.call.attributes = {{"RoundingMode", "HALVES_TO_NEAREST_EVEN"}};
    arguments.call.inputs = {PathOf("x.npy")};
    arguments.call.device = DevicePreference::kCpu;
    arguments.junit_file = PathOf("report.xml");
    return Do(arguments);
  }
  std::string Junit() const {
    std::ifstream file(PathOf("report.xml"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(CompareVerbTest, AGpuThatIsRightPasses) {
  StartWithGpu();
  EXPECT_EQ(Compare({"all"}), cli::kSuccess) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("device: cpu/"), ContainsRegex("null/0 .* PASS")));
  // It was the GPU that answered, alone.
  EXPECT_EQ(InfoOfGpu().counters.requests, 1u);
  EXPECT_EQ(Compare({"null/0"}, {PathOf("right.npy")}), cli::kSuccess);
  EXPECT_THAT(Junit(), AllOf(HasSubstr("right.npy against cpu/"), HasSubstr("null/0 against cpu/"),
                             HasSubstr("tests=\"2\" failures=\"0\"")));
}

TEST_F(CompareVerbTest, AGpuThatTheProgramHasAlreadyIsUsed) {
  StartWithGpu();
  const auto lease = client_->LeaseDevice({});
  const auto grant = lease->grant().Wait();
  ASSERT_TRUE(grant.ok()) << grant.status();
  setenv("OPSERVE_LEASE", grant->id.c_str(), 1);
  const int exit_code = Compare({"all"});
  unsetenv("OPSERVE_LEASE");
  EXPECT_EQ(exit_code, cli::kSuccess) << out_.str();
  EXPECT_THAT(out_.str(), ContainsRegex("null/0 .* PASS"));
}

TEST_F(CompareVerbTest, AGpuThatIsWrongFailsAndIsToldFromTheRest) {
  StartWithGpu();
  gpu_.script()->CorruptAll(true);
  EXPECT_EQ(Compare({"all"}, {PathOf("right.npy")}), cli::kDifferent);
  EXPECT_THAT(out_.str(), AllOf(ContainsRegex("right.npy .* PASS"),
                                ContainsRegex("null/0 +1 +1 +1.07e.09 +FAIL")));
  EXPECT_THAT(out_.str(), HasSubstr("{4}"));
  EXPECT_THAT(Junit(), HasSubstr("<failure type=\"beyond tolerance\""));
}

TEST_F(CompareVerbTest, AGpuWithoutTheKernelIsSkipped) {
  gpu_.PrepareScripts(
      [](NullScript& script) { script.Unsupport(OpId::ELEMENT_WISE_ROUND, DataType::kFloat32); });
  StartWithGpu();
  EXPECT_EQ(Compare({"all"}), cli::kTestFailed);
  EXPECT_THAT(out_.str(), AllOf(ContainsRegex("null/0 +- +- +- +SKIPPED"),
                                HasSubstr("it has no kernel for this call")));
  EXPECT_THAT(err_.str(), HasSubstr("nothing was compared: no GPU has a kernel for it"));
  EXPECT_THAT(Junit(), HasSubstr("<skipped message="));
  EXPECT_EQ(Compare({"all"}, {PathOf("right.npy")}), cli::kSuccess);
}

TEST_F(CompareVerbTest, AGpuThatFailsIsAnErrorAndNoPass) {
  StartWithGpu();
  gpu_.script()->FailRun(1, absl::InternalError("broken"));
  EXPECT_EQ(Compare({"all"}, {PathOf("right.npy")}), cli::kCallFailed);
  EXPECT_THAT(out_.str(),
              AllOf(ContainsRegex("null/0 +- +- +- +ERROR"), Not(HasSubstr("SKIPPED"))));
  EXPECT_THAT(Junit(), HasSubstr("<error type=\"no result\""));
}

TEST_F(CompareVerbTest, AGpuThatIsSetAsideIsAnError) {
  StartWithGpu();
  ASSERT_TRUE(client_->SetDeviceAside("null/0", "dust").ok());
  EXPECT_EQ(Compare({"null/0"}), cli::kCallFailed);
  EXPECT_THAT(out_.str(), HasSubstr("it is SET_ASIDE: dust"));
}

TEST_F(CompareVerbTest, ServersThatLeaseNothingAreAnError) {
  options_.device_leases.is_on = false;
  StartWithGpu();
  EXPECT_EQ(Compare({"all"}), cli::kCallFailed);
  EXPECT_THAT(out_.str(), HasSubstr("no lease: "));
}

TEST_F(CompareVerbTest, UnknownDevicesAreToldWithThoseThatThereAre) {
  StartWithGpu();
  EXPECT_EQ(Compare({"null/9"}), cli::kCallFailed);
  EXPECT_THAT(err_.str(), HasSubstr("the server has no GPU 'null/9'; it has: null/0"));
}

}  // namespace
}  // namespace opserve::testing
