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
  // Every name has memory of so many bytes.
  const auto find_memory = [](const std::string& name, uint64_t offset, uint64_t bytes,
                              const std::string& field, ViolationList& violations) {
    v1::RegionRange range;
    range.set_region(name);
    range.set_offset(offset);
    range.set_bytes(bytes);
    if (offset > 4096 || bytes > 4096 - offset) violations.Add(field, "not in it");
    return range;
  };
  const absl::Status status =
      TranslateInferRequest(infer, raw_count, find_memory, buffers, request, settings);
  if (!status.ok()) {
    if (!absl::IsInvalidArgument(status)) std::abort();
    return 0;
  }
  if (request.inputs_size() != infer.inputs_size()) std::abort();
  std::vector<uint64_t> in_message = settings.content_bytes;
  for (const auto& raw : infer.raw_input_contents()) in_message.push_back(raw.size());
  std::vector<uint64_t> payload_bytes;
  size_t taken = 0;
  for (int i = 0; i < request.inputs_size(); ++i) {
    if (i < request.input_places_size() && request.input_places(i).has_region()) {
      payload_bytes.push_back(request.input_places(i).region().bytes());
    } else if (taken < in_message.size()) {
      payload_bytes.push_back(in_message[taken++]);
    } else {
      std::abort();
    }
  }
  if (taken != in_message.size()) std::abort();
  if (request.input_places_size() != 0 && request.input_places_size() != request.inputs_size()) {
    std::abort();
  }
  for (size_t i = 0; i < settings.contents.size(); ++i) {
    if (settings.contents[i].size() < settings.content_bytes[i]) std::abort();
  }
  const ValidationResult result = Validate(HeaderOf(request, payload_bytes).call, kLimits);
  if ((result.invocation == nullptr) == result.violations.empty()) std::abort();
  return 0;
}
