// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/text_keys.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Rng = std::mt19937_64;

uint64_t Below(Rng* rng, uint64_t bound) {
  return std::uniform_int_distribution<uint64_t>(0, bound - 1)(*rng);
}

// Small values are drawn more often than large ones, as in real data sets.
uint64_t Skewed(Rng* rng, uint64_t bound) {
  return std::min(Below(rng, bound), Below(rng, bound));
}

template <size_t kSize>
const char* SkewedWord(Rng* rng, const char* const (&words)[kSize]) {
  return words[Skewed(rng, kSize)];
}

constexpr const char* kNames[] = {
    "anna", "ben",  "carla", "david", "emma", "felix", "grace", "henry",
    "ines", "jack", "karin", "liam",  "mary", "nils",  "olga",  "paul",
    "rosa", "sam",  "tina",  "uwe",   "vera", "will",  "yara",  "zoe"};

template <size_t kSize>
const char* Word(Rng* rng, const char* const (&words)[kSize]) {
  return words[Below(rng, kSize)];
}

// A number below `bound` as Zipf's law has it: k is drawn about 1 / k as often
// as the first one.
uint64_t Zipf(Rng* rng, uint64_t bound) {
  const double u = std::uniform_real_distribution<double>(0, 1)(*rng);
  return static_cast<uint64_t>(std::pow(static_cast<double>(bound) + 1, u)) - 1;
}

constexpr const char* kTerms[] = {
    "api",      "app",    "async",  "auth",   "base",     "bot",     "build",
    "cache",    "chart",  "check",  "cli",    "client",   "cloud",   "code",
    "config",   "core",   "data",   "db",     "debug",    "deploy",  "dev",
    "docs",     "editor", "engine", "event",  "fast",     "file",    "flow",
    "form",     "graph",  "grid",   "hash",   "helper",   "hook",    "http",
    "image",    "index",  "json",   "key",    "kit",      "lang",    "lib",
    "lint",     "list",   "loader", "local",  "log",      "mail",    "map",
    "markdown", "math",   "meta",   "model",  "module",   "net",     "node",
    "open",     "parse",  "parser", "path",   "player",   "plugin",  "proxy",
    "query",    "queue",  "react",  "reader", "redis",    "request", "router",
    "scan",     "schema", "script", "search", "secure",   "server",  "service",
    "shell",    "simple", "socket", "sql",    "state",    "static",  "store",
    "stream",   "sync",   "table",  "task",   "template", "test",    "text",
    "theme",    "time",   "token",  "tool",   "tools",    "tree",    "type",
    "ui",       "user",   "util",   "utils",  "vector",   "video",   "view",
    "watch",    "web",    "widget", "worker", "wrapper",  "xml",     "yaml"};

// A word that is no dictionary's: the same one for the same number.
std::string MadeWord(uint64_t number) {
  static constexpr const char* kStarts[] = {
      "b", "br", "c", "ch", "d",  "f", "g",  "h", "j", "k", "l", "m",
      "n", "p",  "r", "s",  "st", "t", "tr", "v", "w", "x", "z"};
  static constexpr const char* kEnds[] = {
      "a",  "al", "an", "ar", "e",  "el", "en", "er", "i", "in",
      "is", "o",  "on", "or", "ox", "u",  "um", "us", "y"};
  Rng rng(number);
  std::string word;
  for (uint64_t syllables = 2 + Below(&rng, 2); syllables > 0; syllables--) {
    word += Word(&rng, kStarts);
    word += Word(&rng, kEnds);
  }
  return word;
}

}  // namespace

std::string EmailKey(Rng* rng) {
  static constexpr const char* kHosts[] = {
      "com.gmail",  "com.yahoo",      "com.hotmail", "org.acm.mail",
      "edu.cmu.cs", "de.tum.in.mail", "com.hpe.labs"};
  std::string key = SkewedWord(rng, kHosts);
  if (Below(rng, 4) == 0) key += ".host" + std::to_string(Below(rng, 2000));
  key += "@";
  key += SkewedWord(rng, kNames);
  if (Below(rng, 2) == 0) key += "." + std::string(SkewedWord(rng, kNames));
  if (Below(rng, 3) == 0) key += static_cast<char>('a' + Below(rng, 26));
  return key + std::to_string(Skewed(rng, 1000000));
}

std::string UrlKey(Rng* rng) {
  static constexpr const char* kShops[] = {"books", "market", "shop", "store"};
  static constexpr const char* kTops[] = {".com", ".org", ".de"};
  std::string key = "http://www.";
  key.append(SkewedWord(rng, kNames)).append("-");
  key.append(SkewedWord(rng, kShops)).append(SkewedWord(rng, kTops));
  key += "/products/category-" + std::to_string(Skewed(rng, 200)) + "/item-";
  key += SkewedWord(rng, kNames);
  return key + "-" + std::to_string(Below(rng, 100000)) + ".html";
}

