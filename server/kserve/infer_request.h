// File: server/kserve/infer_request.h
//
// A request of KServe's protocol as one of opserve's own.

#ifndef OPSERVE_SERVER_KSERVE_INFER_REQUEST_H_
#define OPSERVE_SERVER_KSERVE_INFER_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "inference/inference_service.pb.h"
#include "kernels/violations.h"
#include "opserve/v1/operator_service.pb.h"
#include "proto/base/host_buffers.h"
#include "server/base/clock.h"

namespace opserve {

// What a request asks for beside what is to be computed.
struct InferSettings {
  // The bytes of inputs that came as numbers, one buffer for each input; empty where they came raw.
  std::vector<HostBuffer> contents = {};
  // The length of each of these.
  std::vector<uint64_t> content_bytes = {};
  // Time for the request, by its parameter `timeout`.
  std::optional<Clock::Duration> timeout = std::nullopt;
  // Whether the last response to a request of a stream is to be marked as such.
  bool marks_final_response = false;
};

// Finds bytes of shared memory by the name of their region, the first byte and their number. What
// is wrong is added to the violations, for that field.
using MemoryFinder =
    absl::FunctionRef<v1::RegionRange(const std::string& name, uint64_t offset, uint64_t bytes,
                                      const std::string& field, ViolationList& violations)>;

// Fills in `request`, which is empty, and `settings`. `raw_count`: how many raw contents came with
// `infer`. INVALID_REQUEST with every violation of what opserve's own protocol does not have, by
// KServe's names of the fields; all else is checked as in requests of Execute. OUT_OF_MEMORY where
// there is none for contents that came as numbers. Stateless and safe to use from any thread.
absl::Status TranslateInferRequest(const inference::ModelInferRequest& infer, size_t raw_count,
                                   MemoryFinder find_memory, HostBufferPool& buffers,
                                   v1::ExecuteRequest& request, InferSettings& settings);

}  // namespace opserve

#endif  // OPSERVE_SERVER_KSERVE_INFER_REQUEST_H_
