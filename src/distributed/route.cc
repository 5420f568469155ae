#include "distributed/route.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/host.h"
#include "base/printable.h"
#include "base/strings.h"

namespace alibi {
namespace {

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
    return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr);
}

// Of a socket that was connected without a packet.
bool find_source(const addrinfo& target, OwnAddress& own) {
  const int descriptor = open_socket(target.ai_family, SOCK_DGRAM);
  if (descriptor < 0) return false;
  sockaddr_storage source{};
  socklen_t size = sizeof source;
  std::array<char, NI_MAXHOST> text{};
  const bool found = ::connect(descriptor, target.ai_addr, target.ai_addrlen) == 0 &&
                     ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&source), &size) == 0 &&
                     ::getnameinfo(reinterpret_cast<const sockaddr*>(&source), size, text.data(),
                                   text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
  ::close(descriptor);
  if (found) own = {text.data(), is_loopback(source)};
  return found;
}

}  // namespace

OwnAddress own_address_towards(const std::string& host, const std::string& place) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  const int fault = ::getaddrinfo(host.c_str(), "9", &hints, &list);
  const std::string way_out = "set MASTER_ADDR to an address that every machine reaches";
  if (fault != 0)
    throw Error(place, cat("found ", shown(host), " for rank 0's machine: ", ::gai_strerror(fault)),
                way_out);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, ::freeaddrinfo);
  OwnAddress own;
  for (const addrinfo* target = list; target != nullptr; target = target->ai_next) {
    if (find_source(*target, own)) return own;
  }
  throw Error(place, cat("found no way to ", shown(host), ", rank 0's machine"), way_out);
}

int bind_to_loopback(int port) {
  const int descriptor = open_socket(AF_INET, SOCK_STREAM);
  if (descriptor < 0) return -1;
  const int yes = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return descriptor;
  ::close(descriptor);
  return -1;
}

int port_of(int descriptor) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  const bool known = ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  return known ? ntohs(address.sin_port) : 0;
}

std::string machine_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return cat(name.data(), " ", boot_id());
}

std::string loopback_name() { return cat(machine_name(), " ", network_namespace()); }

}  // namespace alibi
