#include "device/cuda_library.h"

namespace alibi {

const CudaState& open_cuda_library() {
  static const CudaState state{false, "this program was built with ALIBI_CUDA=OFF"};
  return state;
}

}  // namespace alibi
