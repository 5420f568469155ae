# cmake -DOUTPUT=FILE.cc -DFILES=FILE,... -P EmbedFiles.cmake: writes a source file with the text of each file, to be asked for
# by its name: page_file() of report/template.h.
string(REPLACE "," ";" files "${FILES}")
set(entries "")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" text)
  string(APPEND entries "    {\"${name}\", R\"----(${text})----\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"report/template.h\"

#include <utility>

#include \"base/error.h\"

namespace alibi {
namespace {

constexpr std::pair<std::string_view, std::string_view> kFiles[] = {
${entries}};

}  // namespace

std::string_view page_file(std::string_view name) {
  for (const auto& [file, text] : kFiles)
    if (file == name) return text;
  ensure(false, \"a file of report/templates\");
  return {};
}

}  // namespace alibi
")
