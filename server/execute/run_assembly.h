// File: server/execute/run_assembly.h
//
// Runs of a request, and what is sent ahead of them, out of the messages in which they come.

#ifndef OPSERVE_SERVER_EXECUTE_RUN_ASSEMBLY_H_
#define OPSERVE_SERVER_EXECUTE_RUN_ASSEMBLY_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "proto/base/host_buffers.h"
#include "server/execute/payload_assembly.h"
#include "server/execute/run_plan.h"
#include "server/wire/wire_message.h"

namespace opserve {

// Not thread-safe.
class RunAssembly {
 public:
  // Where runs are put together that do not come in a message of their own. `pool` must outlive the
  // assembly.
  RunAssembly(RunPlan plan, HostBufferPool& pool);

  // Whether every byte of the request has come.
  bool is_complete() const { return run_ == plan_.run_count(); }
  // The run of which bytes come next, or before which payloads are sent ahead.
  uint64_t run() const { return run_; }

  // What still comes is counted and dropped.
  void Drop();

  // Takes the pieces of `message` and adds the runs that are complete with them to `runs`. A
  // message that is exactly one run, and little else, is passed on as it is. OUT_OF_RANGE where a
  // piece goes beyond what it continues, belongs to no run, or to a run from number `end` on.
  // RESOURCE_EXHAUSTED where there is no memory, after which everything is dropped.
  absl::Status Add(ReceivedMessage message, uint64_t end, std::vector<ReceivedMessage>& runs);

  // What was sent ahead, once that is complete; the payloads of runs have no bytes in it. Once, and
  // before the first run where anything is sent ahead.
  std::optional<ReceivedMessage> TakeAhead() { return std::exchange(ahead_, std::nullopt); }

 private:
  absl::Status AddPiece(const ReceivedMessage& message, const PayloadPlace& piece,
                        std::vector<ReceivedMessage>& runs);
  // Expects the next run.
  void Expect();
  // Whether a run may begin with the next byte.
  bool is_between_runs() const { return !has_begun_ && !awaits_ahead_ && !is_complete(); }

  const RunPlan plan_;
  HostBufferPool& pool_;
  bool is_dropped_ = false;
  uint64_t run_ = 0;
  // Whether what is sent ahead is not complete, and what it was until it is taken.
  bool awaits_ahead_;
  std::optional<ReceivedMessage> ahead_;
  // Of the present run, or what is sent ahead; `pieces_` has room for them once one has come.
  std::vector<uint64_t> lengths_;
  PayloadAssembly pieces_;
  bool has_begun_ = false;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_RUN_ASSEMBLY_H_
