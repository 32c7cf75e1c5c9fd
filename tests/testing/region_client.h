// File: tests/testing/region_client.h
//
// A program that shares memory with a server, in miniature.

#ifndef OPSERVE_TESTS_TESTING_REGION_CLIENT_H_
#define OPSERVE_TESTS_TESTING_REGION_CLIENT_H_

#include <fcntl.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "opserve/rpc/status.pb.h"
#include "opserve/v1/regions.pb.h"
#include "proto/packets/seqpacket.h"

namespace opserve::testing {

// What regions.proto asks for.
inline constexpr int kRegionSeals = F_SEAL_SHRINK | F_SEAL_SEAL;

// A memfd with seals.
inline UniqueFd MakeMemfd(uint64_t bytes, int seals = kRegionSeals, unsigned flags = 0) {
  UniqueFd fd(memfd_create("opserve-test", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      (seals != 0 && fcntl(fd.get(), F_ADD_SEALS, seals) != 0)) {
    throw std::runtime_error("no memfd to be had");
  }
  return fd;
}

// Shared memory as its owner sees it.
class SharedMemory {
 public:
  explicit SharedMemory(uint64_t bytes, int seals = kRegionSeals)
      : SharedMemory(MakeMemfd(bytes, seals), bytes) {}
  // The first `bytes` bytes of `fd`.
  SharedMemory(UniqueFd fd, uint64_t bytes) : fd_(std::move(fd)), bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (data_ == MAP_FAILED) throw std::runtime_error("cannot map shared memory");
  }
  ~SharedMemory() { munmap(data_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  uint64_t bytes() const { return bytes_; }
  const UniqueFd& fd() const { return fd_; }

 private:
  const UniqueFd fd_;
  const uint64_t bytes_;
  void* data_;
};

// The packet that registers `bytes` bytes.
inline std::string RegisterPacket(uint64_t bytes) {
  v1::RegionRequest request;
  request.mutable_register_()->set_bytes(bytes);
  return request.SerializeAsString();
}

inline std::string UnregisterPacket(const std::string& region) {
  v1::RegionRequest request;
  request.mutable_unregister()->set_region(region);
  return request.SerializeAsString();
}

// ErrorInfo.reason of an answer; "OK" where it is no error.
inline std::string ReasonOf(const v1::RegionResponse& response) {
  if (response.error().empty()) return "OK";
  rpc::Status status;
  rpc::ErrorInfo info;
  if (!status.ParseFromString(response.error()) || status.details().empty() ||
      !info.ParseFromString(status.details(0).value())) {
    return "none";
  }
  return info.reason();
}

// A connection to a RegionSocket. Throws where a call fails.
class RegionClient {
 public:
  explicit RegionClient(const std::string& path) {
    auto socket = ConnectForPackets(path);
    if (!socket.ok()) throw std::runtime_error(std::string(socket.status().message()));
    socket_ = *std::move(socket);
  }

  const UniqueFd& socket() const { return socket_; }

  v1::RegionResponse Receive() const {
    const auto packet = ReceivePacket(socket_);
    if (!packet.ok()) throw std::runtime_error(std::string(packet.status().message()));
    v1::RegionResponse response;
    if (!response.ParseFromString(packet->bytes)) throw std::runtime_error("no RegionResponse");
    return response;
  }

  v1::RegionResponse Ask(absl::string_view bytes, int descriptor = -1) const {
    const absl::Status sent = SendPacket(socket_, bytes, descriptor);
    if (!sent.ok()) throw std::runtime_error(std::string(sent.message()));
    return Receive();
  }

  // The id of the new region that a packet asks for.
  std::string Register(absl::string_view packet, int descriptor = -1) const {
    const v1::RegionResponse response = Ask(packet, descriptor);
    if (!response.error().empty()) throw std::runtime_error(ReasonOf(response));
    return response.region();
  }
  std::string Register(const SharedMemory& memory) const {
    return Register(RegisterPacket(memory.bytes()), memory.fd().get());
  }

 private:
  UniqueFd socket_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_TESTING_REGION_CLIENT_H_
