// File: server/edge/next_function.h
//
// For functions of this program that stand in front of those of libraries.

#ifndef OPSERVE_SERVER_EDGE_NEXT_FUNCTION_H_
#define OPSERVE_SERVER_EDGE_NEXT_FUNCTION_H_

#include <dlfcn.h>

namespace opserve {

// The function that would be called if this program had none of that name.
template <class Function>
Function* NextFunction(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Whether libraries that call `name` call this program's `function`.
template <class Function>
bool IsInFront(const char* name, Function* function) {
  return dlsym(RTLD_DEFAULT, name) == reinterpret_cast<void*>(function);
}

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_NEXT_FUNCTION_H_
