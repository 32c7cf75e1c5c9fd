// Fuzzes requests of KServe's protocol on their way to requests of opserve's own, and from there
// through the validation.

#include <cstdint>
#include <cstdlib>

#include "inference/inference_service.pb.h"
#include "kernels/validate.h"
#include "server/kserve/infer_request.h"
#include "server/wire/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace opserve;
  constexpr ValidationLimits kLimits = {.max_elements = 1 << 16, .max_tensor_bytes = 1 << 20};
  inference::ModelInferRequest infer;
  if (!infer.ParseFromArray(bytes, static_cast<int>(size))) return 0;
  HostBufferPool buffers(0);
  v1::ExecuteRequest request;
  InferSettings settings;
  const auto raw_count = static_cast<size_t>(infer.raw_input_contents_size());
  const absl::Status status = TranslateInferRequest(infer, raw_count, buffers, request, settings);
  if (!status.ok()) {
    if (!absl::IsInvalidArgument(status)) std::abort();
    return 0;
  }
  if (request.inputs_size() != infer.inputs_size()) std::abort();
  std::vector<uint64_t> payload_bytes = settings.content_bytes;
  for (const auto& raw : infer.raw_input_contents()) payload_bytes.push_back(raw.size());
  if (payload_bytes.size() != static_cast<size_t>(request.inputs_size())) std::abort();
  for (size_t i = 0; i < settings.contents.size(); ++i) {
    if (settings.contents[i].size() < settings.content_bytes[i]) std::abort();
  }
  const ValidationResult result = Validate(HeaderOf(request, payload_bytes).call, kLimits);
  if ((result.invocation == nullptr) == result.violations.empty()) std::abort();
  return 0;
}
