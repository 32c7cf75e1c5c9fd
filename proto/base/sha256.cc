#include "proto/base/sha256.h"

#include <openssl/evp.h>

#include <cstring>
#include <new>

namespace opserve {
namespace {

// Nothing but memory can be wanting here.
void Require(bool ok) {
  if (!ok) throw std::bad_alloc();
}

// EVP_sha256() is looked up in all providers each time that it is used, which takes longer than to
// hash a token. Lives for ever.
const EVP_MD* Algorithm() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  Require(algorithm != nullptr);
  return algorithm;
}

}  // namespace

std::optional<Sha256Digest> Sha256DigestFrom(absl::string_view bytes) {
  Sha256Digest digest;
  if (bytes.size() != digest.size()) return std::nullopt;
  std::memcpy(digest.data(), bytes.data(), digest.size());
  return digest;
}

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  Require(context_ != nullptr && EVP_DigestInit_ex(context_.get(), Algorithm(), nullptr) == 1);
}

void Sha256::Add(std::span<const std::byte> bytes) {
  Require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

Sha256Digest Sha256::Finish() {
  Sha256Digest digest;
  Require(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
  return digest;
}

}  // namespace opserve
