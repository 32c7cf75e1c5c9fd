#include "server/rpc/library_log.h"

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"
#include "gtest/gtest.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The hooks are those of the process, so one test has them all.
TEST(LibraryLogTest, ManyMessagesMakeFewLines) {
  static SimulatedClock clock;
  static Logger logger(LogFormat::kJson, LogLevel::kDebug);
  RouteLibraryLogs(logger, clock);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 1000; ++i) {
    gpr_log(GPR_ERROR, "header %d \xe2\x80\xae", i);
    GOOGLE_LOG(ERROR) << "message " << i;
  }
  clock.Advance(std::chrono::seconds(1));
  gpr_log(GPR_ERROR, "last header");
  GOOGLE_LOG(ERROR) << "last message";
  const std::string output = ::testing::internal::GetCapturedStderr();
  const std::vector<std::string> lines = absl::StrSplit(output, '\n', absl::SkipEmpty());
  EXPECT_THAT(lines,
              ElementsAre(AllOf(HasSubstr("header 0 \\u202e"), HasSubstr("\"not_logged\":0")),
                          AllOf(HasSubstr("message 0"), HasSubstr("\"not_logged\":0")),
                          AllOf(HasSubstr("last header"), HasSubstr("\"not_logged\":999")),
                          AllOf(HasSubstr("last message"), HasSubstr("\"not_logged\":999"))));
}

}  // namespace
}  // namespace opserve::testing
