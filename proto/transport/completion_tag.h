// File: proto/transport/completion_tag.h
//
// What operations are known by on a completion queue.

#ifndef OPSERVE_PROTO_TRANSPORT_COMPLETION_TAG_H_
#define OPSERVE_PROTO_TRANSPORT_COMPLETION_TAG_H_

#include <atomic>

namespace opserve {

// The tag of an operation that was started on a queue. The queue's poller calls OnEvent once for
// each operation, in its own thread.
class CompletionTag {
 public:
  // `ok`: as gRPC defines it for the operation.
  virtual void OnEvent(bool ok) = 0;

 protected:
  ~CompletionTag() = default;
};

// A tag that calls a member function of its owner, which must outlive the operation.
template <class Owner, void (Owner::*kHandle)(bool ok)>
class MemberTag final : public CompletionTag {
 public:
  explicit MemberTag(Owner& owner) : owner_(owner) {}
  void OnEvent(bool ok) override { (owner_.*kHandle)(ok); }

 private:
  Owner& owner_;
};

// Orders what one thread did before it gave something to gRPC before what another does that gets
// it back. gRPC does so, too, but in a library that no sanitizer can look into.
class HandOver {
 public:
  void Give() { given_.store(true, std::memory_order_release); }
  bool is_given() const { return given_.load(std::memory_order_acquire); }
  void Take() const { static_cast<void>(given_.load(std::memory_order_acquire)); }

 private:
  std::atomic<bool> given_ = false;
};

}  // namespace opserve

#endif  // OPSERVE_PROTO_TRANSPORT_COMPLETION_TAG_H_
