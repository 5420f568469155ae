# Target alibi::sentencepiece: version 0.2.1 or newer (older ones read past the end of a crafted model file).
unset(ALIBI_SENTENCEPIECE_ROOT CACHE)
find_path(ALIBI_SENTENCEPIECE_ROOT NAMES include/sentencepiece_processor.h
          PATHS "${ALIBI_CACHE}/sentencepiece-0.2.1" NO_DEFAULT_PATH)
add_library(alibi_sentencepiece INTERFACE)
if(ALIBI_SENTENCEPIECE_ROOT)
  target_include_directories(alibi_sentencepiece SYSTEM INTERFACE "${ALIBI_SENTENCEPIECE_ROOT}/include")
  target_link_libraries(alibi_sentencepiece INTERFACE "${ALIBI_SENTENCEPIECE_ROOT}/lib/libsentencepiece_train.a"
                        "${ALIBI_SENTENCEPIECE_ROOT}/lib/libsentencepiece.a")
else()
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(SENTENCEPIECE IMPORTED_TARGET "sentencepiece>=0.2.1")
  if(NOT SENTENCEPIECE_FOUND)
    message(FATAL_ERROR "sentencepiece >= 0.2.1 not found in ${ALIBI_CACHE} or the system. Run scripts/setup.")
  endif()
  target_link_libraries(alibi_sentencepiece INTERFACE PkgConfig::SENTENCEPIECE sentencepiece_train)
endif()
add_library(alibi::sentencepiece ALIAS alibi_sentencepiece)
