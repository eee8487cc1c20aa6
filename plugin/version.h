// SPDX-License-Identifier: Apache-2.0

//  The version of Protean, which the build reads from here too.

#pragma once

// Raised by a change that breaks programs, or the reading of files.
#define PROTEAN_VERSION_MAJOR 1
// Raised by an addition.
#define PROTEAN_VERSION_MINOR 0
// Raised by a correction.
#define PROTEAN_VERSION_PATCH 0

// The three numbers as a string; between releases, "-dev" follows, and in what
// scripts/release.sh makes, the commit. The build refuses other numbers.
#define PROTEAN_VERSION "1.0.0-dev"
