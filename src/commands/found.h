// What a command found: words and tables for people, or with --json one document for programs.
// configs/output.schema.json describes the documents.
#pragma once

#include <filesystem>
#include <string>

#include "base/json/value.h"
#include "commands/command_line.h"

namespace alibi {

struct Found {
  std::string text;  // ends with a line end
  Json json;         // an object with format_version and kind
};

// {"format_version": 1, "kind": kind, ...members}
Json document(const char* kind, Json members);

Option json_option(bool& as_json);  // --json

Option progress_option(std::string& style);  // --progress words|json
// Standard error from now on: as people read it, or a JSON object a line.
void show_progress_as(const std::string& style);

// On standard output; returns the exit code 0. Numbers that are none become null.
int print_found(const Found& found, bool as_json);
// Refuses a file of `option` whose name ends otherwise: what is written is of one kind.
void check_ending(const std::filesystem::path& file, const char* ending,
                  const char* option = "--out");
// "written: FILE", for people.
void print_written(const std::filesystem::path& file, bool as_json);

}  // namespace alibi
