// File: opserve/owned_tensor.h
//
// A tensor at the server that lives as long as an object of this program.
//
//   auto x = opserve::OwnedTensor::Create(*client, TensorView::Of<float>(values, {3}),
//                                            {.ttl = absl::Minutes(1)}, LeaseRenewal::kBackground);
//   if (!x.ok()) return x.status();
//   auto y = client->Execute(ops::Round(x->view(), RoundingMode::kTowardZero));

#ifndef OPSERVE_OWNED_TENSOR_H_
#define OPSERVE_OWNED_TENSOR_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "opserve/client.h"
#include "opserve/options.h"
#include "opserve/place.h"
#include "opserve/resident.h"
#include "opserve/tensor.h"

namespace opserve {

// What becomes of a lease while its tensor is needed.
enum class LeaseRenewal : uint8_t {
  kNone,        // it ends when it ends: long enough for what is to be done
  kBackground,  // it is renewed, each time a third of it has passed, on a thread of its own
};

// Owns a tensor that the server keeps, and gives it up when it is destroyed. Can be moved, not
// copied; what was moved from can only be assigned to or destroyed. The client must outlive it.
// const members are safe to call from any thread.
class OwnedTensor {
 public:
  // As Client::CreateTensor, with a copy of `content`.
  static absl::StatusOr<OwnedTensor> Create(Client& client, const TensorView& content,
                                            const ResidentOptions& resident = {},
                                            LeaseRenewal renewal = LeaseRenewal::kNone,
                                            const CallOptions& options = {});

  // The same with zeros, which do not travel.
  static absl::StatusOr<OwnedTensor> Create(Client& client, const TensorSpec& spec,
                                            const ResidentOptions& resident = {},
                                            LeaseRenewal renewal = LeaseRenewal::kNone,
                                            const CallOptions& options = {});

  // Takes over a tensor that `client` created. Renewals ask for as long a lease as that of `lease`.
  OwnedTensor(Client& client, TensorLease lease, LeaseRenewal renewal = LeaseRenewal::kNone);

  // Asks the server to delete the tensor, and does not wait for that: calls that use it already are
  // not affected, and where the server cannot be reached, the lease ends it.
  ~OwnedTensor();
  OwnedTensor(OwnedTensor&&) noexcept;
  OwnedTensor& operator=(OwnedTensor&&) noexcept;

  // Its name, and what was granted first.
  const TensorHandle& handle() const { return lease().handle; }
  const TensorLease& lease() const;

  // The tensor as an input of calls, which must begin while this owns it.
  TensorView view() const { return TensorView::At(handle()); }

  // Gives the ownership up: from now on the tensor lives until the caller deletes it or its lease
  // ends, which is not renewed any more. Nothing is left here, as after a move.
  TensorLease Release();

 private:
  struct Owned;
  std::unique_ptr<Owned> owned_;
};

}  // namespace opserve

#endif  // OPSERVE_OWNED_TENSOR_H_
