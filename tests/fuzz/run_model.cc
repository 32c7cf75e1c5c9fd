#include "tests/fuzz/run_model.h"

#include <algorithm>

namespace opserve::fuzz {

RunModel::RunModel(std::vector<uint64_t> lengths, std::vector<uint64_t> run_lengths)
    : run_lengths_(std::move(run_lengths)), left_(std::move(lengths)), parts_(left_.size()) {
  for (size_t i = 0; i < left_.size(); ++i) {
    has_ahead_ = has_ahead_ || (IsAhead(i) && left_[i] > 0);
  }
  awaits_ahead_ = has_ahead_;
  SkipFull();
}

bool RunModel::Take(const std::string& piece, std::vector<RunContents>& runs) {
  if (is_complete() || piece.size() > missing()) return false;
  parts_[next_] += piece;
  SkipFull();
  if (next_ < parts_.size()) return true;
  for (size_t i = 0; i < left_.size(); ++i) left_[i] -= parts_[i].size();
  RunContents parts = std::exchange(parts_, RunContents(left_.size()));
  if (std::exchange(awaits_ahead_, false)) {
    ahead_ = std::move(parts);
  } else {
    runs.push_back(std::move(parts));
    ++run_;
  }
  next_ = 0;
  SkipFull();
  return true;
}

bool RunModel::is_complete() const {
  return std::all_of(left_.begin(), left_.end(), [](uint64_t bytes) { return bytes == 0; });
}

uint64_t RunModel::missing() const {
  return is_complete() ? 0 : LengthOf(next_) - parts_[next_].size();
}

size_t RunModel::missing_parts() const {
  size_t count = 0;
  for (size_t i = 0; i < parts_.size(); ++i) count += parts_[i].size() < LengthOf(i) ? 1 : 0;
  return count;
}

uint64_t RunModel::LengthOf(size_t payload) const {
  if (awaits_ahead_) return IsAhead(payload) ? left_[payload] : 0;
  return std::min(run_lengths_[payload], left_[payload]);
}

void RunModel::SkipFull() {
  while (next_ < parts_.size() && parts_[next_].size() == LengthOf(next_)) ++next_;
}

}  // namespace opserve::fuzz
