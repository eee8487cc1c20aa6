//  The version of Protean, which the build reads from here too.

#pragma once

#define PROTEAN_VERSION "1.0.0"
