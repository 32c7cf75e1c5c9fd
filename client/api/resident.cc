#include "client/api/resident.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/rpc/host_refusal.h"
#include "client/wire/wire.h"
#include "client/wire/wire_tensors.h"
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

// What a server says of a message, or of its tensors, that its limits do not allow; gRPC says it
// without a reason. A server that is full gives a delay instead.
bool IsTooLarge(const absl::Status& status) {
  return absl::IsResourceExhausted(status) && HostRefusalOf(status) != HostRefusal::kNone;
}

// What is left to move between memory of the caller and a tensor, and what follows: to the tensor
// where the bytes are const, else from it.
template <class T, class Byte>
struct Transfer {
  ClientImpl& client;
  TensorHandle tensor;
  uint64_t offset;
  std::span<Byte> bytes;
  std::function<Next<T>(const absl::Status& moved)> then;
  // Whether the host was asked for its limit after it refused a piece.
  bool has_asked_anew = false;
};

// The message that moves a piece, and how it went.
template <class T>
Step<T> PieceStep(const TensorHandle& tensor, uint64_t offset, std::span<const std::byte> piece,
                  std::function<Next<T>(const absl::Status& moved)> then) {
  v1::WriteTensorRequest header;
  header.set_tensor(tensor.id);
  header.set_offset(offset);
  OutgoingMessage message = MessageAbout(tensor.id, header);
  message.payloads = {piece};
  return {kWrite, std::move(message), [then](Answer& answer) { return then(answer.status); }};
}
template <class T>
Step<T> PieceStep(const TensorHandle& tensor, uint64_t offset, std::span<std::byte> piece,
                  std::function<Next<T>(const absl::Status& moved)> then) {
  return {kRead, ReadRequest(tensor, offset, piece.size()),
          [piece, then](Answer& answer) { return then(CopyRange(answer, piece)); }};
}

template <class T, class Byte>
Next<T> MoveSmaller(Transfer<T, Byte> left, uint64_t refused_bytes, const absl::Status& refusal);

// Moves it in pieces of `piece_bytes`, or of what the host takes now if it refuses these.
template <class T, class Byte>
Step<T> Move(const Transfer<T, Byte>& left, uint64_t piece_bytes) {
  const auto piece = left.bytes.first(std::min<uint64_t>(left.bytes.size(), piece_bytes));
  const auto go_on = [left, piece_bytes, moved = piece.size()](const absl::Status& status) {
    if (IsTooLarge(status) && !left.has_asked_anew) return MoveSmaller(left, moved, status);
    Transfer<T, Byte> rest = left;
    rest.offset += moved;
    rest.bytes = rest.bytes.subspan(moved);
    if (!status.ok() || rest.bytes.empty()) return rest.then(status);
    return Next<T>(Move(rest, piece_bytes));
  };
  return PieceStep<T>(left.tensor, left.offset, piece, go_on);
}

// Goes on after `refusal`, if the host says that it takes less: it may have been started anew.
template <class T, class Byte>
Next<T> MoveSmaller(Transfer<T, Byte> left, uint64_t refused_bytes, const absl::Status& refusal) {
  left.has_asked_anew = true;
  const std::string host(HostOf(left.tensor.id));
  left.client.OnRefusedPayload(host, refused_bytes);
  const auto go_on = [=](const absl::StatusOr<uint64_t>& piece_bytes) -> Next<T> {
    if (!piece_bytes.ok()) return left.then(piece_bytes.status());
    if (*piece_bytes >= refused_bytes) return left.then(refusal);
    return Move(left, *piece_bytes);
  };
  return left.client.template WithMaxPayload<T>(host, go_on);
}

// Moves it in pieces that the host of the tensor takes.
template <class T, class Byte>
Next<T> MoveAll(const Transfer<T, Byte>& all) {
  const auto begin = [all](const absl::StatusOr<uint64_t>& piece_bytes) -> Next<T> {
    if (!piece_bytes.ok()) return all.then(piece_bytes.status());
    return Move(all, *piece_bytes);
  };
  return all.client.template WithMaxPayload<T>(std::string(HostOf(all.tensor.id)), begin);
}

