# Which processor the build is for: src/kernels/CMakeLists.txt and this file ask it.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(ALIBI_X86 ON)
  set(branch_protection -fcf-protection=full)
else()
  set(ALIBI_X86 OFF)
  set(branch_protection -mbranch-protection=standard)
endif()

# One interface target that all our own code uses: warnings, sanitizers, hardening.
add_library(alibi_options INTERFACE)
target_compile_options(alibi_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -fno-math-errno)
# GCC 12 sees overlapping copies in std::string concatenation where there are none (its bug 105651).
target_compile_options(alibi_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# Of -Wconversion in clang, not in GCC for C++.
target_compile_options(alibi_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>)
if(ALIBI_WARNINGS_AS_ERRORS)
  target_compile_options(alibi_options INTERFACE -Werror)
endif()
# LibTorch's headers split their loops by OpenMP. All our files are compiled with it, so that they can share precompiled headers.
# clang, which builds tests and searches only, has a runtime of its own, and two of them do not go together: there loops run on
# one thread.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  target_compile_options(alibi_options INTERFACE ${OpenMP_CXX_FLAGS})
endif()
# What the compiler writes into its output must not depend on where the sources lie.
target_compile_options(alibi_options INTERFACE "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=" -Wformat -Wformat-security)
target_link_options(alibi_options INTERFACE -Wl,-z,noexecstack)

set(sanitizers -fsanitize=address,undefined)
if(ALIBI_FUZZ)
  target_compile_options(alibi_options INTERFACE ${sanitizers} -fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined
                         -fno-omit-frame-pointer -g1)
  target_link_options(alibi_options INTERFACE ${sanitizers})
elseif(ALIBI_SANITIZE_THREADS)
  target_compile_options(alibi_options INTERFACE -fsanitize=thread -g1)
  target_link_options(alibi_options INTERFACE -fsanitize=thread)
elseif(ALIBI_SANITIZE)
  target_compile_options(alibi_options INTERFACE ${sanitizers} -fno-sanitize-recover=undefined
                         -fno-omit-frame-pointer -g1)
  # By this GCC says so itself.
  target_compile_options(alibi_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:-D__SANITIZE_ADDRESS__=1>)
  # With sanitizers GCC 12 takes the unused members of a std::variant for uninitialised reads.
  target_compile_options(alibi_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(alibi_options INTERFACE ${sanitizers})
else()
  # scripts/check_binary.py asserts what of this can be seen in the program.
  target_compile_options(alibi_options INTERFACE -fstack-protector-strong -fstack-clash-protection ${branch_protection}
                         -D_GLIBCXX_ASSERTIONS $<$<CONFIG:Release>:-U_FORTIFY_SOURCE>
                         $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
endif()
target_include_directories(alibi_options INTERFACE "${CMAKE_SOURCE_DIR}/src")
target_link_options(alibi_options INTERFACE -Wl,-z,relro,-z,now)

# alibi_cache: where scripts/setup keeps what it downloads.
if(NOT DEFINED CACHE{ALIBI_CACHE}) # by -D or a toolchain
  if(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    set(ALIBI_CACHE "$ENV{XDG_CACHE_HOME}/alibi")
  else()
    set(ALIBI_CACHE "$ENV{HOME}/.cache/alibi")
  endif()
endif()
