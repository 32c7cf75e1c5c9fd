#include "client/memory/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace opserve::client_internal {
namespace {

// Memory that others can share.
class Memory {
 public:
  explicit Memory(uint64_t bytes)
      : fd_(memfd_create("opserve", MFD_CLOEXEC | MFD_ALLOW_SEALING)), bytes_(bytes) {}
  ~Memory() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // To be called once, before all others.
  absl::Status Map() {
    // What regions.proto asks for.
    constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_SEAL;
    if (fd_ && ftruncate(fd_.get(), static_cast<off_t>(bytes_)) == 0 &&
        fcntl(fd_.get(), F_ADD_SEALS, kSeals) == 0) {
      data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
      if (data_ != MAP_FAILED) return absl::OkStatus();
    }
    return Failure();
  }

  // Takes all pages, so that no access lacks memory and none is the server's.
  absl::Status Allocate() {
    int result = 0;
    do {
      result = fallocate(fd_.get(), 0, 0, static_cast<off_t>(bytes_));
    } while (result != 0 && errno == EINTR);
    return result == 0 ? absl::OkStatus() : Failure();
  }

  const UniqueFd& fd() const { return fd_; }
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(data_), bytes_}; }

 private:
  absl::Status Failure() const {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("cannot make shared memory of ", bytes_, " bytes"));
  }

  const UniqueFd fd_;
  const uint64_t bytes_;
  void* data_ = MAP_FAILED;
};

// What all who use a region share.
struct RegisteredRegion {
  ~RegisteredRegion() { connection->Unregister(id); }

  std::unique_ptr<const Memory> memory;
  std::shared_ptr<RegionConnection> connection;
  std::string id;
};

absl::StatusOr<std::unique_ptr<Memory>> MakeMemory(uint64_t bytes) {
  if (bytes == 0) return absl::InvalidArgumentError("shared memory needs at least one byte");
  auto memory = std::make_unique<Memory>(bytes);
  absl::Status mapped = memory->Map();
  if (!mapped.ok()) return mapped;
  return memory;
}

// The id of a new region.
absl::StatusOr<std::string> Register(Memory& memory, RegionConnection& connection,
                                     TimeLeft time_left) {
  const uint64_t bytes = memory.bytes().size();
  // The server refuses more without looking at it.
  if (bytes <= connection.max_bytes()) {
    absl::Status allocated = memory.Allocate();
    if (!allocated.ok()) return allocated;
  }
  return connection.Register(memory.fd().get(), bytes, time_left);
}

}  // namespace

absl::StatusOr<SharedRegion> SharedMemory::Create(uint64_t bytes, FindSocket find_socket,
                                                  TimeLeft time_left) {
  absl::StatusOr<std::unique_ptr<Memory>> memory = MakeMemory(bytes);
  if (!memory.ok()) return memory.status();
  std::shared_ptr<RegionConnection> connection = this->connection();
  absl::StatusOr<std::string> id = absl::UnavailableError("not connected");
  if (connection != nullptr) id = Register(**memory, *connection, time_left);
  if (absl::IsUnavailable(id.status())) {
    // This is the first region, or the server was restarted.
    absl::StatusOr<std::shared_ptr<RegionConnection>> replaced =
        Replace(connection, find_socket, time_left);
    if (!replaced.ok()) return replaced.status();
    connection = *std::move(replaced);
    id = Register(**memory, *connection, time_left);
  }
  if (!id.ok()) return id.status();
  const std::span<std::byte> mapped = (*memory)->bytes();
  const std::shared_ptr<const RegisteredRegion> region(
      new RegisteredRegion{*std::move(memory), std::move(connection), *std::move(id)});
  return SharedRegion({region, &region->id}, mapped);
}

std::shared_ptr<RegionConnection> SharedMemory::connection() {
  const MutexLock lock(mutex_);
  return connection_;
}

absl::StatusOr<std::shared_ptr<RegionConnection>> SharedMemory::Replace(
    const std::shared_ptr<RegionConnection>& lost, FindSocket find_socket, TimeLeft time_left) {
  const absl::StatusOr<SharedMemoryInfo> info = find_socket();
  if (!info.ok()) return info.status();
  absl::StatusOr<std::shared_ptr<RegionConnection>> made =
      RegionConnection::Connect(*info, time_left);
  if (!made.ok()) return made;
  const MutexLock lock(mutex_);
  // Another thread may have been faster.
  if (connection_ == lost) connection_ = *std::move(made);
  return connection_;
}

}  // namespace opserve::client_internal