std::string DomainKey(Rng* rng) {
  static constexpr const char* kTops[] = {"com.", "org.", "net.",
                                          "de.",  "edu.", "io."};
  std::string key = SkewedWord(rng, kTops);
  const std::string number = std::to_string(Skewed(rng, 5000));
  key += SkewedWord(rng, kNames) + number;
  key.append(".").append(SkewedWord(rng, kNames));
  key.append("@").append(SkewedWord(rng, kNames));
  return key + std::to_string(Below(rng, 100));
}

std::string NameKey(Rng* rng) {
  static constexpr const char* kFamilies[] = {
      "react-",   "django-",        "py",          "vue-",    "node-",
      "gulp-",    "eslint-plugin-", "flask-",      "pytest-", "babel-",
      "go-",      "rust-",          "odoo-addon-", "types-",  "angular-",
      "aws-cdk-", "llama-index-",   "hubot-",      "grunt-",  "@babel/"};
  static constexpr const char* kSeparators[] = {"-", "-", "-", "_", ""};
  std::string key;
  if (Below(rng, 5) < 2) key = SkewedWord(rng, kFamilies);
  key += Below(rng, 2) == 0 ? MadeWord(Zipf(rng, 200000))
                            : std::string(SkewedWord(rng, kTerms));
  for (uint64_t terms = Below(rng, 3); terms > 0; terms--) {
    key += Word(rng, kSeparators);
    key += Below(rng, 4) == 0 ? MadeWord(Zipf(rng, 20000))
                              : std::string(SkewedWord(rng, kTerms));
  }
  if (Below(rng, 12) == 0) key += std::to_string(Skewed(rng, 100));
  if (Below(rng, 16) == 0) key += "js";
  return key;
}

std::string PathKey(Rng* rng) {
  static constexpr const char* kRoots[] = {"/usr/lib/python3/dist-packages/",
                                           "/usr/share/doc/",
                                           "/usr/include/",
                                           "/usr/lib/x86_64-linux-gnu/",
                                           "/home/build/src/",
                                           "/var/lib/",
                                           "/opt/"};
  static constexpr const char* kFolders[] = {"tests",
                                             "src",
                                             "internal",
                                             "examples",
                                             "locale/de/LC_MESSAGES",
                                             "__pycache__",
                                             "static/js",
                                             "include",
                                             "resources"};
  static constexpr const char* kTypes[] = {
      ".py", ".h",  ".cpython-311.pyc", ".html", ".so.1",
      ".js", ".md", ".tar.gz",          ".json"};
  const char* const root = SkewedWord(rng, kRoots);
  // All files of a package are of a few types, in a few folders.
  const uint64_t package = Zipf(rng, 20000);
  std::string key = root + MadeWord(package);
  if (package % 3 == 0) key += std::string("-") + kTerms[package % 100];
  key += "/";
  for (uint64_t depth = Below(rng, 3); depth > 0; depth--) {
    key += Below(rng, 2) == 0 ? std::string(SkewedWord(rng, kFolders))
                              : MadeWord(package * 64 + Zipf(rng, 40));
    key += "/";
  }
  key += SkewedWord(rng, kTerms);
  for (uint64_t terms = Below(rng, 3); terms > 0; terms--) {
    key += std::string("_") + SkewedWord(rng, kTerms);
  }
  if (Below(rng, 5) == 0) key += std::to_string(Skewed(rng, 400));
  return key + kTypes[(package + Below(rng, 2)) % std::size(kTypes)];
}

std::string HostKey(Rng* rng) {
  static constexpr const char* kTops[] = {"com.", "org.",   "net.", "de.",
                                          "io.",  "co.uk.", "fr."};
  static constexpr const char* kServices[] = {
      "www", "api", "mail", "static", "img", "blog", "shop", "dev", "cdn"};
  static constexpr const char* kPlaces[] = {"eu-west-", "us-east-", "ap-south-",
                                            "node", "rack"};
  const std::string word = MadeWord(Zipf(rng, 300000));
  std::string key = SkewedWord(rng, kTops) + word;
  if (Below(rng, 3) == 0) key += std::string("-") + Word(rng, kTerms);
  key += std::string(".") + SkewedWord(rng, kServices);
  if (Below(rng, 3) == 0) key += std::to_string(Skewed(rng, 40));
  if (Below(rng, 2) == 0) {
    key += std::string(".") + Word(rng, kPlaces);
    key += std::to_string(Skewed(rng, 200));
  }
  return key;
}

std::string UserTimeKey(Rng* rng) {
  const uint64_t user = Skewed(rng, 50000);
  const uint64_t day = Below(rng, 360);
  const uint64_t millis = Below(rng, 86'400'000);
  char key[64];
  snprintf(key, sizeof(key), "user:%06d|2026-%02d-%02dT%02d:%02d:%02d.%03dZ",
           static_cast<int>(user), static_cast<int>(1 + day / 30),
           static_cast<int>(1 + day % 28), static_cast<int>(millis / 3600000),
           static_cast<int>(millis / 60000 % 60),
           static_cast<int>(millis / 1000 % 60),
           static_cast<int>(millis % 1000));
  return key;
}

}  // namespace ROCKSDB_NAMESPACE::protean
