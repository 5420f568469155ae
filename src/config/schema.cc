// JSON Schema and the reference page, both from the field lists.
#include <cmath>

#include "base/json/write.h"
#include "base/overloaded.h"
#include "base/strings.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/seeds.h"

namespace alibi {
namespace {

const char* type_name(const Field& field) {
  return std::visit(Overloaded{
                        [](const std::int64_t*) { return "integer"; },
                        [](const std::optional<std::int64_t>*) { return "integer"; },
                        [](const double*) { return "number"; },
                        [](const std::optional<double>*) { return "number"; },
                        [](const bool*) { return "boolean"; },
                        [](const std::string*) { return "string"; },
                        [](const EnumTarget&) { return "string"; },
                        [](const std::vector<std::string>*) { return "array"; },
                        [](const std::vector<double>*) { return "array"; },
                    },
                    field.target);
}

bool is_optional(const Field& field) {
  return std::holds_alternative<std::optional<std::int64_t>*>(field.target) ||
         std::holds_alternative<std::optional<double>*>(field.target);
}

std::string sentence(const Field& field) {
  std::string text = field.documentation;
  if (!field.condition.empty()) text += " Only where " + field.condition + ".";
  return text;
}

Json field_schema(const Field& field) {
  Json schema;
  const std::string type = type_name(field);
  schema["type"] = is_optional(field) ? Json::list({type, "null"}) : Json(type);
  schema["description"] = sentence(field);
  if (std::isfinite(field.least)) schema["minimum"] = field.least;
  if (std::isfinite(field.most)) schema["maximum"] = field.most;
  if (!field.choices.empty()) schema["enum"] = field.choices;
  if (const auto* target = std::get_if<EnumTarget>(&field.target)) schema["enum"] = target->names;
  if (std::holds_alternative<std::vector<std::string>*>(field.target))
    schema["items"] = {{"type", "string"}};
  if (std::holds_alternative<std::vector<double>*>(field.target))
    schema["items"] = {{"type", "number"}};
  return schema;
}

std::string list_text(const std::vector<std::string>& items) {
  return cat("[", join(items, ", "), "]");
}

std::string default_text(const Field& field) {
  return std::visit(
      Overloaded{
          [](const EnumTarget& t) { return t.names[static_cast<std::size_t>(t.get())]; },
          [](const bool* v) { return std::string(*v ? "true" : "false"); },
          [](const std::int64_t* v) { return cat(*v); },
          [](const double* v) { return cat(*v); },
          [](const std::string* v) { return v->empty() ? std::string("\"\"") : *v; },
          [](const std::vector<std::string>* v) { return list_text(*v); },
          [](const std::vector<double>* v) {
            std::vector<std::string> texts;
            for (const double number : *v) texts.push_back(cat(number));
            return list_text(texts);
          },
          [](const auto*) { return std::string(); },
      },
      field.target);
}

std::string range_text(const Field& field) {
  if (const auto* target = std::get_if<EnumTarget>(&field.target)) return join(target->names, ", ");
  if (!field.choices.empty()) return cat(type_name(field), ": ", field.choice_text);
  if (!std::isfinite(field.least)) return type_name(field);
  const std::string most = std::isfinite(field.most) ? significant(field.most, 10) : "";
  return cat(type_name(field), ", ", significant(field.least, 10), " ... ", most);
}

Json section_schema(const Section& section) {
  Json schema = {
      {"type", "object"}, {"description", section.documentation}, {"additionalProperties", false}};
  schema["properties"] = Json::object();
  for (const Field& field : section.fields) schema["properties"][field.name] = field_schema(field);
  return schema;
}

const char* mark(const Field& field) {
  if (field.adjustable) return " (may change)";
  return field.identity ? "" : " (free)";
}

constexpr const char* kDraft = "https://json-schema.org/draft/2020-12/schema";

Json whole_schema() {
  Config defaults;
  Json root = {{"$schema", kDraft},
               {"title", "alibi config"},
               {"type", "object"},
               {"additionalProperties", false}};
  root["properties"]["$schema"] = {{"type", "string"}};
  for (const Section& section : sections(defaults)) {
    Json* parent = &root;
    const std::vector<std::string> parts = split(section.path, '.');
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) parent = &(*parent)["properties"][parts[i]];
    (*parent)["properties"][parts.back()] = section_schema(section);
  }
  return root;
}

}  // namespace

std::string config_schema() { return write_json(whole_schema(), {.indent = 2}) + "\n"; }

std::string comparison_schema() {
  Json config = whole_schema();
  for (const char* head : {"$schema", "title"}) config.erase(head);
  config["properties"].erase("$schema");
  const Json text = {{"type", "string"}};
  const Json one_or_more = {{"type", Json::list({"string", "array"})}, {"items", text}};
  const Json fragment = {{"$ref", "#/$defs/config"}};
  const Json seed = {{"type", "integer"}, {"minimum", 0}, {"maximum", kMostSeed}};
  const Json root = {
      {"$schema", kDraft},
      {"title", "alibi comparison"},
      {"type", "object"},
      {"additionalProperties", false},
      {"required", Json::list({"variants"})},
      {"properties",
       {{"$schema", text},
        {"name", text},
        {"title", text},
        {"folder", text},
        {"measured", text},
        {"any_device", {{"type", "boolean"}}},
        {"base", one_or_more},
        {"config", fragment},
        {"variants", {{"type", "object"}, {"additionalProperties", fragment}}},
        {"seeds", {{"type", "array"}, {"items", seed}, {"minItems", 1}, {"uniqueItems", true}}},
        {"reference", text},
        {"text", one_or_more},
        {"tasks",
         {{"type", "object"},
          {"additionalProperties", {{"$ref", "#/$defs/config/properties/evaluate"}}}}}}},
      {"$defs", {{"config", std::move(config)}}}};
  return write_json(root, {.indent = 2}) + "\n";
}

std::string config_reference() {
  Config defaults;
  std::string text =
      "# Every key\n\nMade by `alibi inspect schema --markdown` from the program's field lists. "
      "`free` keys do not "
      "change a result;\nall others are part of a run's identity. Of those, `--resume` takes "
      "another "
      "value for keys marked `may change`,\nfrom the step it goes on from, and refuses all "
      "others.\n";
  for (const Section& section : sections(defaults)) {
    text += cat("\n## ", section.path, "\n\n", section.documentation,
                "\n\n| key | default | allowed | meaning |\n|---|---|---|---|\n");
    for (const Field& field : section.fields) {
      text += cat("| `", field.name, "` | ", default_text(field), " | ", range_text(field), " | ",
                  sentence(field), mark(field), " |\n");
    }
  }
  return text;
}

}  // namespace alibi
