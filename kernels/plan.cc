#include "kernels/plan.h"
