// File: tests/fuzz/run_model.h
//
// What must become of payloads that come in runs, or ahead of them, told by what a client knows:
// their lengths and those of their parts in a run.

#ifndef OPSERVE_TESTS_FUZZ_RUN_MODEL_H_
#define OPSERVE_TESTS_FUZZ_RUN_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace opserve::fuzz {

// The bytes of each payload in a run.
using RunContents = std::vector<std::string>;

// Not thread-safe.
class RunModel {
 public:
  // `lengths`: of the payloads. `run_lengths`: of the part of each in every run but the last, which
  // has what is left; 0: all of it comes before the first run.
  RunModel(std::vector<uint64_t> lengths, std::vector<uint64_t> run_lengths);

  // Takes the next piece; adds the run that is complete with it to `runs`. False, and nothing is
  // taken, where it goes beyond its part or all has come.
  bool Take(const std::string& piece, std::vector<RunContents>& runs);

  // Whether payloads come before the first run. They may have pieces without bytes anywhere.
  bool has_ahead() const { return has_ahead_; }
  // What came before the first run, once it is complete; once.
  std::optional<RunContents> TakeAhead() { return std::exchange(ahead_, std::nullopt); }

  // Whether every byte has come.
  bool is_complete() const;
  // Complete runs.
  uint64_t run() const { return run_; }
  // Bytes that are missing of the part that comes next.
  uint64_t missing() const;
  // How many parts of the present run, or of what comes before the first one, are not complete.
  size_t missing_parts() const;

 private:
  bool IsAhead(size_t payload) const { return run_lengths_[payload] == 0; }
  uint64_t LengthOf(size_t payload) const;
  // Parts that nothing is missing of need no piece.
  void SkipFull();

  const std::vector<uint64_t> run_lengths_;
  // Of each payload, without the complete runs.
  std::vector<uint64_t> left_;
  bool has_ahead_ = false;
  bool awaits_ahead_ = false;
  std::optional<RunContents> ahead_;
  uint64_t run_ = 0;
  // The present run, and whose part comes next.
  RunContents parts_;
  size_t next_ = 0;
};

}  // namespace opserve::fuzz

#endif  // OPSERVE_TESTS_FUZZ_RUN_MODEL_H_
