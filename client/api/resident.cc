#include "client/api/resident.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/wire/wire.h"
#include "client/wire/wire_tensors.h"
#include "opserve/errors.h"
#include "proto/base/sha256.h"

namespace opserve::client_internal {
namespace {

constexpr char kCreate[] = "/opserve.v1.OperatorService/CreateTensor";
constexpr char kWrite[] = "/opserve.v1.OperatorService/WriteTensor";
constexpr char kRead[] = "/opserve.v1.OperatorService/ReadTensor";
constexpr char kRenew[] = "/opserve.v1.OperatorService/RenewTensors";
constexpr char kDelete[] = "/opserve.v1.OperatorService/DeleteTensors";
constexpr char kList[] = "/opserve.v1.OperatorService/ListTensors";

uint32_t SecondsOf(absl::Duration ttl) {
  const int64_t seconds = absl::ToInt64Seconds(absl::Ceil(ttl, absl::Seconds(1)));
  return static_cast<uint32_t>(
      std::clamp<int64_t>(seconds, 0, std::numeric_limits<uint32_t>::max()));
}

// Pieces of a tensor might leave a part of it zero, or hit its end late.
absl::Status CheckContent(const TensorView& content) {
  const absl::StatusOr<uint64_t> needed = ByteSize(content.spec());
  if (!needed.ok() || *needed == content.bytes().size()) return needed.status();
  return absl::InvalidArgumentError(absl::StrCat(ToString(content.spec()), " needs ", *needed,
                                                 " bytes, not ", content.bytes().size()));
}

absl::StatusOr<std::string> DigestOf(std::span<const std::byte> bytes) {
  try {
    Sha256 sha256;
    sha256.Add(bytes);
    const Sha256Digest digest = sha256.Finish();
    return std::string(digest.begin(), digest.end());
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("no memory to hash a tensor");
  }
}

v1::CreateTensorRequest RequestFor(const TensorSpec& spec, const ResidentOptions& resident) {
  v1::CreateTensorRequest request;
  EncodeSpec(spec, request.mutable_desc());
  request.set_ttl_s(SecondsOf(resident.ttl));
  request.set_label(resident.label);
  request.set_placement(static_cast<v1::DevicePreference>(resident.placement));
  request.set_device(resident.device);
  return request;
}

// Creates a tensor with what `message` holds of it.
absl::StatusOr<TensorLease> Create(ClientImpl& client, const OutgoingMessage& message,
                                   RetryState& retries) {
  ReceivedMessage received;
  v1::CreateTensorResponse response;
  retries.StartOver();
  absl::Status status = client.Call(kCreate, message, retries, received);
  if (status.ok()) status = Parse(received, response);
  if (!status.ok()) return status;
  return TensorLease{TensorHandle{response.tensor()}, absl::Seconds(response.ttl_s()),
                     response.has_content(), response.device()};
}

absl::Status Write(ClientImpl& client, const TensorHandle& tensor, uint64_t offset,
                   std::span<const std::byte> bytes, uint64_t piece_bytes, RetryState& retries) {
  v1::WriteTensorRequest header;
  header.set_tensor(tensor.id);
  absl::Status status;
  do {
    const auto piece = bytes.first(std::min<uint64_t>(bytes.size(), piece_bytes));
    header.set_offset(offset);
    ReceivedMessage response;
    retries.StartOver();
    status = client.Call(kWrite, {header.SerializeAsString(), {piece}}, retries, response);
    offset += piece.size();
    bytes = bytes.subspan(piece.size());
  } while (status.ok() && !bytes.empty());
  return status;
}

// Asks for `bytes` bytes; 0: all from `offset` on.
absl::Status Read(ClientImpl& client, const TensorHandle& tensor, uint64_t offset, uint64_t bytes,
                  RetryState& retries, ReceivedMessage& response, v1::ReadTensorResponse& header) {
  v1::ReadTensorRequest request;
  request.set_tensor(tensor.id);
  request.set_offset(offset);
  request.set_bytes(bytes);
  retries.StartOver();
  absl::Status status = client.Call(kRead, {request.SerializeAsString()}, retries, response);
  return status.ok() ? Parse(response, header) : status;
}

absl::Status ReadInto(ClientImpl& client, const TensorHandle& tensor, uint64_t offset,
                      std::span<std::byte> target, RetryState& retries) {
  const absl::StatusOr<uint64_t> piece_bytes = client.MaxPayloadBytes(retries);
  if (!piece_bytes.ok()) return piece_bytes.status();
  while (!target.empty()) {
    const uint64_t bytes = std::min<uint64_t>(target.size(), *piece_bytes);
    ReceivedMessage response;
    v1::ReadTensorResponse header;
    absl::Status status = Read(client, tensor, offset, bytes, retries, response, header);
    if (!status.ok()) return status;
    const size_t count = response.payload_count();
    if (count == 0 || response.payload_bytes(count - 1) != bytes) {
      return absl::DataLossError("the server's response has not the bytes that were asked for");
    }
    response.CopyPayload(count - 1, target.data());
    offset += bytes;
    target = target.subspan(bytes);
  }
  return absl::OkStatus();
}

// A tensor that does not fit into one message.
absl::StatusOr<Tensor> ReadInPieces(ClientImpl& client, const TensorHandle& tensor,
                                    RetryState& retries) {
  ReceivedMessage first_byte;
  v1::ReadTensorResponse header;
  absl::Status status = Read(client, tensor, 0, 1, retries, first_byte, header);
  if (!status.ok()) return status;
  absl::StatusOr<TensorSpec> spec = DecodeOutputSpec(header.desc());
  if (!spec.ok()) return spec.status();
  return client.MakeTensor(*std::move(spec), [&](std::span<std::byte> target) {
    return ReadInto(client, tensor, 0, target, retries);
  });
}

template <class Request>
Request RequestFor(const std::vector<TensorHandle>& tensors) {
  Request request;
  for (const TensorHandle& tensor : tensors) request.add_tensors(tensor.id);
  return request;
}

}  // namespace

absl::StatusOr<TensorLease> CreateTensor(ClientImpl& client, const TensorView& content,
                                         const ResidentOptions& resident,
                                         const CallOptions& options) {
  absl::Status status = CheckContent(content);
  if (!status.ok()) return status;
  RetryState retries = client.StartRetries(options);
  const absl::StatusOr<uint64_t> piece_bytes = client.MaxPayloadBytes(retries);
  if (!piece_bytes.ok()) return piece_bytes.status();

  v1::CreateTensorRequest request = RequestFor(content.spec(), resident);
  if (resident.skip_if_known) {
    absl::StatusOr<std::string> digest = DigestOf(content.bytes());
    if (!digest.ok()) return digest.status();
    request.set_sha256(*std::move(digest));
  }
  OutgoingMessage message = {request.SerializeAsString()};
  const bool is_whole = !resident.skip_if_known && content.bytes().size() <= *piece_bytes;
  if (is_whole) message.payloads = {content.bytes()};
  absl::StatusOr<TensorLease> lease = Create(client, message, retries);
  if (!lease.ok()) return lease;
  lease->was_known = resident.skip_if_known && lease->was_known;
  if (is_whole || lease->was_known) return lease;
  status = Write(client, lease->handle, 0, content.bytes(), *piece_bytes, retries);
  if (status.ok()) return lease;
  // Where that fails too, or the deadline has passed, its lease ends it.
  v1::DeleteTensorsResponse deleted;
  retries.StartOver();
  client.Call(kDelete, RequestFor<v1::DeleteTensorsRequest>({lease->handle}), retries, deleted)
      .IgnoreError();
  return status;
}

absl::StatusOr<TensorLease> CreateTensor(ClientImpl& client, const TensorSpec& spec,
                                         const ResidentOptions& resident,
                                         const CallOptions& options) {
  RetryState retries = client.StartRetries(options);
  absl::StatusOr<TensorLease> lease =
      Create(client, {RequestFor(spec, resident).SerializeAsString()}, retries);
  if (lease.ok()) lease->was_known = false;
  return lease;
}

absl::Status WriteTensor(ClientImpl& client, const TensorHandle& tensor, uint64_t offset,
                         std::span<const std::byte> bytes, const CallOptions& options) {
  RetryState retries = client.StartRetries(options);
  const absl::StatusOr<uint64_t> piece_bytes = client.MaxPayloadBytes(retries);
  if (!piece_bytes.ok()) return piece_bytes.status();
  return Write(client, tensor, offset, bytes, *piece_bytes, retries);
}

absl::StatusOr<Tensor> ReadTensor(ClientImpl& client, const TensorHandle& tensor,
                                  const CallOptions& options) {
  RetryState retries = client.StartRetries(options);
  ReceivedMessage response;
  v1::ReadTensorResponse header;
  const absl::Status status = Read(client, tensor, 0, 0, retries, response, header);
  // What is too large for a message stays so; anything else comes with a delay.
  if (absl::IsResourceExhausted(status) && !GetRetryDelay(status)) {
    return ReadInPieces(client, tensor, retries);
  }
  if (!status.ok()) return status;
  absl::StatusOr<OutputPlace> output =
      FindOutput(header.desc(), response, response.payload_count() - 1);
  if (!output.ok()) return output.status();
  return client.Gather(response, *std::move(output));
}

absl::Status ReadTensorInto(ClientImpl& client, const TensorHandle& tensor, uint64_t offset,
                            std::span<std::byte> target, const CallOptions& options) {
  RetryState retries = client.StartRetries(options);
  return ReadInto(client, tensor, offset, target, retries);
}

absl::StatusOr<absl::Duration> RenewTensors(ClientImpl& client,
                                            const std::vector<TensorHandle>& tensors,
                                            absl::Duration ttl, const CallOptions& options) {
  auto request = RequestFor<v1::RenewTensorsRequest>(tensors);
  request.set_ttl_s(SecondsOf(ttl));
  v1::RenewTensorsResponse response;
  const absl::Status status = client.Call(kRenew, request, options, response);
  if (!status.ok()) return status;
  return absl::Seconds(response.ttl_s());
}

absl::StatusOr<uint32_t> DeleteTensors(ClientImpl& client, const std::vector<TensorHandle>& tensors,
                                       const CallOptions& options) {
  v1::DeleteTensorsResponse response;
  const absl::Status status =
      client.Call(kDelete, RequestFor<v1::DeleteTensorsRequest>(tensors), options, response);
  if (!status.ok()) return status;
  return response.deleted();
}

absl::StatusOr<ResidentTensorList> ListTensors(ClientImpl& client, const CallOptions& options) {
  v1::ListTensorsResponse response;
  const absl::Status status = client.Call(kList, v1::ListTensorsRequest(), options, response);
  if (!status.ok()) return status;
  ResidentTensorList list;
  for (const v1::ResidentTensorInfo& tensor : response.tensors()) {
    list.tensors.push_back({TensorHandle{tensor.tensor()}, DecodeSpec(tensor.desc()),
                            tensor.bytes(), tensor.label(), absl::Seconds(tensor.ttl_s()),
                            tensor.device()});
  }
  list.bytes = response.bytes();
  list.max_bytes = response.max_bytes();
  return list;
}

}  // namespace opserve::client_internal
