// File: server/d3d12/submission_stamp.h
//
// Proof that a device has carried a submission out. Internal to server/d3d12.
//
// A fence alone proves too little: libvkd3d 1.2 signals fences by a submission of their own, which
// may succeed where the one with the work was refused. The memory that is read back would then hold
// what it held before, results of somebody else. So every command list ends by copying a number
// that no other submission has from the upload memory to the readback memory, and nothing that was
// read back is used where the number has not arrived. Where a submission is several lists, the
// number goes through each of them.
//
// The low half of the number is also the mark by which kernels tell that they left elements open:
// whatever the word held before, it was not this.

#ifndef OPSERVE_SERVER_D3D12_SUBMISSION_STAMP_H_
#define OPSERVE_SERVER_D3D12_SUBMISSION_STAMP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace opserve::d3d12 {

// The numbers of a device's submissions: they count up from a start that is random, so that no
// bytes of a client are likely to be one. Thread-safe.
class StampNumbers {
 public:
  StampNumbers();
  explicit StampNumbers(uint64_t first) : next_(first) {}

  // A number that was not returned before. Its low half is never 0, which is what cleared places
  // hold.
  uint64_t Next();

 private:
  std::atomic<uint64_t> next_;
};

// The stamp of one submission: its number, and its places behind everything else in the
// submission's memory. A value.
class SubmissionStamp {
 public:
  static constexpr uint64_t kBytes = sizeof(uint64_t);
  static constexpr uint64_t kMarkBytes = sizeof(uint32_t);

  // Of a submission that uses `upload_bytes` bytes of upload memory and `readback_bytes` bytes of
  // readback memory for other things.
  SubmissionStamp(uint64_t number, uint64_t upload_bytes, uint64_t readback_bytes)
      : number_(number),
        upload_offset_(RoundUp(upload_bytes)),
        readback_offset_(RoundUp(readback_bytes)) {}
  // A stamp that belongs to no submission.
  SubmissionStamp() = default;

  // Where the stamp is copied from and to, relative to the beginnings of the two memories.
  uint64_t upload_offset() const { return upload_offset_; }
  uint64_t readback_offset() const { return readback_offset_; }
  // Where the word of the mark is copied to, likewise.
  uint64_t mark_offset() const { return readback_offset_ + kBytes; }
  // Bytes of the two memories with the stamp, and with the word of the mark.
  uint64_t upload_bytes() const { return upload_offset_ + kBytes; }
  uint64_t readback_bytes() const { return mark_offset() + kMarkBytes; }
  // What kernels write where they leave an element open.
  uint32_t mark() const { return static_cast<uint32_t>(number_); }

  // Writes the number to its place in the memory at `upload`, and clears the two at `readback`.
  // Before the submission.
  void Prepare(std::byte* upload, std::byte* readback) const;
  // Whether the number is in its place in the memory at `readback`. After the submission.
  bool HasArrived(const std::byte* readback) const;
  // Whether the mark is. After the submission, if the word was copied.
  bool IsMarked(const std::byte* readback) const;

 private:
  static constexpr uint64_t RoundUp(uint64_t bytes) {
    return (bytes + kBytes - 1) / kBytes * kBytes;
  }

  uint64_t number_ = 0;
  uint64_t upload_offset_ = 0;
  uint64_t readback_offset_ = 0;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_SUBMISSION_STAMP_H_
