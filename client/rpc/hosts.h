// File: client/rpc/hosts.h
//
// The hosts of a client, and which of them an attempt goes to: the host that has what the call
// refers to, else those of the target in turn.

#ifndef OPSERVE_CLIENT_RPC_HOSTS_H_
#define OPSERVE_CLIENT_RPC_HOSTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/rpc/connections.h"
#include "client/rpc/route.h"
#include "proto/base/mutex.h"

namespace opserve::client_internal {

// Whether a call could begin at once.
enum class HostState : uint8_t {
  kReady,       // it is connected, and says that it is healthy
  kConnecting,  // nobody knows yet
  kFailed,      // it cannot be reached, or is not healthy
};

// A host of the target as ChooseHost sees it.
struct HostLoad {
  HostState state = HostState::kReady;
  int calls = 0;            // under way
  bool has_failed = false;  // the call that is to begin
};

// The host that a call goes to which any will do for: of those that can be reached, those that it
// has not failed on, and of these those in the best state, the next in turn from number `turn` on.
// A host with kMostLead calls more than another one is left out: it is slow, or nobody knows yet
// that it is gone. Pure.
size_t ChooseHost(const std::vector<HostLoad>& hosts, size_t turn);
inline constexpr int kMostLead = 2;

// Thread-safe. All calls must have ended when it is destroyed.
class Hosts {
 public:
  // Makes the connections to an address. `is_among_several`: whether calls are to go to another
  // host while it is not healthy. None where it must not be connected to.
  using Connect = std::function<std::vector<ClientConnection>(const std::string& address,
                                                              bool is_among_several)>;

  // `addresses`: of the target, at least one.
  Hosts(const std::vector<std::string>& addresses, Connect connect);

  // Whether calls that name no host may go to one of several.
  bool has_several() const { return has_several_; }

  // Begins an attempt, and notes in `route` where it goes. `name`: of the host that it is for, as
  // that calls itself; empty: any of the target. So it is for one that is not known.
  const ClientConnection& Begin(absl::string_view name, Route& route);
  // Ends it.
  void End(const ClientConnection& connection);
  // Notes that it failed, and where the next one would go. A host that refuses what is for `name`
  // as that of another one gets no more of it: calls for it go straight to the address of that
  // name.
  void Judge(const absl::Status& failure, absl::string_view name, Route& route);

  // Takes note of what the server calls itself that answered an attempt to host number `number`.
  // Where that stands for several hosts, as names and proxies do, calls for it go straight to it
  // from now on. A second name proves a proxy, but not at an address of this machine: a server that
  // was started anew may call itself otherwise. There only refusals prove it.
  void Learn(size_t number, const std::string& name);

  // The first address of the target that is on this machine; empty: none is.
  std::string local() const;

 private:
  struct Host {
    std::string address;
    std::unique_ptr<Connections> connections;
    int calls = 0;  // counted for hosts of the target
    // What it calls itself, where it told. True: calls for the name go there, unless it stands for
    // several. False: it has refused what is for that name.
    std::map<std::string, bool, std::less<>> names = {};
    bool stands_for_several = false;
  };

  std::unique_ptr<Host> MakeHost(const std::string& address, size_t number, bool is_among_several);
  HostState StateOf(size_t number);
  std::optional<size_t> Find(absl::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has calls for `name` go there.
  void GoStraightTo(const std::string& name);

  const Connect connect_;
  const size_t listed_;  // hosts of the target come first
  const bool has_several_;
  mutable Mutex mutex_;
  // Their addresses and connections never change.
  std::vector<std::unique_ptr<Host>> hosts_ ABSL_GUARDED_BY(mutex_);
  size_t turn_ ABSL_GUARDED_BY(mutex_) = 0;
  // A connection of each host of the target, to look at without the lock: gRPC may call back.
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_HOSTS_H_
