// The files of report/templates, compiled in (cmake/EmbedFiles.cmake writes page_files.cc).
#pragma once

#include <string_view>

namespace alibi {

std::string_view page_file(std::string_view name);  // throws where there is none: our own fault

}  // namespace alibi
