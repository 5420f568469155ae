#include "text/documents.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;

struct Read {
  std::vector<std::string> texts;
  std::vector<std::string> ids;
  std::int64_t empty = 0;
};

Read read_all(const fs::path& file) {
  Read read;
  read.empty = for_each_document(file, [&](const DocumentView& document) {
    read.texts.emplace_back(document.text);
    read.ids.push_back(document.id);
    return true;
  });
  return read;
}

fs::path put(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  const fs::path path = folder.path() / name;
  make_folders(path.parent_path());
  write_file_atomic(path, text);
  return path;
}

TEST(Documents, ATextFileIsOneDocumentByteForByte) {
  const TemporaryFolder folder;
  const std::string text =
      std::string("\xef\xbb\xbfone\r\ntwo\0 \xe2\x96\x81 \xf0\x9f\x98\x80", 22) + "\n";
  const Read read = read_all(put(folder, "a.txt", text));
  EXPECT_EQ(read.texts, std::vector<std::string>{text});
}

TEST(Documents, AJsonLinesFileHasOnePerLine) {
  const TemporaryFolder folder;
  const auto path = put(folder, "a.jsonl",
                        "{\"text\": \"one\\n\\u00e9\\u0000\", \"id\": \"first\"}\r\n"
                        "\n   \n"
                        "{\"meta\": {\"text\": 5, \"id\": \"no\", \"list\": [1, {\"text\": []}]}, "
                        "\"text\": \"two\"}\n"
                        "{\"text\": \"\", \"id\": 3}\n"
                        "{\"id\": 12, \"text\": \"three\"}");
  const Read read = read_all(path);
  const std::vector<std::string> texts = {std::string("one\n\xc3\xa9\0", 7), "two", "three"};
  EXPECT_EQ(read.texts, texts);
  const std::vector<std::string> ids = {"first", path.string() + ":4", "12"};
  EXPECT_EQ(read.ids, ids);
  EXPECT_EQ(read.empty, 1);
}

using TextsAndTurns = std::vector<std::pair<std::string, std::vector<std::size_t>>>;

std::pair<TextsAndTurns, std::int64_t> texts_and_turns(const fs::path& path) {
  TextsAndTurns read;
  const std::int64_t empty = for_each_document(path, [&](const DocumentView& document) {
    read.emplace_back(document.text, document.turns);
    return true;
  });
  return {read, empty};
}

bool is_learned(const std::vector<std::size_t>& turns, std::size_t byte) {
  if (turns.empty()) return true;
  return std::ranges::count_if(turns, [&](std::size_t turn) { return turn <= byte; }) % 2 == 1;
}

TEST(Documents, APromptStandsBeforeWhatIsLearned) {
  const TemporaryFolder folder;
  const auto path =
      put(folder, "a.jsonl",
          "{\"prompt\": \"2 + 2 = \", \"completion\": \"4\"}\n"
          "{\"response\": \"five\", \"id\": 7, \"prompt\": \"\"}\n"
          "{\"prompt\": \"no answer\", \"completion\": \"\"}\n"
          "{\"prompt\": 5, \"completion\": [], \"text\": \"whole\", \"response\": null}\n");
  const auto [read, empty] = texts_and_turns(path);
  const TextsAndTurns expected = {{"2 + 2 = 4", {8}}, {"five", {0}}, {"whole", {}}};
  EXPECT_EQ(read, expected);
  EXPECT_EQ(empty, 1);
}

// Seen failing with messages of one role side by side counted as turns.
TEST(Documents, OfMessagesTheAssistantsAreLearned) {
  const TemporaryFolder folder;
  const auto line = [](const std::string& messages) {
    return "{\"messages\": [" + messages + "]}\n";
  };
  const auto path =
      put(folder, "a.jsonl",
          line(R"({"role": "system", "content": "be"}, {"content": " kind", "role": "user"}, )"
               R"({"role": "assistant", "content": " yes", "weight": [{"role": 1}]}, )"
               R"({"role": "tool", "content": ""}, {"role": "assistant", "content": "!"}, )"
               R"({"role": "user", "content": " bye"})") +
              line(R"({"role": "assistant", "content": "hi"}, {"role": "user", "content": "?"})") +
              line(R"({"role": "user", "content": "nobody answers"})") + line("") +
              R"({"messages": 3, "text": "whole"})"
              "\n"
              R"({"messages": 3, "prompt": "a", "completion": "b"})");
  const auto [read, empty] = texts_and_turns(path);
  const TextsAndTurns expected = {
      {"be kind yes! bye", {7, 12}}, {"hi?", {0, 2}}, {"whole", {}}, {"ab", {1}}};
  EXPECT_EQ(read, expected);
  EXPECT_EQ(empty, 2);
}

