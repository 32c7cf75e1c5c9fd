// File: server/tensors/tensor_places.h
//
// Where the tensors of a request are, if not in its message: in shared memory, or resident.
//
// Shared memory may change at any time, so its bytes are used at most once: where a result may be
// compared with another one, which is where a GPU may compute it, inputs are copied before the run
// and the result after it. Nobody can make a device look broken that way.

#ifndef OPSERVE_SERVER_TENSORS_TENSOR_PLACES_H_
#define OPSERVE_SERVER_TENSORS_TENSOR_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "kernels/invocation.h"
#include "kernels/tensor_bytes.h"
#include "kernels/tensor_desc.h"
#include "kernels/validate.h"
#include "opserve/v1/operator_service.pb.h"
#include "proto/base/host_buffers.h"
#include "server/batch/job.h"
#include "server/pool/device_pool.h"
#include "server/regions/region_table.h"
#include "server/resident/tensor_store.h"
#include "server/tensors/result_origin.h"
#include "server/tensors/volatile_result.h"

namespace opserve {

// What places refer to. Everything must outlive the requests.
struct PlaceParts {
  RegionTable& regions;
  TensorStore& tensors;
};

// Whose request names places. To live until they are resolved.
struct PlaceCaller {
  // Whose the resident tensors are.
  const std::string& client;
  // Whose regions may be.
  RegionCaller region;
};

// A tensor outside the message: in a region or resident; in neither where it is in the message.
struct TensorShare {
  RegionSlice slice;
  std::shared_ptr<ResidentTensor> tensor;

  bool is_set() const { return slice.region != nullptr || tensor != nullptr; }
  // The device that the tensor is placed on; empty: none.
  absl::string_view home() const {
    return tensor == nullptr ? absl::string_view() : tensor->device();
  }
  // Whether a byte of one is a byte of the other.
  bool Overlaps(const TensorShare& other) const;
  // Whether they are the same bytes.
  bool IsSameAs(const TensorShare& other) const;
};

// Whether a request only copies from and to regions: a GPU may run it then, whose result may be
// compared.
inline bool CopiesRegions(Placement placement, bool has_gpus) {
  return placement != Placement::kCpu && has_gpus;
}

// The inputs of one request. Not thread-safe.
class InputPlaces {
 public:
  // Finds the inputs of a request of `caller`. `descs` are their descriptors: what is left out of
  // that of a resident tensor is filled in. `payload_bytes`: lengths of the payloads in the
  // message. REGION_NOT_FOUND, TENSOR_NOT_FOUND, or INVALID_REQUEST where entries or payloads are
  // missing; what else is wrong is added to `violations`. To be called once.
  absl::Status Resolve(const PlaceParts& parts, const PlaceCaller& caller,
                       const google::protobuf::RepeatedPtrField<v1::TensorPlace>& places,
                       std::vector<uint64_t> payload_bytes,
                       google::protobuf::RepeatedPtrField<v1::TensorDesc>& descs,
                       std::vector<Violation>& violations);

  // The length of each input, once they are resolved, and the proto path of that.
  const std::vector<uint64_t>& bytes() const { return bytes_; }
  const std::vector<std::string>& fields() const { return fields_; }
  // Where each input is, in their order; empty where all are in the message.
  std::span<const TensorShare> shares() const { return shares_; }

  // The bytes of each input; they stay there until Release. `payloads`: those of the message, in
  // order. `copies_regions`: whether bytes in regions must not change any more. To be called once.
  // Throws std::bad_alloc.
  std::vector<TensorBytes> Take(std::vector<TensorBytes> payloads, bool copies_regions,
                                HostBufferPool& buffers);

  // The contents that Take took, each as the share of an origin, in the order of the inputs; empty
  // unless all inputs are tensors placed on `device`. Before Release.
  std::vector<std::shared_ptr<TensorContent>> SharesOfOrigin(absl::string_view device) const;

  // Brings what Take took of volatile tensors to the host's memory: throws ContentLost where it is
  // lost. May wait for a device.
  void FetchVolatile();

  // The device that the first of the inputs is placed on that is placed on one; empty: none is.
  // Lives as long as the pool.
  absl::string_view home() const;

  // Gives up shares and memory.
  void Release();

 private:
  void AddPayload(size_t index, uint64_t bytes);
  absl::Status AddShare(const PlaceParts& parts, const PlaceCaller& caller,
                        const v1::TensorPlace& place, size_t input, v1::TensorDesc& desc,
                        std::vector<Violation>& violations);

