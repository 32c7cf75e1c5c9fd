#include "client/memory/region_connection.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "client/base/clock.h"
#include "client/base/status_details.h"
#include "opserve/rpc/status.pb.h"

namespace opserve::client_internal {
namespace {

constexpr absl::string_view kWhat = ", where the server shares memory with programs of its machine";

// The status that the server answers with.
absl::Status StatusOf(const v1::RegionResponse& response) {
  rpc::Status status;
  if (!status.ParseFromString(response.error()) || status.code() == 0) {
    return absl::DataLossError("the server's answer about shared memory has no valid error");
  }
  return MakeStatus(status.code(), status.message(), response.error());
}

}  // namespace

absl::StatusOr<std::shared_ptr<RegionConnection>> RegionConnection::Connect(
    const SharedMemoryInfo& info, TimeLeft time_left) {
  absl::StatusOr<UniqueFd> socket = ConnectForPackets(info.socket, time_left());
  if (socket.ok()) {
    return std::shared_ptr<RegionConnection>(new RegionConnection(info, *std::move(socket)));
  }
  if (absl::IsDeadlineExceeded(socket.status())) return socket.status();
  return absl::UnavailableError(
      absl::StrCat("cannot connect", kWhat, ": ", socket.status().message()));
}

absl::StatusOr<std::string> RegionConnection::Register(int memfd, uint64_t bytes,
                                                       TimeLeft time_left) {
  if (!TakeTurn(time_left)) return NoAnswer();
  const absl::Cleanup end = [this] { EndTurn(); };
  return RegisterInTurn(memfd, bytes, time_left);
}

void RegionConnection::Unregister(const std::string& region) {
  {
    const MutexLock lock(mutex_);
    unwanted_.push_back(region);
    if (std::exchange(is_busy_, true)) return;
  }
  const absl::Cleanup end = [this] { EndTurn(); };
  // The server ends connections whose answers pile up.
  ReceiveLate([] { return absl::ZeroDuration(); }).IgnoreError();
}

bool RegionConnection::TakeTurn(TimeLeft time_left) {
  const auto end = std::chrono::steady_clock::now() +
                   absl::ToChronoNanoseconds(std::min(time_left(), kLongestTime));
  const MutexLock lock(mutex_);
  while (is_busy_ && free_.WaitUntil(mutex_, end)) continue;
  return !std::exchange(is_busy_, true);
}

void RegionConnection::EndTurn() {
  std::vector<std::string> unwanted;
  while (true) {
    {
      const MutexLock lock(mutex_);
      unwanted = std::exchange(unwanted_, {});
      if (unwanted.empty()) {
        is_busy_ = false;
        free_.NotifyOne();
        return;
      }
    }
    for (const std::string& region : unwanted) SendUnregister(region);
  }
}

absl::StatusOr<std::string> RegionConnection::RegisterInTurn(int memfd, uint64_t bytes,
                                                             TimeLeft time_left) {
  v1::RegionRequest request;
  request.mutable_register_()->set_bytes(bytes);
  absl::Status status = ReceiveLate(time_left);
  if (!status.ok()) return status;
  // A server that has too many connections answers unasked and hangs up.
  const bool is_sent = SendPacket(socket_, request.SerializeAsString(), memfd).ok();
  const absl::StatusOr<v1::RegionResponse> response = Receive(time_left);
  if (absl::IsDeadlineExceeded(response.status()) && is_sent) late_.push_back(true);
  if (!response.ok()) return response.status();
  if (!response->error().empty()) return StatusOf(*response);
  return response->region();
}

void RegionConnection::SendUnregister(const std::string& region) {
  v1::RegionRequest request;
  request.mutable_unregister()->set_region(region);
  if (SendPacket(socket_, request.SerializeAsString()).ok()) late_.push_back(false);
}

absl::Status RegionConnection::ReceiveLate(TimeLeft time_left) {
  while (!late_.empty()) {
    const absl::StatusOr<v1::RegionResponse> response = Receive(time_left);
    if (!response.ok()) return response.status();
    const bool is_unwanted = late_.front() && response->error().empty();
    late_.pop_front();
    if (is_unwanted) SendUnregister(response->region());
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::RegionResponse> RegionConnection::Receive(TimeLeft time_left) {
  if (!WaitForPacket(socket_, time_left())) return NoAnswer();
  absl::StatusOr<Packet> packet = ReceivePacket(socket_);
  // An error of the connection comes before what the other side said last.
  if (!packet.ok()) packet = ReceivePacket(socket_);
  v1::RegionResponse response;
  if (packet.ok() && response.ParseFromString(packet->bytes)) return response;
  return absl::UnavailableError(absl::StrCat("the connection to ", info_.socket, kWhat, ", ended"));
}

absl::Status RegionConnection::NoAnswer() const {
  return absl::DeadlineExceededError(absl::StrCat("no answer from ", info_.socket, kWhat));
}

}  // namespace opserve::client_internal
