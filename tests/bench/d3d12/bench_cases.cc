#include "tests/bench/d3d12/bench_cases.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace opserve::bench {

std::span<const BenchCase> AllBenchCases() {
  static constexpr BenchCase kCases[] = {
      {OpId::ELEMENT_WISE_ROUND, DataType::kFloat32},
      {OpId::ELEMENT_WISE_ROUND, DataType::kFloat16},
      {OpId::ELEMENT_WISE_IF, DataType::kFloat32},
      {OpId::ELEMENT_WISE_MODULUS_TRUNCATE, DataType::kFloat32},
      {OpId::ELEMENT_WISE_IS_INFINITY, DataType::kFloat32},
  };
  return kCases;
}

std::string NameOf(const BenchCase& each) {
  return absl::StrCat(absl::StripPrefix(TraitsOf(each.op).name, "ELEMENT_WISE_"), " ",
                      opserve::NameOf(each.type));
}

std::shared_ptr<const Invocation> CallOfBytes(const BenchCase& each, uint64_t bytes) {
  return MakePackedCall(each.op, each.type, 0, static_cast<uint32_t>(bytes / SizeOf(each.type)));
}

DeviceCall CallWith(const Invocation& invocation, CallBuffers& buffers) {
  DeviceCall call = {&invocation, {}, buffers.output.data()};
  std::copy(buffers.input_pointers.begin(), buffers.input_pointers.end(), call.inputs.begin());
  return call;
}

SmallCalls::SmallCalls(const BenchCase& each, size_t count)
    : invocation_(CallOfBytes(each, kBytes)), buffers_(*invocation_, Values::kUsual) {
  for (size_t i = 0; i < count; ++i) {
    calls_.push_back(CallWith(*invocation_, buffers_));
    calls_.back().output = outputs_.emplace_back(invocation_->output_bytes).data();
  }
}

Row RateRow(std::string name, uint64_t size, uint64_t bytes, double seconds, double ceiling_seconds,
            std::string against) {
  const double gigabytes = static_cast<double>(bytes) * 1e-9;
  return {.name = std::move(name),
          .bytes = size,
          .unit = "GB/s",
          .value = gigabytes / seconds,
          .ceiling = gigabytes / ceiling_seconds,
          .against = std::move(against)};
}

}  // namespace opserve::bench
