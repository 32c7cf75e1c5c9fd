// File: server/kserve/infer_statistics.h
//
// Counts the requests of each model, as KServe's clients ask for it.

#ifndef OPSERVE_SERVER_KSERVE_INFER_STATISTICS_H_
#define OPSERVE_SERVER_KSERVE_INFER_STATISTICS_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "inference/inference_service.pb.h"
#include "kernels/op_table.h"
#include "server/record/request_record.h"

namespace opserve {

// Thread-safe. Whoever asks while requests end sees some of them in one number and not yet in
// another.
class InferStatistics final : public RequestObserver {
 public:
  InferStatistics() : counts_(OpTable().size()) {}

  // Counts the request if its model is known.
  void OnRequest(const RequestRecord& record, const RequestSource& source) noexcept override;

  void Write(const OpTraits& op, inference::ModelStatistics& out) const;

 private:
  // Numbers, and nanoseconds of all together.
  struct Counts {
    std::atomic<uint64_t> successes = 0;
    std::atomic<uint64_t> success_ns = 0;
    std::atomic<uint64_t> failures = 0;
    std::atomic<uint64_t> failure_ns = 0;
    std::atomic<uint64_t> queue_ns = 0;
    std::atomic<uint64_t> run_ns = 0;
    // Since 1970.
    std::atomic<uint64_t> last_ms = 0;
  };

  std::vector<Counts> counts_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_KSERVE_INFER_STATISTICS_H_
