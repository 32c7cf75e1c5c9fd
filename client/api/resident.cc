#include "client/api/resident.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
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
  request.set_is_volatile(resident.is_volatile);
  return request;
}

// A message without payloads about the tensor with this id.
template <class Request>
OutgoingMessage MessageAbout(absl::string_view id, const Request& request) {
  OutgoingMessage message = {request.SerializeAsString()};
  message.host = std::string(HostOf(id));
  return message;
}

// Creates a tensor with what `message` holds of it, then goes on with `then`.
Step<TensorLease> Create(ClientImpl& client, OutgoingMessage message,
                         std::function<Next<TensorLease>(TensorLease lease)> then) {
  return {kCreate, std::move(message),
          [&client, then = std::move(then)](Answer& answer) -> Next<TensorLease> {
            if (!answer.status.ok()) return answer.status;
            v1::CreateTensorResponse response;
            absl::Status parsed = Parse(answer.message, response);
            if (parsed.ok()) parsed = client.LearnHost(response.tensor(), answer.host);
            if (!parsed.ok()) return parsed;
            return then({TensorHandle{response.tensor()}, absl::Seconds(response.ttl_s()),
                         response.has_content(), response.device()});
          }};
}

// Sends `bytes` in pieces of `piece_bytes`, then goes on with what became of it.
template <class T>
Next<T> Write(const TensorHandle& tensor, uint64_t offset, std::span<const std::byte> bytes,
              uint64_t piece_bytes, std::function<Next<T>(const absl::Status& written)> then) {
  const auto piece = bytes.first(std::min<uint64_t>(bytes.size(), piece_bytes));
  const auto rest = bytes.subspan(piece.size());
  v1::WriteTensorRequest header;
  header.set_tensor(tensor.id);
  header.set_offset(offset);
  const uint64_t end = offset + piece.size();
  OutgoingMessage message = MessageAbout(tensor.id, header);
  message.payloads = {piece};
  return Step<T>{kWrite, std::move(message),
                 [tensor, end, rest, piece_bytes, then](Answer& answer) -> Next<T> {
                   if (!answer.status.ok() || rest.empty()) return then(answer.status);
                   return Write<T>(tensor, end, rest, piece_bytes, then);
                 }};
}

// Asks for `bytes` bytes; 0: all from `offset` on.
OutgoingMessage ReadRequest(const TensorHandle& tensor, uint64_t offset, uint64_t bytes) {
  v1::ReadTensorRequest request;
  request.set_tensor(tensor.id);
  request.set_offset(offset);
  request.set_bytes(bytes);
  return MessageAbout(tensor.id, request);
}

// Copies the bytes that were asked for.
absl::Status CopyRange(const Answer& answer, std::span<std::byte> target) {
  if (!answer.status.ok()) return answer.status;
  v1::ReadTensorResponse header;
  absl::Status parsed = Parse(answer.message, header);
  if (!parsed.ok()) return parsed;
  const size_t count = answer.message.payload_count();
  if (count == 0 || answer.message.payload_bytes(count - 1) != target.size()) {
    return absl::DataLossError("the server's response has not the bytes that were asked for");
  }
  answer.message.CopyPayload(count - 1, target.data());
  return absl::OkStatus();
}

// Fills `target` in pieces of `piece_bytes`, then goes on with `then`.
template <class T>
Next<T> ReadInto(const TensorHandle& tensor, uint64_t offset, std::span<std::byte> target,
                 uint64_t piece_bytes, std::function<Next<T>()> then) {
  if (target.empty()) return then();
  const auto piece = target.first(std::min<uint64_t>(target.size(), piece_bytes));
  const auto rest = target.subspan(piece.size());
  const uint64_t end = offset + piece.size();
  return Step<T>{kRead, ReadRequest(tensor, offset, piece.size()),
                 [tensor, end, piece, rest, piece_bytes, then](Answer& answer) -> Next<T> {
                   absl::Status copied = CopyRange(answer, piece);
                   if (!copied.ok()) return copied;
                   return ReadInto<T>(tensor, end, rest, piece_bytes, then);
                 }};
}

