// A library to preload: the machine has 32 processors configured, however many it has.

#include <dlfcn.h>
#include <unistd.h>

extern "C" long sysconf(int name) {
  constexpr long kProcessors = 32;
  static const auto real = reinterpret_cast<long (*)(int)>(dlsym(RTLD_NEXT, "sysconf"));
  return name == _SC_NPROCESSORS_CONF ? kProcessors : real(name);
}
