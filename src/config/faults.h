// What is wrong with keys of a config taken together.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

namespace alibi {

struct ConfigFault {
  std::string pointer;  // "/model/heads"
  std::string problem;  // found and expected
  std::string way_out;
};

// Collects faults; a rule asks first whether what it reads is known to be right.
class Faults {
 public:
  explicit Faults(std::set<std::string> faulty) : faulty_(std::move(faulty)) {}

  // No fault so far in any of these keys, nor in their section as a whole.
  bool sound(std::initializer_list<const char*> pointers) const;
  void add(std::string pointer, std::string problem, std::string way_out = {});
  std::vector<ConfigFault> take() { return std::move(faults_); }

 private:
  std::set<std::string> faulty_;
  std::vector<ConfigFault> faults_;
};

}  // namespace alibi
