# Cross-compiling for 64-bit Arm Linux, for preset arm64: Debian's cross compiler, and what scripts/setup --arm64 keeps in the
# folder arm64 of the cache: a sysroot of Debian's packages, LibTorch, sentencepiece. What is built runs under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc) # of sentencepiece
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

if(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(ALIBI_CACHE "$ENV{XDG_CACHE_HOME}/alibi/arm64" CACHE PATH "Folder that scripts/setup --arm64 fills")
else()
  set(ALIBI_CACHE "$ENV{HOME}/.cache/alibi/arm64" CACHE PATH "Folder that scripts/setup --arm64 fills")
endif()
set(CMAKE_SYSROOT "${ALIBI_CACHE}/sysroot")
if(NOT EXISTS "${CMAKE_SYSROOT}/usr/include")
  message(FATAL_ERROR "${CMAKE_SYSROOT} holds no usr/include, expected Debian's arm64 packages. Run scripts/setup --arm64.")
endif()

set(CMAKE_FIND_ROOT_PATH "${ALIBI_CACHE}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L "${CMAKE_SYSROOT}")
