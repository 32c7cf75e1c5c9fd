// File: proto/base/sha256.h
//
// SHA-256, piece by piece; OpenSSL's.

#ifndef OPSERVE_PROTO_BASE_SHA256_H_
#define OPSERVE_PROTO_BASE_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/strings/string_view.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace opserve {

// A digest.
using Sha256Digest = std::array<uint8_t, 32>;

// The digest whose bytes are `bytes`; nullopt unless there are 32.
std::optional<Sha256Digest> Sha256DigestFrom(absl::string_view bytes);

// Not thread-safe. Throws std::bad_alloc.
class Sha256 {
 public:
  Sha256();

  // Adds bytes.
  void Add(std::span<const std::byte> bytes);

  // The digest of all bytes that were added. To be called once, at the end.
  Sha256Digest Finish();

 private:
  const std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace opserve

#endif  // OPSERVE_PROTO_BASE_SHA256_H_