  std::vector<uint64_t> bytes_;
  std::vector<std::string> fields_;
  std::vector<TensorShare> shares_;
  std::vector<HostBuffer> copies_;
  std::vector<TensorSnapshot> snapshots_;
};

// Where one result goes. Not thread-safe.
class OutputPlace {
 public:
  // Finds the place, at the proto path `field`, of a request of `caller`. REGION_NOT_FOUND or
  // TENSOR_NOT_FOUND; what else is wrong is added to `violations`. To be called once.
  absl::Status Resolve(const PlaceParts& parts, const PlaceCaller& caller,
                       const v1::TensorPlace& place, std::string field,
                       std::vector<Violation>& violations);

  // Whether the result goes elsewhere than into the response.
  bool is_set() const { return share_.is_set(); }
  const TensorShare& share() const { return share_; }

  // Leaves the place its first `bytes` bytes, if it is in a region and has more.
  void TrimTo(uint64_t bytes);

  // Adds what is wrong with the place for a result of `bytes` bytes that `desc` describes.
  void Check(const TensorDesc& desc, uint64_t bytes, std::vector<Violation>& violations) const;

  // The memory of a region that the result can be computed in; nullptr for a resident tensor.
  std::byte* memory() const;

  // The device that the tensor is placed on; empty: none. Lives as long as the pool.
  absl::string_view home() const { return share_.home(); }

  // What a device may keep of the result. To be called when the call is prepared, once.
  ResultContent NewContent();

  // Lets a device keep the result of `invocation` without handing it over, if it goes to a tensor
  // on a device that is volatile, or else can be computed again from `inputs`, which have been
  // taken, and is worth it. `content`: of NewContent. `pool` and `buffers` must outlive the
  // tensor's content.
  void LetStay(std::shared_ptr<const Invocation> invocation, const InputPlaces& inputs,
               DevicePool& pool, HostBufferPool& buffers, ResultContent& content);
  // The same for a result of `bytes` bytes that cannot be computed again: in volatile tensors
  // alone.
  void LetStayVolatile(uint64_t bytes, DevicePool& pool, HostBufferPool& buffers,
                       ResultContent& content);

  // Brings the result, which `buffer` holds unless it stays, to its place. `record`: how it came to
  // be. What a device keeps under the id of NewContent is the result only if a GPU's is the answer:
  // the processor may have put a wrong one right. TENSOR_QUOTA where others still read what a
  // tensor held, and its client may not have both. May wait for a device where may_wait().
  absl::Status Put(HostBuffer buffer, uint64_t bytes, const RunRecord& record);

  // Whether what the client has not read of devices may have to make room for the result. Put waits
  // as well for a tensor that was placed on a device after the place was resolved.
  bool may_wait() const { return may_wait_; }

  // Gives up the share.
  void Release() { share_ = {}; }

  const std::string& field() const { return field_; }

 private:
  // What a result needs that may stay on its device.
  struct Stay {
    DevicePool& pool;
    HostBufferPool& buffers;
    // What it is computed from, or what keeps it where nothing computes it again.
    ResultSource source = {};
    std::shared_ptr<VolatileResult> kept = nullptr;
    // Whether it does.
    bool stays = false;
  };

  // Where a result comes from that stays.
  static std::shared_ptr<const ContentOrigin> OriginOf(Stay& stay, const RunRecord& record);
  // Puts `fresh` in the place of what the tensor holds.
  absl::Status Replace(const std::shared_ptr<TensorContent>& fresh);

  std::string field_;
  TensorShare share_;
  // Where a resident tensor is kept, and whose it is.
  TensorStore* tensors_ = nullptr;
  std::string client_;
  bool may_wait_ = false;
  ContentId new_content_ = kNoContent;
  // Where its device writes to; nullptr: the result is read back.
  std::unique_ptr<Stay> stay_;
};

// Adds what is wrong with the place of the result of `invocation` beside `inputs`: it may touch an
// input only where it is the same bytes and the operator can work in place. Returns whether it
// touches any.
bool CheckInPlace(const Invocation& invocation, const InputPlaces& inputs,
                  const OutputPlace& output, std::vector<Violation>& violations);

}  // namespace opserve

#endif  // OPSERVE_SERVER_TENSORS_TENSOR_PLACES_H_
