// SPDX-License-Identifier: Apache-2.0

#include "plugin/shared/dependency.h"

namespace protean_loader {

namespace {

// A part of the library whose sources name this file.
[[gnu::used]] const Dependency dependency = {"protean: it also depends on ...",
                                             ""};

}  // namespace

}  // namespace protean_loader
