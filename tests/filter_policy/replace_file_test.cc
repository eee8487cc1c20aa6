// SPDX-License-Identifier: Apache-2.0

//  Files that are read and replaced: whatever their names stand for, and
//  whatever goes wrong.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "filter_policy/samples/files.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class ReplaceFileTest : public testing::Test {
 protected:
  ReplaceFileTest() {
    EXPECT_OK(env_->CreateDirIfMissing(folder_));
    for (const std::string& name : Names()) {
      EXPECT_OK(env_->DeleteFile(folder_ + "/" + name));
    }
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    EXPECT_OK(env_->GetChildren(folder_, &names));
    return names;
  }
  static mode_t ModeOf(const std::string& file) {
    struct stat found = {};
    EXPECT_EQ(0, lstat(file.c_str(), &found)) << file;
    return found.st_mode;
  }

  Env* const env_ = Env::Default();
  const std::string folder_ = test::PerThreadDBPath("replace_file_test");
  const std::string file_ = folder_ + "/file";
};

}  // namespace

TEST_F(ReplaceFileTest, NewAndOld) {
  ASSERT_OK(ReplaceFile(env_, file_, "old"));
  EXPECT_EQ("old", ContentsOf(file_));
  EXPECT_EQ(mode_t{0600}, ModeOf(file_) & 07777);
  for (const mode_t mode : {0600, 0640, 0444}) {
    ASSERT_EQ(0, chmod(file_.c_str(), mode));
    ASSERT_OK(ReplaceFile(env_, file_, "new"));
    EXPECT_EQ("new", ContentsOf(file_));
    EXPECT_EQ(S_IFREG | mode, ModeOf(file_));
  }
  EXPECT_EQ(std::vector<std::string>{"file"}, Names());
}

TEST_F(ReplaceFileTest, LinksStay) {
  const std::string absolute = folder_ + "/absolute";
  const std::string relative = folder_ + "/relative";
  ASSERT_EQ(0, symlink(file_.c_str(), absolute.c_str()));
  ASSERT_EQ(0, symlink("absolute", relative.c_str()));
  // At first, they lead nowhere.
  for (const std::string& link : {relative, absolute}) {
    ASSERT_OK(CheckNoDevice(env_, link));
    ASSERT_OK(ReplaceFile(env_, link, link));
    EXPECT_EQ(link, ContentsOf(file_));
    EXPECT_TRUE(S_ISLNK(ModeOf(link)));
    EXPECT_TRUE(S_ISREG(ModeOf(file_)));
  }
  EXPECT_EQ(3u, Names().size());
}

// The disk is full.
TEST_F(ReplaceFileTest, OldContentsStay) {
  ASSERT_OK(ReplaceFile(env_, file_, "old"));
  struct rlimit before = {};
  ASSERT_EQ(0, getrlimit(RLIMIT_FSIZE, &before));
  struct rlimit small = before;
  small.rlim_cur = 100;
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &small));
  const Status s = ReplaceFile(env_, file_, std::string(1000, 'x'));
  ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &before));
  signal(SIGXFSZ, handler);
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_EQ("old", ContentsOf(file_));
  EXPECT_EQ(std::vector<std::string>{"file"}, Names());
}

TEST_F(ReplaceFileTest, OutputGoesToPipesAndTerminals) {
  ASSERT_EQ(0, mkfifo(file_.c_str(), 0600));
  EXPECT_TRUE(CheckNoDevice(env_, file_).IsInvalidArgument());
  EXPECT_TRUE(ReplaceFile(env_, file_, "refused").IsInvalidArgument());
  std::string read;
  std::thread reader([&] { read = ContentsOf(file_); });
  EXPECT_OK(WriteOutput(env_, file_, "through the pipe"));
  reader.join();
  EXPECT_EQ("through the pipe", read);
  EXPECT_TRUE(S_ISFIFO(ModeOf(file_)));
  EXPECT_EQ(std::vector<std::string>{"file"}, Names());

  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "this machine has no pseudoterminals";
  ASSERT_EQ(0, grantpt(terminal));
  ASSERT_EQ(0, unlockpt(terminal));
  const std::string device = ptsname(terminal);
  // Else what was written is gone when it is closed.
  const int open_device = open(device.c_str(), O_RDWR | O_NOCTTY);
  ASSERT_GE(open_device, 0);
  EXPECT_TRUE(CheckNoDevice(env_, device).IsInvalidArgument());
  EXPECT_TRUE(ReplaceFile(env_, device, "refused").IsInvalidArgument());
  EXPECT_OK(WriteOutput(env_, device, "to the device"));
  char text[100];
  const ssize_t size = ::read(terminal, text, sizeof(text));
  ASSERT_GT(size, 0);
  EXPECT_EQ("to the device", Slice(text, static_cast<size_t>(size)));
  EXPECT_TRUE(S_ISCHR(ModeOf(device)));
  close(open_device);
  close(terminal);
}

