// File: server/access/known_caller.h
//
// Who it was that called last by a connection.

#ifndef OPSERVE_SERVER_ACCESS_KNOWN_CALLER_H_
#define OPSERVE_SERVER_ACCESS_KNOWN_CALLER_H_

#include <openssl/crypto.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/access/caller.h"
#include "server/edge/connection_note.h"

namespace opserve {

// A caller, what he showed, and how long that proves the same. Kept with the connection
// (server/edge/connection_peer.h), whose other end is always the same. Immutable.
class KnownCaller final : public ConnectionNote {
 public:
  // Bounds what a connection keeps: more than a token that the server makes takes. Others that are
  // on its list may be longer, and are looked up with each call.
  static constexpr size_t kMostKeptBytes = 256;
  // Whether what `proof`, which is clear, shows may be kept. The name is bounded anyway.
  static bool Keeps(const CallProof& proof) { return proof.authorization.size() <= kMostKeptBytes; }

  // `version`: of the files by which he was known. `expires`: of his token.
  KnownCaller(const CallProof& proof, Caller caller, uint64_t version, absl::Time expires)
      : authorization_(proof.authorization),
        name_(proof.name),
        has_name_(proof.has_name),
        caller_(std::move(caller)),
        version_(version),
        expires_(expires) {}

  const Caller& caller() const { return caller_; }

  // Whether a call that shows `proof`, which is clear, on the same connection is the same caller's,
  // by files of this version.
  bool Shows(const CallProof& proof, uint64_t version) const {
    // In a time that does not tell how much of the token was right: a proxy may send the calls of
    // many by one connection.
    return version == version_ && proof.authorization.size() == authorization_.size() &&
           CRYPTO_memcmp(proof.authorization.data(), authorization_.data(),
                         authorization_.size()) == 0 &&
           proof.has_name == has_name_ && proof.name == name_;
  }

  // From then on the token is of no use.
  absl::Time expires() const { return expires_; }

 private:
  const std::string authorization_;
  const std::string name_;
  const bool has_name_;
  const Caller caller_;
  const uint64_t version_;
  const absl::Time expires_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_ACCESS_KNOWN_CALLER_H_
