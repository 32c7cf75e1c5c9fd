// File: server/metrics/http_access.h
//
// Who may read the operator's pages: whoever may call methods that observe.

#ifndef OPSERVE_SERVER_METRICS_HTTP_ACCESS_H_
#define OPSERVE_SERVER_METRICS_HTTP_ACCESS_H_

#include <memory>

#include "server/access/access_control.h"
#include "server/base/log.h"
#include "server/metrics/http_listener.h"

namespace opserve {

// `handler` for those to whom `access` gives the role `observe`, by their certificate, the token in
// the header Authorization, or where they are, as it is for calls. Others are told why not, with
// 401 where they have not proven who they are, or not well, and 403 where that is not enough; the
// log gets a line about it, at most one per second. `access` and `logger` must outlive the result.
HttpHandler ForObservers(const AccessControl& access, Logger& logger, HttpHandler handler);

}  // namespace opserve

#endif  // OPSERVE_SERVER_METRICS_HTTP_ACCESS_H_
