// Fuzzes the whole way of a request from the wire to the kernel: decode, validate, plan, run.

#include <cstdint>
#include <cstdlib>

#include "kernels/validate.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/wire/wire.h"
#include "tests/fuzz/run_and_compare.h"
#include "tests/testing/payload_views.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace opserve;
  constexpr ValidationLimits kLimits = {.max_elements = 1 << 16, .max_tensor_bytes = 1 << 20};
  v1::ExecuteRequest message;
  if (!message.ParseFromArray(bytes, static_cast<int>(size))) return 0;
  const RequestHeader header = HeaderOf(message, testing::PayloadBytesOf(message));
  const ValidationResult result = Validate(header.call, kLimits);
  if ((result.invocation == nullptr) == result.violations.empty()) std::abort();
  if (result.invocation == nullptr) return 0;

  // The pointers that the server would hand to the kernel must cover what the invocation promises.
  const auto inputs = InputsOf(testing::PayloadsOf(message), *result.invocation);
  uint64_t sum = 0;
  for (size_t i = 0; i < TraitsOf(result.invocation->op).inputs.size(); ++i) {
    for (uint64_t b = 0; b < result.invocation->input_bytes[i]; ++b) {
      sum += static_cast<uint8_t>(inputs[i].data()[b]);
    }
  }
  const uint8_t seed = static_cast<uint8_t>(sum);
  fuzz::RunAndCompare(*result.invocation, {&seed, 1});
  return 0;
}
