#include "tests/bench/wire/tuning.h"

#include <malloc.h>

#include <climits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "proto/transport/loopback_tuning.h"

namespace opserve::wire_bench {
namespace {

std::pair<std::string, int> ParseArgument(const std::string& text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  int value = 0;
  if (parts.first.empty() || !absl::SimpleAtoi(parts.second, &value)) {
    throw CLI::ValidationError("--channel-arg", "\"" + text + "\" is not name=number");
  }
  return {parts.first, value};
}

void SetArguments(const Tuning& tuning, grpc::ChannelArguments& arguments) {
  for (const auto& [name, value] : tuning.arguments) arguments.SetInt(name, value);
}

class TuningOption : public grpc::ServerBuilderOption {
 public:
  explicit TuningOption(Tuning tuning) : tuning_(std::move(tuning)) {}

  void UpdateArguments(grpc::ChannelArguments* arguments) override {
    if (tuning_.has_cubic) TuneServerLoopback(*arguments);
    SetArguments(tuning_, *arguments);
  }
  void UpdatePlugins(
      std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* /*plugins*/) override {}

 private:
  const Tuning tuning_;
};

}  // namespace

void AddOptions(CLI::App& app, Tuning& tuning) {
  app.add_flag("--cubic", tuning.has_cubic, "CUBIC on connections within this machine");
  app.add_flag("--keep-pages", tuning.keeps_pages, "Keep the heap's pages");
  app.add_option_function<std::vector<std::string>>(
         "--channel-arg",
         [&tuning](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) tuning.arguments.push_back(ParseArgument(text));
         },
         "One of gRPC's channel arguments, name=number; may be repeated")
      ->allow_extra_args(false);
}

void TuneProcess(const Tuning& tuning) {
  if (!tuning.keeps_pages) return;
  constexpr int kTopPad = 64 << 20;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, kTopPad);
}

void TuneClient(const Tuning& tuning, const std::string& target,
                grpc::ChannelArguments& arguments) {
  if (tuning.has_cubic) TuneClientLoopback(target, arguments);
  SetArguments(tuning, arguments);
}

std::unique_ptr<grpc::ServerBuilderOption> ServerTuning(const Tuning& tuning) {
  return std::make_unique<TuningOption>(tuning);
}

}  // namespace opserve::wire_bench
