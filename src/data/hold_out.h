// Which documents train and which validate.
//
// given  data.valid names the text that validates
// hash   a document validates when its SHA-256, as a fraction of its range, is below
//        valid_fraction: equal documents land on one side, whatever else the corpus holds
// tail   where that leaves one side without a document: the last valid_fraction of the text,
//        cut at a line end or, of token ids, at a token
// none   valid_fraction is 0
#pragma once

#include <cstdint>
#include <string>

namespace alibi {

enum Split : int { kTrain = 0, kValid = 1 };

enum class HoldOutRule { kGiven, kHash, kTail, kNone };

// The rule to begin with; kTail replaces kHash where one side stays empty.
HoldOutRule hold_out_rule(bool valid_given, double valid_fraction);

// Whether a document of that SHA-256 validates under rule kHash.
bool held_out(const std::string& sha256, double valid_fraction);

// How a corpus was divided, and what was found on the way.
struct Division {
  HoldOutRule rule = HoldOutRule::kNone;
  double valid_fraction = 0;
  const char* cut_at = "a line end";  // rule kTail
  std::int64_t bytes = 0;             // of text, both sides; 0 where it is token ids
  std::int64_t empty_documents = 0;   // left out
  bool prompts = false;               // some text is read but not learned

  std::string rule_text() const;  // one sentence for people
};

}  // namespace alibi
