#include "tests/bench/wire/tuning.h"

#include <malloc.h>

#include <climits>
#include <vector>

#include "proto/transport/loopback_tuning.h"

namespace opserve::wire_bench {
namespace {

class LoopbackOption : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments* arguments) override {
    TuneServerLoopback(*arguments);
  }
  void UpdatePlugins(
      std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* /*plugins*/) override {}
};

}  // namespace

void KeepPages() {
  constexpr int kTopPad = 64 << 20;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, kTopPad);
}

std::unique_ptr<grpc::ServerBuilderOption> LoopbackListeners() {
  return std::make_unique<LoopbackOption>();
}

}  // namespace opserve::wire_bench
