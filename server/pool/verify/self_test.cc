#include "server/pool/verify/self_test.h"

#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/attribute_settings.h"
#include "kernels/op_table.h"
#include "server/pool/verify/result_check.h"
#include "server/pool/verify/sample_call.h"

namespace opserve {
namespace {

// Sizes that fill no word, vector or group of threads, and large enough that every entry of the
// kernels' tables is read: a driver may change one of them.
constexpr uint32_t kPackedCount = 4099;
constexpr uint32_t kStridedCount = 1031;
// No single element: where scales have one, such a call is packed, and others are not.
constexpr uint32_t kBatchCounts[] = {2, 5, 67, 3, 258};

// Not zero, so that bytes that were never written show.
constexpr std::byte kUnwritten{0xA5};

std::string Describe(const SampleSpec& spec) {
  const bool has_number = spec.number != DataType::kUnknown;
  return absl::StrCat(TraitsOf(spec.op).name, " in ", NameOf(spec.lane), has_number ? " of " : "",
                      has_number ? NameOf(spec.number) : "", ", setting ", spec.setting, ", ",
                      NameOf(spec.layout));
}

class Test {
 public:
  explicit Test(ComputeDevice& device) : device_(device) {}

  SelfTestOutcome Run(std::span<const KernelLane> lanes) {
    for (const KernelLane& lane : lanes) {
      outcome_.status = TestLane(TraitsOf(lane.op), lane.type);
      if (outcome_.status.ok()) {
        outcome_.passed.push_back(lane);
      } else if (absl::IsUnimplemented(outcome_.status) && !device_.Supports(lane.op, lane.type)) {
        outcome_.status = absl::OkStatus();
        outcome_.refused.push_back(lane);
      } else {
        outcome_.failed = lane;
        break;
      }
    }
    return std::move(outcome_);
  }

 private:
  absl::Status TestLane(const OpTraits& op, DataType lane) {
    const DataTypeSet outputs = op.OutputTypes(lane);
    for (DataType output : kAllDataTypes) {
      if (!outputs.contains(output)) continue;
      // No GPU takes calls with a ScaleBias or a FusedActivation.
      for (int setting = 0; setting < PlainSettingCount(op); ++setting) {
        absl::Status status =
            TestNumberTypes({.op = op.id, .lane = lane, .output = output, .setting = setting});
        if (!status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  // Kernels read numbers as the call says: as each type that they may have.
  absl::Status TestNumberTypes(SampleSpec spec) {
    const DataTypeSet types = NumberTypesOf(TraitsOf(spec.op));
    if (types.empty()) return TestKernel(spec);
    for (const DataType type : kAllDataTypes) {
      if (!types.contains(type)) continue;
      spec.number = type;
      if (absl::Status status = TestKernel(spec); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status TestKernel(SampleSpec spec) {
    spec.count = kPackedCount;
    absl::Status status = TestCalls(spec, std::span(&kPackedCount, 1));
    for (SampleLayout layout : {SampleLayout::kPadded, SampleLayout::kTransposed}) {
      spec.layout = layout;
      if (status.ok()) status = TestCalls(spec, std::span(&kStridedCount, 1));
    }
    spec.layout = SampleLayout::kPacked;
    if (status.ok()) status = TestCalls(spec, kBatchCounts);
    return status;
  }

  // Runs calls of `counts` elements together. Where hard values leave some of them open, usual ones
  // must not; or, as functions of positive ones may be linear, with results that are the middle of
  // two elements, those below zero. Rows that have a NaN may be nothing else: they are computed
  // with usual values as well.
  absl::Status TestCalls(SampleSpec spec, std::span<const uint32_t> counts) {
    absl::Status status;
    for (const SampleValues values :
         {SampleValues::kHard, SampleValues::kUsual, SampleValues::kUsualNegative}) {
      spec.values = values;
      status = TestValues(spec, counts);
      const bool is_open = absl::IsOutOfRange(status);
      const bool tells_little = values == SampleValues::kHard && TraitsOf(spec.op).shape.is_row;
      if (!is_open && !(status.ok() && tells_little)) break;
    }
    return status;
  }

  absl::Status TestValues(SampleSpec spec, std::span<const uint32_t> counts) {
    std::vector<SampleCall> samples;
    std::vector<std::vector<std::byte>> outputs;
    for (uint32_t count : counts) {
      spec.count = count;
      absl::StatusOr<SampleCall> sample = SampleCall::Make(spec, random_);
      if (!sample.ok()) return sample.status();
      outputs.emplace_back(sample->invocation().output_bytes, kUnwritten);
      samples.push_back(*std::move(sample));
    }
    std::vector<DeviceCall> calls;
    for (size_t i = 0; i < samples.size(); ++i) {
      calls.push_back(samples[i].CallInto(outputs[i].data()));
    }
    const absl::Status ran = device_.Run(calls);
    if (!ran.ok()) return {ran.code(), absl::StrCat(Describe(spec), ": ", ran.message())};
    for (size_t i = 0; i < samples.size(); ++i) {
      ++outcome_.cases;
      const std::vector<std::byte> expected = samples[i].Expected();
      const std::optional<Difference> difference =
          FirstDifference(samples[i].invocation(), expected.data(), outputs[i].data());
      if (difference) {
        return absl::DataLossError(absl::StrCat(Describe(spec), ", call ", i + 1, " of ",
                                                samples.size(), ": ", difference->ToString()));
      }
    }
    return absl::OkStatus();
  }

  ComputeDevice& device_;
  // The same values in every test, so that a failure can be had again.
  std::mt19937_64 random_{20260801};
  SelfTestOutcome outcome_;
};

}  // namespace

SelfTestOutcome TestLanes(ComputeDevice& device, std::span<const KernelLane> lanes) {
  return Test(device).Run(lanes);
}

SelfTestOutcome TestDevice(ComputeDevice& device) { return TestLanes(device, LanesOf(device)); }

}  // namespace opserve