// Reads a tensor of this layout, which does not fit into one message.
Next<Tensor> ReadInPieces(ClientImpl& client, const TensorHandle& tensor, const TensorSpec& spec) {
  absl::StatusOr<std::shared_ptr<const HostBuffer>> taken = client.TakeBuffer(spec);
  if (!taken.ok()) return taken.status();
  const std::shared_ptr<const HostBuffer> buffer = *std::move(taken);
  const std::span<std::byte> target(buffer->data(), *ByteSize(spec));
  const std::function<Next<Tensor>()> finish = [spec, buffer, target]() -> Next<Tensor> {
    return Tensor::FromShared(spec, target, buffer);
  };
  return client.WithMaxPayload<Tensor>([tensor, target, finish](uint64_t piece_bytes) {
    return ReadInto<Tensor>(tensor, 0, target, piece_bytes, finish);
  });
}

// Asks for the layout of a tensor with its first byte, then reads it in pieces.
Step<Tensor> ReadLarge(ClientImpl& client, const TensorHandle& tensor) {
  return {kRead, ReadRequest(tensor, 0, 1), [&client, tensor](Answer& answer) -> Next<Tensor> {
            if (!answer.status.ok()) return answer.status;
            v1::ReadTensorResponse header;
            absl::Status parsed = Parse(answer.message, header);
            if (!parsed.ok()) return parsed;
            absl::StatusOr<TensorSpec> spec = DecodeOutputSpec(header.desc());
            if (!spec.ok()) return spec.status();
            return ReadInPieces(client, tensor, *std::move(spec));
          }};
}

template <class Request>
Request RequestFor(const std::vector<TensorHandle>& tensors) {
  Request request;
  for (const TensorHandle& tensor : tensors) request.add_tensors(tensor.id);
  return request;
}

// The id that says to which host a message about tensors of one host goes.
absl::string_view FirstOf(const std::vector<TensorHandle>& tensors) {
  return tensors.empty() ? absl::string_view() : tensors.front().id;
}

ResidentTensorList DecodeTensors(const v1::ListTensorsResponse& response) {
  ResidentTensorList list;
  for (const v1::ResidentTensorInfo& tensor : response.tensors()) {
    list.tensors.push_back({TensorHandle{tensor.tensor()}, DecodeSpec(tensor.desc()),
                            tensor.bytes(), tensor.label(), absl::Seconds(tensor.ttl_s()),
                            tensor.device(), tensor.is_volatile()});
  }
  list.bytes = response.bytes();
  list.max_bytes = response.max_bytes();
  return list;
}

// Gives up a tensor that could not be filled. Where that fails too, or the deadline has passed, its
// lease ends it.
Step<TensorLease> GiveUp(const TensorHandle& tensor, const absl::Status& why) {
  return {kDelete, MessageAbout(tensor.id, RequestFor<v1::DeleteTensorsRequest>({tensor})),
          [why](Answer&) -> Next<TensorLease> { return why; }};
}

// Creates a tensor with its content, in one message where that holds it.
Next<TensorLease> CreateWith(ClientImpl& client, std::span<const std::byte> bytes,
                             v1::CreateTensorRequest request, bool skip_if_known,
                             uint64_t piece_bytes) {
  if (skip_if_known) {
    absl::StatusOr<std::string> digest = DigestOf(bytes);
    if (!digest.ok()) return digest.status();
    request.set_sha256(*std::move(digest));
  }
  OutgoingMessage message = {request.SerializeAsString()};
  const bool is_whole = !skip_if_known && bytes.size() <= piece_bytes;
  if (is_whole) message.payloads = {bytes};
  const auto fill = [=](TensorLease lease) -> Next<TensorLease> {
    lease.was_known = skip_if_known && lease.was_known;
    if (is_whole || lease.was_known) return lease;
    return Write<TensorLease>(lease.handle, 0, bytes, piece_bytes,
                              [lease](const absl::Status& written) -> Next<TensorLease> {
                                if (!written.ok()) return GiveUp(lease.handle, written);
                                return lease;
                              });
  };
  return Create(client, std::move(message), fill);
}

}  // namespace

