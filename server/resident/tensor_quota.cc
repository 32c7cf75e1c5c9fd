#include "server/resident/tensor_quota.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

constexpr std::chrono::seconds kRetryDelay{1};

}  // namespace

absl::Status OverTensorQuota(const QuotaShortage& shortage) {
  return MakeRetryableError(
      ErrorReason::TENSOR_QUOTA,
      absl::StrCat("The resident tensors of ", shortage.is_of_all ? "all clients" : "this client",
                   " and former contents of them that are still read take ", shortage.used,
                   " bytes; with ", shortage.asked, " more they would exceed the quota of ",
                   shortage.limit, " bytes."),
      kRetryDelay, {{"limit", absl::StrCat(shortage.limit)}});
}

absl::Status TooManyTensors(bool is_of_all, size_t limit) {
  return MakeRetryableError(ErrorReason::TENSOR_QUOTA,
                            absl::StrCat(is_of_all ? "The server" : "This client",
                                         " has as many resident tensors as it may (", limit, ")."),
                            kRetryDelay, {{"limit", absl::StrCat(limit)}});
}

}  // namespace opserve
