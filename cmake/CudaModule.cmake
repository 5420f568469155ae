# Libraries that the program opens at run time, for which headers of CUDA are enough: those that scripts/setup --cuda or --verify
# bring into the cache. They link to none of CUDA's libraries.
file(GLOB verify_packages "${ALIBI_CACHE}/verify-1/lib/python3*/site-packages")
set(ALIBI_CUDA_PACKAGES "${ALIBI_CACHE}/torch-2.11.0" ${verify_packages})
find_path(ALIBI_CUDA_HEADERS crt/host_defines.h PATHS ${ALIBI_CUDA_PACKAGES} PATH_SUFFIXES nvidia/cu13/include NO_DEFAULT_PATH)

# alibi_cuda_module(<name>): lib<name>.so beside the program, target <name>_module, from this folder's module.cc, which gives
# away the names in exports.map alone.
function(alibi_cuda_module name)
  add_library(${name}_module MODULE module.cc)
  target_link_libraries(${name}_module PRIVATE alibi_options)
  target_include_directories(${name}_module SYSTEM PRIVATE "${ALIBI_CUDA_HEADERS}")
  target_link_options(${name}_module PRIVATE "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/exports.map")
  set_target_properties(
    ${name}_module
    PROPERTIES OUTPUT_NAME ${name}
               LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin"
               LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/exports.map")
endfunction()
