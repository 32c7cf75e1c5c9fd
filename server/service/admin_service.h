// File: server/service/admin_service.h
//
// opserve.v1.AdminService: the leases of devices, and which devices serve. Its handlers never
// block.

#ifndef OPSERVE_SERVER_SERVICE_ADMIN_SERVICE_H_
#define OPSERVE_SERVER_SERVICE_ADMIN_SERVICE_H_

#include <optional>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "server/admission/admission.h"
#include "server/base/log.h"
#include "server/journal/audit_log.h"
#include "server/lease/device_leases.h"
#include "server/pool/device_pool.h"
#include "server/record/request_record.h"
#include "server/rpc/rpc_service.h"
#include "server/rpc/unary_call.h"
#include "server/service/device_drains.h"

namespace opserve {

inline constexpr char kAdminServiceName[] = "opserve.v1.AdminService";

// Must outlive the server that it is registered with.
class AdminService {
 public:
  // What the service works with. Everything must outlive the service and its calls.
  struct Parts {
    DevicePool& pool;
    DeviceLeases& leases;
    DeviceDrains& drains;
    // Counts the calls.
    Admission& control;
    Logger& logger;
    // Gets every call when it has ended; nullptr: nobody wants to know.
    RequestObserver* observer = nullptr;
    // Gets a line for each call before it is answered; empty, and so when calls begin: none does.
    std::optional<AuditLog>& audit;
  };

  explicit AdminService(const Parts& parts);
  AdminService(const AdminService&) = delete;
  AdminService& operator=(const AdminService&) = delete;

  // What to register with the server.
  RpcService& rpc() { return rpc_; }

 private:
  // Answers a call, once its line is in the audit log; see AnswerAudited.
  void Answer(UnaryCall& call, AuditEntry entry, const absl::Status& status,
              const google::protobuf::Message& answer);

  void ListLeases(UnaryCall& call);
  void EndLease(UnaryCall& call);
  void DrainDevice(UnaryCall& call);
  void SetDeviceAside(UnaryCall& call);
  void ResumeDevice(UnaryCall& call);

  const Parts parts_;
  RpcService rpc_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_ADMIN_SERVICE_H_
