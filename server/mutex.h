// File: server/mutex.h
//
// Mutex and MutexLock under the name by which the server knows them.

#ifndef OPSERVE_SERVER_MUTEX_H_
#define OPSERVE_SERVER_MUTEX_H_

#include "proto/wire/mutex.h"  // IWYU pragma: export

#endif  // OPSERVE_SERVER_MUTEX_H_
