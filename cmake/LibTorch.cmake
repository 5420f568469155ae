# Target alibi::torch: LibTorch's CPU libraries and headers, without its own CMake config.
#
# That config asks for the CUDA toolkit when the package was built with CUDA, and links three gigabytes of CUDA libraries
# that a CPU run never needs. Two imported libraries are enough; CUDA is opened at run time (src/device/).
# Looked for, in this order: Torch_DIR, CMAKE_PREFIX_PATH, the cache folder of scripts/setup.
set(places "")
if(Torch_DIR)
  list(APPEND places "${Torch_DIR}/../../..")
endif()
if(DEFINED ENV{Torch_DIR})
  list(APPEND places "$ENV{Torch_DIR}/../../..")
endif()
if(DEFINED ENV{CMAKE_PREFIX_PATH})
  string(REPLACE ":" ";" prefixes "$ENV{CMAKE_PREFIX_PATH}")
  list(APPEND places ${prefixes})
endif()
list(APPEND places ${CMAKE_PREFIX_PATH} "${ALIBI_CACHE}/torch-2.11.0/torch")
unset(ALIBI_TORCH_ROOT CACHE) # looked for at each configure: the environment may name another
find_path(ALIBI_TORCH_ROOT NAMES include/torch/csrc/api/include/torch/torch.h PATHS ${places} PATH_SUFFIXES torch
          NO_DEFAULT_PATH)
if(NOT ALIBI_TORCH_ROOT)
  message(FATAL_ERROR "LibTorch not found in: ${places}. Run scripts/setup, or set Torch_DIR to a LibTorch 2.11 folder.")
endif()
file(READ "${ALIBI_TORCH_ROOT}/include/torch/headeronly/version.h" torch_version_text)
string(REGEX MATCH "TORCH_VERSION_MAJOR ([0-9]+)" _ "${torch_version_text}")
set(torch_major ${CMAKE_MATCH_1})
string(REGEX MATCH "TORCH_VERSION_MINOR ([0-9]+)" _ "${torch_version_text}")
set(torch_minor ${CMAKE_MATCH_1})
if(NOT "${torch_major}.${torch_minor}" STREQUAL "2.11")
  message(WARNING "LibTorch ${torch_major}.${torch_minor} in ${ALIBI_TORCH_ROOT}: this program is tested with 2.11.")
endif()
if(ALIBI_CUDA STREQUAL "ON" AND NOT EXISTS "${ALIBI_TORCH_ROOT}/lib/libtorch_cuda.so")
  message(FATAL_ERROR "ALIBI_CUDA=ON, but ${ALIBI_TORCH_ROOT}/lib holds no libtorch_cuda.so. Run scripts/setup --cuda.")
endif()
message(STATUS "LibTorch ${torch_major}.${torch_minor}: ${ALIBI_TORCH_ROOT}")

foreach(name c10 torch_cpu)
  add_library(alibi_imported_${name} SHARED IMPORTED)
  set_target_properties(alibi_imported_${name} PROPERTIES IMPORTED_LOCATION "${ALIBI_TORCH_ROOT}/lib/lib${name}.so")
endforeach()
add_library(alibi_torch INTERFACE)
target_include_directories(alibi_torch SYSTEM INTERFACE "${ALIBI_TORCH_ROOT}/include"
                           "${ALIBI_TORCH_ROOT}/include/torch/csrc/api/include")
target_link_libraries(alibi_torch INTERFACE alibi_imported_torch_cpu alibi_imported_c10)
# libtorch_cpu.so finds cudart and cupti by its own RPATH at run time; the linker need not see them.
target_link_options(alibi_torch INTERFACE -Wl,--allow-shlib-undefined)
# Its headers split their loops by OpenMP (cmake/Options.cmake); by the flag, as LibTorch brings a libgomp of its own and CMake
# warns of a second path to one.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_link_options(alibi_torch INTERFACE ${OpenMP_CXX_FLAGS})
endif()
# GCC 13 and newer see std::vector<bool>::reserve, inlined into its headers, copy past the end of one word.
target_compile_options(alibi_torch INTERFACE
                       $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-array-bounds>)
add_library(alibi::torch ALIAS alibi_torch)
