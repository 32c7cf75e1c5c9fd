// File: server/pool/device_reads.h
//
// Reads of what devices keep, beside their queues.

#ifndef OPSERVE_SERVER_POOL_DEVICE_READS_H_
#define OPSERVE_SERVER_POOL_DEVICE_READS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "server/device/compute_device.h"
#include "server/pool/device_slot.h"
#include "server/pool/router.h"

namespace opserve {

// Thread-safe.
class DeviceReads {
 public:
  // `router` must outlive it. `on_idle`: called where a device that is reserved or set aside has
  // become idle by the end of a read.
  DeviceReads(Router& router, std::function<void()> on_idle)
      : router_(router), on_idle_(std::move(on_idle)) {}

  // Reads bytes of a content that the device of `slot` keeps. As DevicePool::Read.
  absl::Status Read(DeviceSlot& slot, std::optional<uint64_t> lease, ContentId content,
                    std::span<std::byte> to);

 private:
  // The same for a device that is in use by the caller.
  absl::Status ReadFrom(DeviceSlot& slot, ContentId content, std::span<std::byte> to);

  Router& router_;
  const std::function<void()> on_idle_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_DEVICE_READS_H_
