// File: tests/fuzz/run_sender.h
//
// Messages with the pieces that a case names, and what a model says of them.

#ifndef OPSERVE_TESTS_FUZZ_RUN_SENDER_H_
#define OPSERVE_TESTS_FUZZ_RUN_SENDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/wire/wire_message.h"
#include "tests/fuzz/run_case.pb.h"
#include "tests/fuzz/run_model.h"

namespace opserve::fuzz {

// Most bytes of all pieces of a case: what is beyond them is cut off.
inline constexpr uint64_t kMostSentBytes = uint64_t{1} << 20;

// What is sent in one message, and what it must do.
struct SentPieces {
  std::vector<std::string> pieces;
  // Runs that are complete with it.
  std::vector<RunContents> runs;
  // Whether the server must refuse it, after these runs.
  bool is_refused = false;
};

// Not thread-safe.
class RunSender {
 public:
  // `model` must outlive it.
  explicit RunSender(RunModel& model) : model_(model) {}

  // The pieces of `message`, where a piece may belong to runs before number `end` only.
  SentPieces Send(const RunMessage& message, uint64_t end);

  // How many bytes may still be sent.
  uint64_t budget() const { return budget_; }

 private:
  // Bytes that are hardly ever the same.
  std::string NextBytes(uint64_t count);

  RunModel& model_;
  uint64_t budget_ = kMostSentBytes;
  uint64_t next_ = 0;
};

// The message with these pieces as the server gets it: cut into slices, each in memory of its own
// of exactly its size, so that AddressSanitizer sees a read beyond it.
ReceivedMessage Receive(const std::vector<std::string>& pieces, const RunMessage& message);

// Ends the program unless the payloads of a run are what they must be, and can be sent.
void CheckRun(ReceivedMessage run, const RunContents& expected);

}  // namespace opserve::fuzz

#endif  // OPSERVE_TESTS_FUZZ_RUN_SENDER_H_
