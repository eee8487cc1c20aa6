//  The version of Protean, which the build reads from here too.

#pragma once

#define PROTEAN_VERSION_MAJOR 1
#define PROTEAN_VERSION_MINOR 0
#define PROTEAN_VERSION_PATCH 0

// The three numbers above as a string; the build refuses another one.
#define PROTEAN_VERSION "1.0.0"
