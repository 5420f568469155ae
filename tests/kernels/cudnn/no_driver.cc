// A driver without a device: cuDNN asks for these functions before it builds a plan, and hands what
// it compiled to them.
#define ALIBI_ANSWERS_NOTHING(name) \
  int name() { return 0; }
#define ALIBI_GIVES_SOMETHING(name) \
  int name(void** thing) {          \
    *thing = &something;            \
    return 0;                       \
  }

namespace {

int something = 0;

}  // namespace

extern "C" {

ALIBI_ANSWERS_NOTHING(cuGetErrorName)
ALIBI_ANSWERS_NOTHING(cuGetErrorString)
ALIBI_ANSWERS_NOTHING(cuCtxGetCurrent)
ALIBI_ANSWERS_NOTHING(cuCtxGetLimit)
ALIBI_ANSWERS_NOTHING(cuCtxPopCurrent)
ALIBI_ANSWERS_NOTHING(cuCtxPushCurrent)
ALIBI_ANSWERS_NOTHING(cuStreamGetCtx)
ALIBI_ANSWERS_NOTHING(cuLinkCreate)
ALIBI_ANSWERS_NOTHING(cuLinkAddData)
ALIBI_ANSWERS_NOTHING(cuLinkComplete)
ALIBI_ANSWERS_NOTHING(cuLinkDestroy)
ALIBI_ANSWERS_NOTHING(cuLaunchKernel)
ALIBI_ANSWERS_NOTHING(cuLaunchKernelEx)
ALIBI_ANSWERS_NOTHING(cuLaunchCooperativeKernel)
ALIBI_ANSWERS_NOTHING(cuDeviceGet)
ALIBI_ANSWERS_NOTHING(cuDeviceGetCount)
ALIBI_ANSWERS_NOTHING(cuLibraryUnload)
ALIBI_ANSWERS_NOTHING(cuKernelSetAttribute)
ALIBI_ANSWERS_NOTHING(cuOccupancyMaxPotentialClusterSize)
ALIBI_GIVES_SOMETHING(cuLibraryLoadData)
ALIBI_GIVES_SOMETHING(cuLibraryLoadFromFile)
ALIBI_GIVES_SOMETHING(cuLibraryGetKernel)

int cuDriverGetVersion(int* version) {
  *version = 13'000;
  return 0;
}

int cuKernelGetAttribute(int* value) {
  *value = 0;
  return 0;
}

}  // extern "C"
