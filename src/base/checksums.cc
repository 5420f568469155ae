#include "base/checksums.h"

#include <openssl/evp.h>

#include <array>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/strings.h"

namespace alibi {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() {
    ensure(context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1,
           "SHA-256 is available");
  }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  ensure(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1, "a digest grows");
}

void Sha256::update(std::string_view text) {
  update(std::as_bytes(std::span(text.data(), text.size())));
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  ensure(EVP_DigestFinal_ex(state_->context, digest.data(), nullptr) == 1, "a digest ends");
  return lower_hex(digest);
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 digest;
  digest.update(bytes);
  return digest.hex();
}

std::string sha256_hex(std::string_view text) {
  return sha256_hex(std::as_bytes(std::span(text.data(), text.size())));
}

std::string sha256_file(const std::filesystem::path& path) {
  return sha256_hex(MappedFile(path).bytes());
}

}  // namespace alibi
