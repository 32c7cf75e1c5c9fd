// The kernels behind a C interface, so that other languages can time them on their own buffers.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/cpu/cpu_executor.h"
#include "tests/bench/kernel_call.h"

namespace {

struct PreparedCall {
  std::shared_ptr<const opserve::Invocation> invocation;
  opserve::CpuExecutor executor;
};

}  // namespace

extern "C" {

// Prepares a packed call of `rows` rows of `columns` elements: operator by name, number of the lane
// type, mode, most threads. Returns nullptr if there is no such call. Free it with
// opserve_bench_close.
void* opserve_bench_open(const char* op_name, int type, int mode, uint32_t rows, uint32_t columns,
                         int threads) {
  const opserve::OpTraits* op = opserve::FindOperator(op_name);
  const std::optional<opserve::DataType> lane = opserve::DataTypeFromNumber(type);
  if (op == nullptr || !lane) return nullptr;
  auto invocation = opserve::bench::MakePackedCall(op->id, *lane, mode, {rows, columns});
  if (invocation == nullptr) return nullptr;
  return new PreparedCall{std::move(invocation), opserve::CpuExecutor(threads)};
}

// Runs a prepared call; one pointer per input of the operator.
void opserve_bench_run(const void* call, const void* const* inputs, void* output) {
  const auto* prepared = static_cast<const PreparedCall*>(call);
  const std::byte* pointers[opserve::kMaxInputs] = {};
  const int count = opserve::TraitsOf(prepared->invocation->op).input_count();
  for (int i = 0; i < count; ++i) pointers[i] = static_cast<const std::byte*>(inputs[i]);
  prepared->executor.Run(*prepared->invocation, {pointers, static_cast<size_t>(count)},
                         static_cast<std::byte*>(output));
}

void opserve_bench_close(void* call) { delete static_cast<PreparedCall*>(call); }

}  // extern "C"
