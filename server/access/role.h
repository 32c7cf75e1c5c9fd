// File: server/access/role.h
//
// What a caller may do at the server.

#ifndef OPSERVE_SERVER_ACCESS_ROLE_H_
#define OPSERVE_SERVER_ACCESS_ROLE_H_

#include <cstdint>
#include <initializer_list>

#include "absl/strings/string_view.h"

namespace opserve {

// Every method needs one of these. The last two are no roles of a policy file: it opens or closes
// the services of gRPC as a whole.
enum class Role : uint8_t {
  kExecute,     // run operators
  kTensors,     // keep tensors at the server
  kRegions,     // share memory with the server
  kAdmin,       // what disturbs others, such as the test of a device
  kObserve,     // read what the server offers and how it is
  kHealth,      // grpc.health.v1
  kReflection,  // grpc.reflection.v1alpha
};
inline constexpr int kRoleCount = 7;

// "execute", "tensors", ... Lives for ever.
constexpr absl::string_view NameOf(Role role) {
  constexpr absl::string_view kNames[kRoleCount] = {"execute", "tensors", "regions",   "admin",
                                                    "observe", "health",  "reflection"};
  return kNames[static_cast<int>(role)];
}

// A value type.
class RoleSet {
 public:
  constexpr RoleSet() = default;
  constexpr RoleSet(std::initializer_list<Role> roles) {
    for (const Role role : roles) Add(role);
  }
  // Every role that there is.
  static constexpr RoleSet All() {
    RoleSet all;
    for (int i = 0; i < kRoleCount; ++i) all.Add(static_cast<Role>(i));
    return all;
  }

  constexpr void Add(Role role) { bits_ = static_cast<uint8_t>(bits_ | BitOf(role)); }
  constexpr void Remove(Role role) { bits_ = static_cast<uint8_t>(bits_ & ~BitOf(role)); }
  constexpr bool Has(Role role) const { return (bits_ & BitOf(role)) != 0; }
  bool operator==(const RoleSet&) const = default;

 private:
  static constexpr uint8_t BitOf(Role role) {
    return static_cast<uint8_t>(1u << static_cast<unsigned>(role));
  }

  uint8_t bits_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_ACCESS_ROLE_H_
