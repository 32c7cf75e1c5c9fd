// File: server/execute/run_progress.h
//
// How far a request is whose payloads come in runs, and what it holds of them.

#ifndef OPSERVE_SERVER_EXECUTE_RUN_PROGRESS_H_
#define OPSERVE_SERVER_EXECUTE_RUN_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/tensor_bytes.h"
#include "proto/base/host_buffers.h"
#include "server/execute/run_plan.h"
#include "server/wire/wire_message.h"

namespace opserve {

// Not thread-safe.
class RunProgress {
 public:
  // A request comes whole until this is called, which is to be done before the first run.
  void Begin(RunDivision division) { division_ = std::move(division); }

  // How the payloads come in runs; nullptr: they do not.
  const RunPlan* plan() const { return division_.plan ? &*division_.plan : nullptr; }
  // Why they do not, although they might; empty: nobody asked.
  const std::string& why_whole() const { return division_.why_whole; }

  // What follows is for requests in runs.

  // Takes the payloads that are sent ahead of the runs, which all runs use. To be called before the
  // first run, where there are such payloads. Throws std::bad_alloc.
  void TakeAhead(ReceivedMessage payloads, HostBufferPool& buffers) {
    ahead_ = std::move(payloads);
    ahead_bytes_ = ahead_.Payloads(buffers);
  }
  // Whether a payload was sent ahead, and its bytes.
  bool IsAhead(size_t payload) const { return division_.plan->element_bytes[payload] == 0; }
  const std::byte* Ahead(size_t payload) const { return ahead_bytes_[payload].data(); }

  // The first element of the present run, and how many it has.
  uint64_t first_element() const { return run_ * division_.plan->run_elements; }
  uint64_t elements() const { return division_.plan->ElementsOf(run_); }

  // Goes on with the next run, if there are runs.
  void OnComputed() { ++run_; }
  // Whether all runs have been computed; also where there are none.
  bool has_ended() const { return !division_.plan || run_ == division_.plan->run_count(); }

 private:
  RunDivision division_;
  uint64_t run_ = 0;
  // What was sent ahead, and where each payload of it is.
  ReceivedMessage ahead_;
  std::vector<TensorBytes> ahead_bytes_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_RUN_PROGRESS_H_
