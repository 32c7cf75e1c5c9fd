#include "server/pool/device_reads.h"

#include <memory>

#include "absl/cleanup/cleanup.h"
#include "server/batch/job.h"

namespace opserve {

absl::Status DeviceReads::Read(DeviceSlot& slot, std::optional<uint64_t> lease, ContentId content,
                               std::span<std::byte> to) {
  // Whoever has a lease has the device as idle as he likes it.
  if (!lease || (*lease != kNoLease && slot.queue().lease() == *lease)) {
    return ReadFrom(slot, content, to);
  }
  if (!slot.queue().BeginVisit()) return absl::UnavailableError("The device is leased.");
  const absl::Cleanup end = [this, &slot] {
    if (slot.queue().EndVisit()) on_idle_();
  };
  return ReadFrom(slot, content, to);
}

absl::Status DeviceReads::ReadFrom(DeviceSlot& slot, ContentId content, std::span<std::byte> to) {
  const std::shared_ptr<ComputeDevice> source = slot.trusted();
  if (source == nullptr) return absl::UnavailableError("The device is not to be trusted.");
  // A device that hangs in a read is as busy as one that hangs in a run.
  const uint64_t run = slot.BeginRun(Clock::Duration::zero());
  const absl::Cleanup end_run = [&slot, run] { slot.EndRun(run); };
  absl::Status status = source->Read(content, to);
  // It may have been found wrong meanwhile.
  if (status.ok() && !slot.Serves(*source)) {
    return absl::UnavailableError("The device is not to be trusted any more.");
  }
  if (status.ok()) slot.NoteTransfers(*source);
  if (absl::IsUnavailable(status) && slot.OnFailure(*source, status)) router_.Evacuate(slot);
  return status;
}

}  // namespace opserve