TEST(Documents, ACutKeepsWhatIsLearned) {
  const std::vector<std::size_t> none,
      turns{3, 5, 9};  // 0-2 read, 3-4 learned, 5-8 read, 9- learned
  for (std::size_t before = 0; before <= 12; ++before) {
    EXPECT_EQ(cut_turns(none, before, 12).first, none);
    EXPECT_EQ(cut_turns(none, before, 12).rest, none);
    const CutTurns cut = cut_turns(turns, before, 12);
    for (std::size_t i = 0; i < 12; ++i) {
      const bool in_first = i < before;
      EXPECT_EQ(is_learned(in_first ? cut.first : cut.rest, in_first ? i : i - before),
                is_learned(turns, i))
          << before << " " << i;
    }
  }
}

TEST(Documents, ReadingStopsWhenAsked) {
  const TemporaryFolder folder;
  const auto a = put(folder, "a.jsonl", "{\"text\": \"1\"}\n{\"text\": \"2\"}\nbroken\n");
  const auto b = put(folder, "b.txt", "3");
  int seen = 0;
  for_each_document(std::vector<fs::path>{a, b}, [&](const DocumentView&) { return ++seen < 2; });
  EXPECT_EQ(seen, 2);
}

TEST(Documents, BrokenLinesAreNamed) {
  const std::pair<std::string, std::string> cases[] = {
      {"{\"text\": \"x\"", "13"},
      {"{\"text\": \"x\"} y", "JSON"},
      {"{\"text\" \"x\"}", "JSON"},
      {"{\"text\": \"\\ud800\"}", "JSON"},
      {"{\"text\": 1e999}", "JSON"},
      {"text", "JSON"},
      {"{\"text\": 5}", "number"},
      {"{\"text\": null}", "null"},
      {"{\"text\": [\"x\"]}", "array"},
      {"{\"text\": {\"text\": \"x\"}}", "object"},
      {"{\"text\": true}", "boolean"},
      {"{\"Text\": \"x\"}", "text"},
      {"{}", "text"},
      {"{\"text\": \"x\", \"text\": \"y\"}", "text"},
      {"{\"prompt\": \"x\"}", "completion"},
      {"{\"completion\": \"x\"}", "prompt"},
      {"{\"prompt\": 1, \"completion\": \"x\"}", "prompt"},
      {"{\"prompt\": \"\", \"completion\": [\"x\"]}", "completion"},
      {"{\"prompt\": \"\", \"completion\": \"x\", \"response\": \"y\"}", "response"},
      {"{\"messages\": [{\"role\": \"user\"}]}", "message 1"},
      {"{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}, \"y\"]}", "message 2"},
      {"{\"messages\": [{\"role\": \"poet\", \"content\": \"x\"}]}", "poet"},
      {"{\"messages\": {\"role\": \"user\"}}", "messages"},
      {"{\"messages\": [], \"messages\": []}", "messages"},
      {"{\"messages\": [{\"role\": \"user\", \"role\": \"assistant\", \"content\": \"x\"}]}",
       "role"},
      {"{\"prompt\": \"a\", \"completion\": \"b\", \"response\": \"c\"}", "second completion"},
      {"[\"text\"]", "array"},
      {"\"text\"", "string"},
      {"17", "number"},
      {"{\"text\": \"a\xff\"}", "0xff"},
      {std::string(1'000'000, '['), "array"},
      {"{\"a\": " + std::string(1'000'000, '['), "JSON"},
  };
  for (const auto& [line, word] : cases) {
    const TemporaryFolder folder;
    const auto path = put(folder, "a.jsonl", "{\"text\": \"fine\"}\n" + line + "\n");
    const std::string text = error_text([&] { read_all(path); });
    EXPECT_ERROR_AT(text, path.string() + ":2", word);
    EXPECT_LT(text.size(), 500u);
  }
}

TEST(Documents, DeepNestingIsRead) {
  const TemporaryFolder folder;
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  const auto path = put(folder, "a.jsonl", "{\"a\": " + deep + ", \"text\": \"x\"}");
  EXPECT_EQ(read_all(path).texts, std::vector<std::string>{"x"});
}

TEST(Documents, InvalidUtf8NamesItsByte) {
  const TemporaryFolder folder;
  const auto path = put(folder, "a.txt", "0123456\xe2\x28\xa1");
  const std::string text = error_text([&] { read_all(path); });
  EXPECT_ERROR_AT(text, path.string(), 7, "0xe2");
  const auto wide = put(folder, "b.txt", std::string("\xff\xfeh\0", 4));
  EXPECT_ERROR_AT(error_text([&] { read_all(wide); }), wide.string(), "UTF-16");
}

}  // namespace
}  // namespace alibi
