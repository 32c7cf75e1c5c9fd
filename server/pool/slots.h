// File: server/pool/slots.h
//
// The slots of a pool: the processor's from the start, those of the GPUs once these are known.

#ifndef OPSERVE_SERVER_POOL_SLOTS_H_
#define OPSERVE_SERVER_POOL_SLOTS_H_

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "server/pool/device_slot.h"

namespace opserve {

// Thread-safe. Readers take no lock: what they are given never changes, and lives as long as this.
class Slots {
 public:
  explicit Slots(std::unique_ptr<DeviceSlot> processor)
      : processor_(std::move(processor)), first_{processor_.get()}, all_{processor_.get()} {}
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  DeviceSlot& processor() const { return *processor_; }

  // Whether there are others, in whatever state.
  bool has_gpus() const { return get().size() > 1; }

  // The processor's first, then those of the GPUs.
  const std::vector<DeviceSlot*>& get() const { return *shown_.load(std::memory_order_acquire); }

  // At most once.
  void AddGpus(std::vector<std::unique_ptr<DeviceSlot>> gpus) {
    gpus_ = std::move(gpus);
    for (const std::unique_ptr<DeviceSlot>& gpu : gpus_) all_.push_back(gpu.get());
    shown_.store(&all_, std::memory_order_release);
  }

 private:
  const std::unique_ptr<DeviceSlot> processor_;
  std::vector<std::unique_ptr<DeviceSlot>> gpus_;
  const std::vector<DeviceSlot*> first_;
  // Not to be read before it is shown.
  std::vector<DeviceSlot*> all_;
  std::atomic<const std::vector<DeviceSlot*>*> shown_{&first_};
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_SLOTS_H_
