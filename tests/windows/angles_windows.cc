// The sine, cosine and tangent that the reference calls, in the place of mingw-w64's own. Those are
// the x87's instructions, whose pi has 66 bits, so that for large angles they have few right bits
// or none. These reduce angles by as many bits of pi as it takes.

#include <quadmath.h>

#include <cmath>

extern "C" {
long double sinl(long double x) { return static_cast<long double>(sinq(x)); }
long double cosl(long double x) { return static_cast<long double>(cosq(x)); }
long double tanl(long double x) { return static_cast<long double>(tanq(x)); }
}  // extern "C"
