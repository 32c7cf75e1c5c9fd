#include "tests/bench/wire/shared_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/time/time.h"
#include "opserve/v1/regions.pb.h"
#include "proto/packets/seqpacket.h"

namespace opserve::wire_bench {
namespace {

// How long the server may take to answer.
constexpr absl::Duration kLimit = absl::Seconds(10);

}  // namespace

SharedRegion::~SharedRegion() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

absl::Status SharedRegion::Register(const std::string& path, uint64_t bytes) {
  absl::Status status = Map(bytes);
  return status.ok() ? Send(path, bytes) : status;
}

absl::Status SharedRegion::Map(uint64_t bytes) {
  memory_ = UniqueFd(memfd_create("wire_load", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory_ || ftruncate(memory_.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make shared memory");
  }
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  if (data == MAP_FAILED) return absl::ErrnoToStatus(errno, "cannot map shared memory");
  data_ = static_cast<uint8_t*>(data);
  bytes_ = bytes;
  return absl::OkStatus();
}

absl::Status SharedRegion::Send(const std::string& path, uint64_t bytes) {
  absl::StatusOr<UniqueFd> socket = ConnectForPackets(path, kLimit);
  if (!socket.ok()) return socket.status();
  socket_ = *std::move(socket);
  v1::RegionRequest request;
  request.mutable_register_()->set_bytes(bytes);
  absl::Status sent = SendPacket(socket_, request.SerializeAsString(), memory_.get());
  if (!sent.ok()) return sent;
  if (!WaitForPacket(socket_, kLimit)) {
    return absl::DeadlineExceededError("the server does not answer about shared memory");
  }
  const absl::StatusOr<Packet> packet = ReceivePacket(socket_);
  v1::RegionResponse response;
  if (!packet.ok() || !response.ParseFromString(packet->bytes) || !response.error().empty()) {
    return absl::InternalError("the server refused shared memory");
  }
  id_ = response.region();
  return absl::OkStatus();
}

}  // namespace opserve::wire_bench
