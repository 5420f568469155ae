# cmake -DPROGRAM=FILE -DFOLDER=NAME -DKERNELS=FOLDER [-DEMULATOR=WORD;...] -DOUTPUT=FILE -P TestSuites.cmake: asks a test program for its suites
# and writes a ctest entry for each, FOLDER.SUITE: a process a suite, as starting LibTorch takes longer than most tests. The
# end of a suite's name says what it needs: Slow, Interop or Cuda; all others are fast.
execute_process(COMMAND ${EMULATOR} "${PROGRAM}" --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests: ended with ${code}:\n${listed}")
endif()
string(REGEX MATCHALL "\n[A-Za-z0-9_/]+\\.[ \n]" suites "\n${listed}")
set(entries "")
set(command "")
foreach(word IN LISTS EMULATOR PROGRAM)
  string(APPEND command "[=[${word}]=] ")
endforeach()
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "^\n(.*)\\.[ \n]$" "\\1" suite "${suite}")
  set(label fast)
  if(suite MATCHES "(Slow|Interop|Cuda)(/[A-Za-z0-9_]+)?$")
    string(TOLOWER "${CMAKE_MATCH_1}" label)
  endif()
  set(environment OMP_NUM_THREADS=1)
  if(label STREQUAL "cuda")
    string(APPEND environment ";ALIBI_KERNELS=${KERNELS}")
  endif()
  set(name "[=[${FOLDER}.${suite}]=]")
  # Skipped: all its tests were, and none failed.
  string(APPEND entries
    "add_test(${name} ${command}[=[--gtest_filter=${suite}.*]=])\n"
    "set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 2400\n"
    "  SKIP_REGULAR_EXPRESSION [=[  PASSED  \\] 0 tests\\.\n(\\[  SKIPPED \\][^\n]*\n)+$]=]\n"
    "  ENVIRONMENT [=[${environment}]=])\n")
endforeach()
file(WRITE "${OUTPUT}" "${entries}")
