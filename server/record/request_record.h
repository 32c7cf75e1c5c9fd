// File: server/record/request_record.h
//
// What is known of a request once it has ended: the one place from which metrics and the access log
// take what they say.

#ifndef OPSERVE_SERVER_RECORD_REQUEST_RECORD_H_
#define OPSERVE_SERVER_RECORD_REQUEST_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/data_type.h"
#include "kernels/op_table.h"
#include "opserve/error_reasons.h"
#include "server/base/clock.h"

namespace opserve {

// What a request computes.
enum class WorkKind : uint8_t {
  kNone,      // nothing: it is about tensors or the server, or was refused before that was known
  kOperator,  // one operator of the table
  kSequence,  // several
};

// One request: a unary call, or a request of a stream. Texts live until the record is reported.
struct RequestRecord {
  // The method without its service, such as "Execute". Lives as long as the service.
  absl::string_view method;
  absl::string_view request_id;
  WorkKind work = WorkKind::kNone;
  // The operator of kOperator.
  OpId op = {};
  // The type that its kernel works in; kUnknown where that is not known, and for sequences.
  DataType type = DataType::kUnknown;
  // The size of the messages, without what HTTP/2 and gRPC add.
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  // When its last needed byte was there, by SteadyClock().
  Clock::TimePoint start = {};
  // From `start` until it was answered.
  Clock::Duration total{};
  // From its first byte to `start`, where its payloads came in pieces.
  std::optional<Clock::Duration> received;
  // The device whose result was answered, by a name that lives as long as the pool; empty: none
  // ran. Only with one is there a time in the queue and a time of the run.
  absl::string_view device;
  Clock::TimePoint accepted = {};
  Clock::Duration queued{};
  Clock::Duration ran{};
  // How it ended. The reason is that of errors of the server's own.
  absl::StatusCode code = absl::StatusCode::kOk;
  std::optional<ErrorReason> reason;
  // The audit log has a line about it.
  bool is_audited = false;
};

// What is known of a request beside its record, and costs something to find out.
class RequestSource {
 public:
  // Who sent it; see server/rpc/call_context.h.
  virtual std::string client() const = 0;
  // The metadata `traceparent` of its call; empty where there is none, or more than one.
  virtual std::string traceparent() const = 0;

 protected:
  ~RequestSource() = default;
};

// Gets every record once, when the request's answer is given to gRPC. Thread-safe.
class RequestObserver {
 public:
  virtual ~RequestObserver() = default;

  // Never blocks. Neither argument is there any more once this has returned.
  virtual void OnRequest(const RequestRecord& record, const RequestSource& source) noexcept = 0;

  // The answer to a request of `method` has been written to its connection, or given up with its
  // stream, `took` after OnRequest. Not called where nobody can tell. Never blocks.
  virtual void OnSent(absl::string_view /*method*/, Clock::Duration /*took*/) noexcept {}
};

// Tells several observers, one after the other. Thread-safe once all have been added.
class ObserverList final : public RequestObserver {
 public:
  // `observer` must outlive the list; nullptr adds none.
  void Add(RequestObserver* observer) {
    if (observer != nullptr) observers_.push_back(observer);
  }
  bool empty() const { return observers_.empty(); }

  void OnRequest(const RequestRecord& record, const RequestSource& source) noexcept override {
    for (RequestObserver* const observer : observers_) observer->OnRequest(record, source);
  }
  void OnSent(absl::string_view method, Clock::Duration took) noexcept override {
    for (RequestObserver* const observer : observers_) observer->OnSent(method, took);
  }

 private:
  std::vector<RequestObserver*> observers_;
};

// The reason in the details of an error; nullopt for OK, and for errors that have none.
std::optional<ErrorReason> ReasonOf(const absl::Status& status);

// Completes `record` with the end of its request, just now, and reports it. Does not throw: a
// record for which there is no memory lacks its reason.
void ReportEnd(RequestObserver& observer, RequestRecord& record, const absl::Status& status,
               uint64_t bytes_out, const RequestSource& source) noexcept;

// Tells that the answer to a request that was reported has been written, just now.
void ReportSent(RequestObserver& observer, const RequestRecord& record) noexcept;

}  // namespace opserve

#endif  // OPSERVE_SERVER_RECORD_REQUEST_RECORD_H_
