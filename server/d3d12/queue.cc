#include "server/d3d12/queue.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/d3d12/runtime/hresult.h"

namespace opserve::d3d12 {
namespace {

// Submissions that may be under way before a thread waits for the oldest.
constexpr size_t kMaxSubmissions = 32;

// An ID3D12Fence as a Fence.
class DeviceFence final : public Fence {
 public:
  DeviceFence(const Device& device, ComPtr<ID3D12Fence> fence)
      : device_(device), fence_(std::move(fence)) {}

  uint64_t CompletedValue() override { return fence_->GetCompletedValue(); }
  absl::Status Loss() override { return device_.status(); }
  absl::Status NotifyAt(uint64_t value, Event& event) override {
    return OPSERVE_HRESULT(fence_->SetEventOnCompletion(value, event.handle()));
  }

 private:
  const Device& device_;
  ComPtr<ID3D12Fence> fence_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Queue>> Queue::Create(const Device& device,
                                                     D3D12_COMMAND_LIST_TYPE type) {
  std::unique_ptr<Queue> queue(new Queue(device, type));
  OPSERVE_RETURN_IF_ERROR(queue->Initialize());
  return queue;
}

absl::Status Queue::Initialize() {
  D3D12_COMMAND_QUEUE_DESC desc{};
  desc.Type = type_;
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(device_.api().CreateCommandQueue(
      &desc, IID_ID3D12CommandQueue, reinterpret_cast<void**>(queue_.GetAddressOf()))));
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(device_.api().CreateFence(
      0, D3D12_FENCE_FLAG_NONE, IID_ID3D12Fence, reinterpret_cast<void**>(fence_.GetAddressOf()))));
  timeline_ = std::make_unique<Timeline>(std::make_unique<DeviceFence>(device_, fence_));
  return absl::OkStatus();
}

absl::StatusOr<Queue::WrittenList> Queue::Write(
    absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record, std::chrono::nanoseconds timeout) {
  absl::StatusOr<Slots> slot = TakeSlot(timeout);
  if (!slot.ok()) return slot.status();
  // A slot that cannot record is dropped: what state its list is in is not known.
  OPSERVE_RETURN_IF_ERROR(Record(slot->front(), record));
  return WrittenList(*std::move(slot));
}

absl::StatusOr<Serial> Queue::Submit(WrittenList& list, Queue* next) {
  // Unless it is known better, also where something is thrown.
  bool is_broken = true;
  const absl::Cleanup keep = [&] {
    MutexLock lock(slots_mutex_);
    Slots& to = is_broken ? broken_ : slots_;
    to.splice(to.end(), list.slot_);
  };
  Slot& slot = list.slot_.front();
  const absl::Status executed = Execute(slot, next);
  is_broken = absl::IsUnavailable(executed);
  if (!executed.ok()) return executed;
  return slot.serial;
}

absl::StatusOr<Serial> Queue::Submit(absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record,
                                     std::chrono::nanoseconds timeout) {
  absl::StatusOr<WrittenList> list = Write(record, timeout);
  if (!list.ok()) return list.status();
  return Submit(*list);
}

absl::StatusOr<Queue::Slots> Queue::CreateSlot() const {
  Slots slots(1);
  Slot& slot = slots.front();
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(device_.api().CreateCommandAllocator(
      type_, IID_ID3D12CommandAllocator, reinterpret_cast<void**>(slot.allocator.GetAddressOf()))));
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(device_.api().CreateCommandList(
      0, type_, slot.allocator.Get(), nullptr, IID_ID3D12GraphicsCommandList,
      reinterpret_cast<void**>(slot.list.GetAddressOf()))));
  // Lists are made open; every use begins with a reset of a closed one.
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(slot.list->Close()));
  return slots;
}

absl::StatusOr<Queue::Slots> Queue::TakeSlot(std::chrono::nanoseconds timeout) {
  Slots slot;
  {
    MutexLock lock(slots_mutex_);
    const bool may_wait = slots_.size() >= kMaxSubmissions;
    if (!slots_.empty() && (may_wait || timeline_->IsCompleted(slots_.front().serial))) {
      slot.splice(slot.end(), slots_, slots_.begin());
    }
  }
  if (slot.empty()) return CreateSlot();
  // Until it is known that the device is not at work on it any more, it stays the oldest.
  absl::Cleanup put_back = [&] {
    MutexLock lock(slots_mutex_);
    slots_.splice(slots_.begin(), slot);
  };
  OPSERVE_RETURN_IF_ERROR(timeline_->Wait(slot.front().serial, timeout));
  std::move(put_back).Cancel();
  return slot;
}

absl::Status Queue::Record(Slot& slot, absl::FunctionRef<void(ID3D12GraphicsCommandList&)> record) {
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(slot.allocator->Reset()));
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(slot.list->Reset(slot.allocator.Get(), nullptr)));
  const uint64_t failures = device_.UntoldFailures();
  record(*slot.list.Get());
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(slot.list->Close()));
  if (device_.UntoldFailures() == failures) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      "The device has no memory for what a command list binds, as its run time did not tell.");
}

absl::Status Queue::Signal(const Slot& slot, Queue* next) {
  const auto serial = static_cast<uint64_t>(slot.serial);
  const uint64_t failures = device_.UntoldFailures();
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(queue_->Signal(fence_.Get(), serial)));
  if (next == nullptr) return absl::OkStatus();
  // Before anybody else signals: libvkd3d 1.2 lets only one wait for each signal, and would take
  // that of a later one, or none at all, where this one's was gone.
  OPSERVE_RETURN_IF_ERROR(OPSERVE_HRESULT(next->queue_->Wait(fence_.Get(), serial)));
  if (device_.UntoldFailures() == failures) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      "No queue waits for a submission, as the device's run time did not tell.");
}

absl::Status Queue::Execute(Slot& slot, Queue* next) {
  MutexLock lock(submit_mutex_);
  slot.serial = timeline_->Next();
  ID3D12CommandList* lists[] = {slot.list.Get()};
  const uint64_t failures = device_.UntoldFailures();
  // It has no result, which is why tests can drop it, and how run times fail to tell of it.
  absl::Status told = OPSERVE_HRESULT((queue_->ExecuteCommandLists(1, lists), 0));
  const bool is_refused = device_.UntoldFailures() != failures;
  // Also where the list was refused: its serial is awaited like any other.
  if (told.ok()) told = Signal(slot, next);
  OPSERVE_RETURN_IF_ERROR(device_.status());
  if (!told.ok()) {
    // The device may be at work on something whose end nobody will hear of.
    return absl::UnavailableError(absl::StrCat("The device is lost: ", told.message()));
  }
  if (!is_refused) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      "The device has no memory for a submission, as its run time did not tell.");
}

}  // namespace opserve::d3d12