Operation<TensorLease> CreateTensor(ClientImpl& client, const TensorView& content,
                                    const ResidentOptions& resident, const CallOptions& options) {
  RetryState retries = client.StartRetries(options);
  absl::Status checked = CheckContent(content);
  if (!checked.ok()) return {retries, checked};
  const v1::CreateTensorRequest request = RequestFor(content.spec(), resident);
  return {retries, client.WithMaxPayload<TensorLease>(
                       [&client, bytes = content.bytes(), request,
                        skip_if_known = resident.skip_if_known](uint64_t piece_bytes) {
                         return CreateWith(client, bytes, request, skip_if_known, piece_bytes);
                       })};
}

Operation<TensorLease> CreateTensor(ClientImpl& client, const TensorSpec& spec,
                                    const ResidentOptions& resident, const CallOptions& options) {
  const auto finish = [](TensorLease lease) -> Next<TensorLease> {
    lease.was_known = false;
    return lease;
  };
  return {client.StartRetries(options),
          Create(client, {RequestFor(spec, resident).SerializeAsString()}, finish)};
}

Operation<void> WriteTensor(ClientImpl& client, const TensorHandle& tensor, uint64_t offset,
                            std::span<const std::byte> bytes, const CallOptions& options) {
  const auto write = [=](uint64_t piece_bytes) {
    return Write<void>(tensor, offset, bytes, piece_bytes,
                       [](const absl::Status& written) -> Next<void> { return written; });
  };
  return {client.StartRetries(options), client.WithMaxPayload<void>(write)};
}

Operation<Tensor> ReadTensor(ClientImpl& client, const TensorHandle& tensor,
                             const CallOptions& options) {
  const auto gather = [&client, tensor](Answer& answer) -> Next<Tensor> {
    // What is too large for a message stays so; anything else comes with a delay.
    if (absl::IsResourceExhausted(answer.status) && !GetRetryDelay(answer.status)) {
      return ReadLarge(client, tensor);
    }
    if (!answer.status.ok()) return answer.status;
    v1::ReadTensorResponse header;
    absl::Status parsed = Parse(answer.message, header);
    if (!parsed.ok()) return parsed;
    absl::StatusOr<ReceivedOutput> output =
        FindOutput(header.desc(), answer.message, answer.message.payload_count() - 1);
    if (!output.ok()) return output.status();
    return client.Gather(answer.message, *std::move(output));
  };
  return {client.StartRetries(options), Step<Tensor>{kRead, ReadRequest(tensor, 0, 0), gather}};
}

Operation<void> ReadTensorInto(ClientImpl& client, const TensorHandle& tensor, uint64_t offset,
                               std::span<std::byte> target, const CallOptions& options) {
  const auto read = [=](uint64_t piece_bytes) {
    return ReadInto<void>(tensor, offset, target, piece_bytes,
                          []() -> Next<void> { return absl::OkStatus(); });
  };
  return {client.StartRetries(options), client.WithMaxPayload<void>(read)};
}

Operation<absl::Duration> RenewTensors(ClientImpl& client, const std::vector<TensorHandle>& tensors,
                                       absl::Duration ttl, const CallOptions& options) {
  auto request = RequestFor<v1::RenewTensorsRequest>(tensors);
  request.set_ttl_s(SecondsOf(ttl));
  return client.Ask<v1::RenewTensorsResponse>(
      kRenew, request, options,
      [](const v1::RenewTensorsResponse& response) { return absl::Seconds(response.ttl_s()); },
      FirstOf(tensors));
}

Operation<uint32_t> DeleteTensors(ClientImpl& client, const std::vector<TensorHandle>& tensors,
                                  const CallOptions& options) {
  return client.Ask<v1::DeleteTensorsResponse>(
      kDelete, RequestFor<v1::DeleteTensorsRequest>(tensors), options,
      [](const v1::DeleteTensorsResponse& response) { return response.deleted(); },
      FirstOf(tensors));
}

Operation<ResidentTensorList> ListTensors(ClientImpl& client, const CallOptions& options) {
  return client.AskOne<v1::ListTensorsResponse>(kList, v1::ListTensorsRequest(), options,
                                                DecodeTensors);
}

}  // namespace opserve::client_internal
