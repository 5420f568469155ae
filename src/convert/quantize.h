// fp32 tensors to the element types of a GGUF file and back.
#pragma once

#include <cstddef>
#include <vector>

#include "device/tensor.h"
#include "formats/gguf.h"

namespace alibi {

// Q8_0: of each 32 values the largest magnitude is 127 steps; a step is stored in fp16, its
// multiple nearest to a value (halves away from 0) in int8.
std::vector<std::byte> quantized(const torch::Tensor& fp32, GgufElement element);
torch::Tensor dequantized(const GgufTensor& tensor);  // fp32, in the tensor's shape

}  // namespace alibi
