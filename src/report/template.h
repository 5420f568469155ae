// Fills the pages of report/templates from a JSON value.
//
//   {{name}}             the value, escaped; nothing for null
//   {{name:format}}      a figure as `format` writes it (the list is in template.cc)
//   {{name:format ..}}   "low to high" of name_low and name_high; "-" where they were not measured
//   {{{name}}}           a value that is markup already
//   {{#name}} .. {{/name}}   once for each item of a list, else once, unless the value is null,
//   false,
//                        0, not a number or empty
//   {{^name}} .. {{/name}}   once where {{#name}} gives nothing
//   {{#a==b}} .. {{/}}   where two values are equal; {{^a==b}} where not
//   {{>file}}            another file of the folder
//
// A name is looked up in the innermost section's value first, then outwards; {{.}} is that value.
#pragma once

#include <string>
#include <string_view>

#include "base/json/value.h"

namespace alibi {

// Throws where the text names what `values` lacks: a fault of the program.
std::string fill(std::string_view text, const Json& values);
std::string fill_page(std::string_view file, const Json& values);  // of report/templates
// The files of report/templates, compiled in (cmake/EmbedFiles.cmake).
std::string_view page_file(std::string_view name);

}  // namespace alibi