// Only a plain file of that name is replaced, and by a new one.
TEST_F(ReplaceFileTest, NewFilesReplacePlainOnesAlone) {
  const std::string other = folder_ + "/other";
  ASSERT_OK(WriteStringToFile(env_, "untouched", other));
  ASSERT_EQ(0, chmod(other.c_str(), 0640));
  ASSERT_EQ(0, symlink(other.c_str(), file_.c_str()));
  EXPECT_TRUE(WriteNewFile(env_, file_, "new").IsInvalidArgument());
  EXPECT_EQ("untouched", ContentsOf(other));
  EXPECT_EQ(S_IFREG | mode_t{0640}, ModeOf(other));
  ASSERT_OK(env_->DeleteFile(file_));
  ASSERT_EQ(0, mkfifo(file_.c_str(), 0600));
  EXPECT_TRUE(WriteNewFile(env_, file_, "new").IsInvalidArgument());
  ASSERT_OK(env_->DeleteFile(file_));
  ASSERT_OK(env_->CreateDirIfMissing(file_));
  EXPECT_TRUE(WriteNewFile(env_, file_, "new").IsInvalidArgument());
  const Status s = ReplaceFile(env_, file_, "contents");
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  ASSERT_OK(env_->DeleteDir(file_));
  EXPECT_EQ(std::vector<std::string>{"other"}, Names());

  for (const mode_t before : {0, 0666}) {
    if (before > 0) {
      ASSERT_EQ(0, chmod(file_.c_str(), before));
    }
    ASSERT_OK(WriteNewFile(env_, file_, "new"));
    EXPECT_EQ("new", ContentsOf(file_));
    EXPECT_EQ(S_IFREG | mode_t{0600}, ModeOf(file_));
  }
  EXPECT_EQ(2u, Names().size());
}

// No reader waits. The Env of a DB may wrap the operating system's.
TEST_F(ReplaceFileTest, OnlyPlainFilesAreRead) {
  constexpr uint64_t kMost = 1000;
  class Wrapped : public EnvWrapper {
   public:
    using EnvWrapper::EnvWrapper;
    const char* Name() const override { return "Wrapped"; }
  } wrapped(env_);
  std::string contents = "before";
  for (Env* const env : {env_, static_cast<Env*>(&wrapped)}) {
    const auto read = [&](const std::string& file) {
      return ReadPlainFile(env, file, kMost, &contents);
    };
    EXPECT_TRUE(read(file_).IsNotFound() || read(file_).IsPathNotFound());
    EXPECT_TRUE(contents.empty());
    for (const size_t size : {size_t{0}, size_t{7}, size_t{kMost}}) {
      ASSERT_OK(WriteStringToFile(env_, std::string(size, 'x'), file_));
      EXPECT_OK(read(file_));
      EXPECT_EQ(std::string(size, 'x'), contents);
    }
    const std::string link = folder_ + "/link";
    ASSERT_EQ(0, symlink(file_.c_str(), link.c_str()));
    EXPECT_OK(read(link));
    EXPECT_EQ(kMost, contents.size());
    ASSERT_OK(env_->DeleteFile(link));
    ASSERT_OK(WriteStringToFile(env_, std::string(kMost + 1, 'x'), file_));
    EXPECT_TRUE(read(file_).IsInvalidArgument());
    ASSERT_OK(env_->DeleteFile(file_));

    ASSERT_EQ(0, symlink("/dev/zero", link.c_str()));
    ASSERT_EQ(0, mkfifo(file_.c_str(), 0600));
    for (const std::string& file : {std::string("/dev/zero"), link, file_}) {
      const Status s = read(file);
      EXPECT_TRUE(env == env_ ? s.IsInvalidArgument() : s.ok()) << file;
      EXPECT_TRUE(contents.empty());
    }
    EXPECT_FALSE(read(folder_).ok());
    EXPECT_EQ(env == env_, read(folder_).IsInvalidArgument());
    ASSERT_OK(env_->DeleteFile(link));
    ASSERT_OK(env_->DeleteFile(file_));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
