// File: opserve/resident.h
//
// Tensors that stay at the server between calls. Plain structs; the calls are in client.h.
//
//   auto x = client->CreateTensor(TensorView::Of<float>(values, {3}), {.label = "weights"});
//   if (!x.ok()) return x.status();
//   auto y = client->Execute(ops::Round(TensorView::At(x->handle), RoundingMode::kTowardZero));
//
// A tensor belongs to the clients of this host that have the same ClientOptions::client_name, and
// lives until it is deleted or its lease ends. All tensors end with the server.
//
// A tensor may be placed on a GPU: calls with it run there, unless they ask for the CPU or that GPU
// cannot, and the GPU keeps a copy of its content, so that a chain of calls uploads it once. The
// server has every content in the host's memory as well, or what it takes to compute it, so no loss
// of a GPU loses one, but for results in a tensor with ResidentOptions::is_volatile.

#ifndef OPSERVE_RESIDENT_H_
#define OPSERVE_RESIDENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "opserve/call.h"
#include "opserve/place.h"
#include "opserve/tensor.h"

namespace opserve {

// How a tensor is kept.
struct ResidentOptions {
  // The lease: until when the tensor lives unless it is renewed, rounded up to seconds. 0: as long
  // as the server likes. It may grant less.
  absl::Duration ttl = absl::ZeroDuration();
  // Any text up to 128 bytes, shown by ListTensors.
  std::string label = {};
  // Sends the SHA-256 of the content, and the content only if no tensor of this client has it.
  // Worth it for content that is often the same, such as weights; not for tensors of zeros.
  bool skip_if_known = false;
  // kGpu: on the GPU that takes requests and has the fewest bytes of tensors; FAILED_PRECONDITION
  // where the server has no GPU. Anything else: on none.
  DevicePreference placement = DevicePreference::kDefault;
  // The device to place it on, as in DeviceInfo::name; empty: what `placement` says.
  // INVALID_ARGUMENT where the server has none of that name.
  std::string device = {};
  // Results that go to the tensor may stay on its GPU alone until they are read, and are lost with
  // it: calls that need them fail with DATA_LOSS (reason TENSOR_LOST) until the tensor is written,
  // or a result put in it, as a whole. INVALID_ARGUMENT where it is placed on no GPU.
  bool is_volatile = false;
};

// A tensor that was created.
struct TensorLease {
  TensorHandle handle;
  absl::Duration ttl;      // granted
  bool was_known = false;  // with skip_if_known: whether the content was not sent
  std::string device;      // the GPU that it is placed on; empty: none
};

// A tensor that the server keeps.
struct ResidentTensorInfo {
  TensorHandle handle;
  TensorSpec spec;
  uint64_t bytes = 0;
  std::string label;
  absl::Duration ttl;        // left of its lease
  std::string device;        // the GPU that it is placed on; empty: none
  bool is_volatile = false;  // whether results may be on that GPU alone
};

// The tensors of a client.
struct ResidentTensorList {
  std::vector<ResidentTensorInfo> tensors;  // oldest first
  // That count against the client's quota: buffers, records, and what tensors held before while
  // that is still read. Where the server's policy sets the quota, it is that of the identity, and
  // these are of all of its clients, whatever they call themselves.
  uint64_t bytes = 0;
  // That may count.
  uint64_t max_bytes = 0;
};

}  // namespace opserve

#endif  // OPSERVE_RESIDENT_H_
