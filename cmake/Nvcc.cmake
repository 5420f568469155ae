# ALIBI_NVCC: the compiler of the kernels of devices, NOTFOUND where there is none.
#
# Looked for, in this order: CMAKE_CUDA_COMPILER and CUDACXX, as CMake itself takes them; the pinned one of scripts/setup, where
# LibTorch brings the CUDA runtime that its kernels need; PATH and /usr/local/cuda, whose toolkit may be too old for the sources.
unset(ALIBI_NVCC CACHE) # looked for at each configure: the set-up may have brought or removed one
unset(ALIBI_CUDART)
if(CMAKE_CUDA_COMPILER)
  set(ALIBI_NVCC "${CMAKE_CUDA_COMPILER}")
elseif(DEFINED ENV{CUDACXX})
  set(ALIBI_NVCC "$ENV{CUDACXX}")
else()
  file(GLOB runtime "${ALIBI_TORCH_ROOT}/../nvidia/cu13/lib/libcudart.so.13" "${ALIBI_TORCH_ROOT}/lib/libcudart.so.13")
  if(runtime)
    find_program(ALIBI_NVCC nvcc PATHS "${ALIBI_CACHE}/nvcc-13.0.88/nvidia/cu13/bin" NO_DEFAULT_PATH)
  endif()
  if(ALIBI_NVCC)
    list(GET runtime 0 ALIBI_CUDART)
  else()
    find_program(ALIBI_NVCC nvcc HINTS /usr/local/cuda/bin)
  endif()
endif()
if(ALIBI_CUDA STREQUAL "ON" AND NOT ALIBI_NVCC)
  message(FATAL_ERROR "ALIBI_CUDA=ON, but there is no nvcc for the kernels of devices. Run scripts/setup --cuda.")
endif()

# What it compiles with: the compiler of all other sources, where that is GNU's.
set(ALIBI_NVCC_FLAGS -std=c++20 -O3 --expt-relaxed-constexpr)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND ALIBI_NVCC_FLAGS -ccbin "${CMAKE_CXX_COMPILER}")
endif()
# The pinned compiler's packages have no library under the name that it links to: LibTorch's own is named by its path.
set(ALIBI_NVCC_RUNTIME -cudart shared)
if(ALIBI_CUDART)
  set(ALIBI_NVCC_RUNTIME -cudart none -cudadevrt none -Xlinker "${ALIBI_CUDART}")
endif()
