#include "kernels/validate.h"
