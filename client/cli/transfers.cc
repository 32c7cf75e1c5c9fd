#include "client/cli/transfers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "opserve/errors.h"

namespace opserve::cli {
namespace {

// Large enough that asking for each piece costs nothing that shows.
constexpr uint64_t kPieceBytes = uint64_t{8} << 20;

// A line on a terminal that says how far a transfer has come; nothing where all is one piece.
class Progress {
 public:
  Progress(uint64_t total, const Terminal& terminal)
      : total_(total),
        terminal_(terminal),
        shown_(terminal.err_is_terminal && total > kPieceBytes) {}
  ~Progress() {
    if (shown_) terminal_.err << "\r\033[K" << std::flush;
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(uint64_t done) const {
    if (!shown_) return;
    terminal_.err << '\r' << ShowBytes(static_cast<double>(done)) << " of "
                  << ShowBytes(static_cast<double>(total_)) << " (" << done * 100 / total_
                  << "%)\033[K" << std::flush;
  }

 private:
  const uint64_t total_;
  const Terminal& terminal_;
  const bool shown_;
};

// Calls `move(offset, bytes)` for one piece after the other until all are moved or one fails.
template <class Move>
absl::Status MovePieces(uint64_t total, const Terminal& terminal, const Move& move) {
  const Progress progress(total, terminal);
  for (uint64_t done = 0; done < total;) {
    progress.Show(done);
    const uint64_t bytes = std::min(kPieceBytes, total - done);
    absl::Status moved = move(done, bytes);
    if (!moved.ok()) return moved;
    done += bytes;
  }
  return absl::OkStatus();
}

// Why the tensor was not found, with the host to ask where one had to be named.
absl::Status NotListed(const absl::Status& status, const TensorHandle& handle) {
  if (GetErrorReason(status) != kOneHostNeeded) return status;
  const absl::string_view host = HostOf(handle.id);
  absl::Status told(
      status.code(),
      host.empty()
          ? absl::StrCat("tensor '", handle.id,
                         "' is at one of several hosts, and its handle does not tell which; give "
                         "--address the one that has it")
          : absl::StrCat("tensor '", handle.id, "' is at ", host,
                         ", which alone can be asked about it; give it as --address ", host));
  status.ForEachPayload(
      [&](absl::string_view type, const absl::Cord& payload) { told.SetPayload(type, payload); });
  return told;
}

}  // namespace

absl::StatusOr<ResidentTensorInfo> FindTensor(Client& client, const TensorHandle& handle) {
  const absl::StatusOr<ResidentTensorList> list = client.ListTensors();
  if (!list.ok()) return NotListed(list.status(), handle);
  const auto found =
      std::find_if(list->tensors.begin(), list->tensors.end(),
                   [&](const ResidentTensorInfo& info) { return info.handle == handle; });
  if (found != list->tensors.end()) return *found;
  return absl::NotFoundError(
      absl::StrCat("this client has no tensor '", handle.id,
                   "'; its lease may have ended. `opserve tensor list` shows those that it has"));
}

absl::StatusOr<TensorLease> CreateWithProgress(Client& client, const Tensor& tensor,
                                               const ResidentOptions& options,
                                               const Terminal& terminal) {
  if (options.skip_if_known || tensor.bytes().size() <= kPieceBytes) {
    return client.CreateTensor(tensor.view(), options);
  }
  absl::StatusOr<TensorLease> lease = client.CreateTensor(tensor.spec(), options);
  if (!lease.ok()) return lease;
  const absl::Status written =
      WriteWithProgress(client, lease->handle, 0, tensor.bytes(), terminal);
  if (written.ok()) return lease;
  // Where that fails too, the end of its lease deletes it.
  client.DeleteTensors({lease->handle}).IgnoreError();
  return written;
}

absl::Status WriteWithProgress(Client& client, const TensorHandle& handle, uint64_t offset,
                               std::span<const std::byte> bytes, const Terminal& terminal) {
  return MovePieces(bytes.size(), terminal, [&](uint64_t done, uint64_t count) {
    return client.WriteTensor(handle, offset + done, bytes.subspan(done, count));
  });
}

absl::StatusOr<Tensor> ReadWithProgress(Client& client, const ResidentTensorInfo& info,
                                        const Terminal& terminal) {
  const absl::StatusOr<uint64_t> size = ByteSize(info.spec);
  if (!size.ok()) return size.status();
  std::string bytes(*size, '\0');
  const auto target = std::as_writable_bytes(std::span(bytes));
  absl::Status read = MovePieces(*size, terminal, [&](uint64_t done, uint64_t count) {
    return client.ReadTensorInto(info.handle, done, target.subspan(done, count));
  });
  if (!read.ok()) return read;
  return Tensor::FromBytes(info.spec, std::move(bytes));
}

}  // namespace opserve::cli
