// Progress and summary of tokenising, shared by prepare, train and inspect.
#pragma once

#include <memory>

#include "commands/found.h"
#include "data/prepare.h"
#include "report/progress.h"

namespace alibi {

class TextProgress {
 public:
  PrepareProgress hooks();  // notes and a live line on stderr; must not outlive this object
  void finish();

 private:
  std::unique_ptr<TaskProgress> line_;
};

// Documents, tokens, bytes per token, unknown and fallback rates, hold-out rule, folder.
Found describe_text(const PreparedText& text);

}  // namespace alibi
