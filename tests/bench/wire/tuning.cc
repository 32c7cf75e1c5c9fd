#include "tests/bench/wire/tuning.h"

#include <grpc/impl/codegen/grpc_types.h>
#include <grpc/support/sync.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <climits>
#include <vector>

// gRPC exports these functions, and ChannelArguments takes such an object, but the header is not
// installed. Layout and names are those of gRPC 1.51, src/core/lib/iomgr/socket_mutator.h.
struct grpc_mutate_socket_info;
struct grpc_socket_mutator_vtable {
  bool (*mutate_fd)(int fd, grpc_socket_mutator* mutator);
  int (*compare)(grpc_socket_mutator* a, grpc_socket_mutator* b);
  void (*destroy)(grpc_socket_mutator* mutator);
  bool (*mutate_fd_2)(const grpc_mutate_socket_info* info, grpc_socket_mutator* mutator);
};
struct grpc_socket_mutator {
  const grpc_socket_mutator_vtable* vtable;
  gpr_refcount refcount;
};
void grpc_socket_mutator_init(grpc_socket_mutator* mutator,
                              const grpc_socket_mutator_vtable* vtable);

namespace opserve::wire_bench {
namespace {

bool SetCubic(int fd, grpc_socket_mutator* /*mutator*/) {
  constexpr char kCubic[] = "cubic";
  // Unix sockets have no such option and do not need it.
  (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kCubic, sizeof(kCubic) - 1);
  return true;
}

int Compare(grpc_socket_mutator* /*a*/, grpc_socket_mutator* /*b*/) { return 0; }

void Destroy(grpc_socket_mutator* mutator) { delete mutator; }

constexpr grpc_socket_mutator_vtable kCubicTable = {SetCubic, Compare, Destroy, nullptr};

class CubicOption : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments* arguments) override { UseCubic(*arguments); }
  void UpdatePlugins(
      std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* /*plugins*/) override {}
};

}  // namespace

void KeepPages() {
  constexpr int kTopPad = 64 << 20;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, kTopPad);
}

void UseCubic(grpc::ChannelArguments& arguments) {
  auto* const mutator = new grpc_socket_mutator;
  grpc_socket_mutator_init(mutator, &kCubicTable);
  // Takes over the reference.
  arguments.SetSocketMutator(mutator);
}

std::unique_ptr<grpc::ServerBuilderOption> CubicListeners() {
  return std::make_unique<CubicOption>();
}

}  // namespace opserve::wire_bench