// Reads a tensor of this layout, which does not fit into one message.
Next<Tensor> ReadInPieces(ClientImpl& client, const TensorHandle& tensor, const TensorSpec& spec) {
  absl::StatusOr<std::shared_ptr<const HostBuffer>> taken = client.TakeBuffer(spec);
  if (!taken.ok()) return taken.status();
  const std::shared_ptr<const HostBuffer> buffer = *std::move(taken);
  const std::span<std::byte> target(buffer->data(), *ByteSize(spec));
  const auto finish = [spec, buffer, target](const absl::Status& read) -> Next<Tensor> {
    if (!read.ok()) return read;
    return Tensor::FromShared(spec, target, buffer);
  };
  return MoveAll(Transfer<Tensor, std::byte>{client, tensor, 0, target, finish});
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

// Of a tensor that was created without asking for content that is known.
Next<TensorLease> WithoutKnownContent(TensorLease lease) {
  lease.was_known = false;
  return lease;
}

// Creates a tensor and sends its content behind, unless that is known there already.
Step<TensorLease> CreateThenFill(ClientImpl& client, std::span<const std::byte> bytes,
                                 const v1::CreateTensorRequest& request) {
  const auto fill = [&client, bytes, may_be_known = !request.sha256().empty()](TensorLease lease) {
    lease.was_known = may_be_known && lease.was_known;
    if (lease.was_known) return Next<TensorLease>(lease);
    const auto finish = [lease](const absl::Status& written) -> Next<TensorLease> {
      if (!written.ok()) return GiveUp(lease.handle, written);
      return lease;
    };
    return MoveAll(Transfer<TensorLease, const std::byte>{client, lease.handle, 0, bytes, finish});
  };
  return Create(client, {request.SerializeAsString()}, fill);
}

// Creates a tensor with its content in one message; where no host takes that, in several.
Step<TensorLease> CreateWhole(ClientImpl& client, std::span<const std::byte> bytes,
                              const v1::CreateTensorRequest& request) {
  OutgoingMessage message = {request.SerializeAsString()};
  message.payloads = {bytes};
  Step<TensorLease> step = Create(client, std::move(message), WithoutKnownContent);
  step.then = [&client, bytes, request,
               then = std::move(step.then)](Answer& answer) -> Next<TensorLease> {
    if (!IsTooLarge(answer.status)) return then(answer);
    client.OnRefusedPayload(/*host=*/{}, bytes.size());
    return CreateThenFill(client, bytes, request);
  };
  return step;
}

}  // namespace

Operation<TensorLease> CreateTensor(ClientImpl& client, const TensorView& content,
                                    const ResidentOptions& resident, const CallOptions& options) {
  RetryState retries = client.StartRetries(options);
  absl::Status checked = CheckContent(content);
  if (!checked.ok()) return {retries, checked};
  v1::CreateTensorRequest request = RequestFor(content.spec(), resident);
  const std::span<const std::byte> bytes = content.bytes();
  if (resident.skip_if_known) {
    absl::StatusOr<std::string> digest = DigestOf(bytes);
    if (!digest.ok()) return {retries, digest.status()};
    request.set_sha256(*std::move(digest));
    return {retries, CreateThenFill(client, bytes, request)};
  }
  const auto create = [&client, bytes, request](const absl::StatusOr<uint64_t>& most_bytes) {
    if (!most_bytes.ok()) return Next<TensorLease>(most_bytes.status());
    const bool is_whole = bytes.size() <= *most_bytes;
    return Next<TensorLease>((is_whole ? CreateWhole : CreateThenFill)(client, bytes, request));
  };
  return {retries, client.WithMaxPayload<TensorLease>(/*host=*/{}, create)};
}

Operation<TensorLease> CreateTensor(ClientImpl& client, const TensorSpec& spec,
                                    const ResidentOptions& resident, const CallOptions& options) {
  return {client.StartRetries(options),
          Create(client, {RequestFor(spec, resident).SerializeAsString()}, WithoutKnownContent)};
}

Operation<void> WriteTensor(ClientImpl& client, const TensorHandle& tensor, uint64_t offset,
                            std::span<const std::byte> bytes, const CallOptions& options) {
  const auto finish = [](const absl::Status& written) -> Next<void> { return written; };
  return {client.StartRetries(options),
          MoveAll(Transfer<void, const std::byte>{client, tensor, offset, bytes, finish})};
}

Operation<Tensor> ReadTensor(ClientImpl& client, const TensorHandle& tensor,
                             const CallOptions& options) {
  const auto gather = [&client, tensor](Answer& answer) -> Next<Tensor> {
    if (IsTooLarge(answer.status)) return ReadLarge(client, tensor);
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
  RetryState retries = client.StartRetries(options);
  if (target.empty()) {
    // No bytes would be all. The byte before them is there where the place of none is valid.
    OutgoingMessage request = ReadRequest(tensor, std::max<uint64_t>(offset, 1) - 1, 1);
    return {retries, Step<void>{kRead, std::move(request),
                                [](Answer& answer) -> Next<void> { return answer.status; }}};
  }
  const auto finish = [](const absl::Status& read) -> Next<void> { return read; };
  return {retries, MoveAll(Transfer<void, std::byte>{client, tensor, offset, target, finish})};
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
