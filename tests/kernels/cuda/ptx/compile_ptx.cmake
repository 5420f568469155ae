# cmake -DNVCC=FILE -DFLAGS=LIST -DSOURCE=FILE -DINCLUDE=FOLDER -DOUTPUT=FILE -P compile_ptx.cmake: PTX of compute_80, with OUTPUT.d for the
# build, and in OUTPUT.90a that of compute_90a. nvcc may be too old for the source: then OUTPUT holds what it said, which the tests show when they skip.
execute_process(
  COMMAND "${NVCC}" ${FLAGS} -ptx -arch=compute_80 -I "${INCLUDE}" -MD -MF "${OUTPUT}.d" "${SOURCE}"
          -o "${OUTPUT}"
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(code EQUAL 0)
  execute_process(
    COMMAND "${NVCC}" ${FLAGS} -ptx -arch=compute_90a -I "${INCLUDE}" "${SOURCE}" -o "${OUTPUT}.90a"
    RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
endif()
if(NOT code EQUAL 0)
  if(said STREQUAL "")  # stopped, which would pass for too old
    message(FATAL_ERROR "nvcc ended with ${code} and said nothing; run it again")
  endif()
  file(WRITE "${OUTPUT}" "${said}")
  file(WRITE "${OUTPUT}.d" "${OUTPUT}:\n")
endif()
