// SPDX-License-Identifier: Apache-2.0

//  Requests and answers as text: what is written is read, and nothing else is.

#include "plugin/live_protocol.h"

#include <gtest/gtest.h>

#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

LiveRequest ExampleRequest() {
  LiveRequest request;
  request.id = "0123-abcd";
  request.written_seconds = 1700000000;
  request.kind = LiveRequest::Kind::kRefresh;
  request.column_family = std::string("a=b\n%41\0\xff", 9);
  request.format = LiveRequest::Format::kPrometheus;
  request.stopped_id = "another";
  request.refresh.dry_run = true;
  request.refresh.max_bytes = ~uint64_t{0};
  request.refresh.bytes_per_second = 1000;
  request.refresh.min_gain = 0.125;
  request.without_samples = true;
  request.refresh.all_files = true;
  request.refresh.levels = {0, 6, 123};
  request.refresh.start = std::string("a\0,=\n", 5);
  request.refresh.limit = "";
  return request;
}

LiveAnswer ExampleAnswer() {
  LiveAnswer answer;
  answer.state = LiveAnswer::State::kFailed;
  answer.message = "two\nlines";
  answer.progress.files = 1;
  answer.progress.files_decided = 2;
  answer.progress.bytes = 3;
  answer.progress.bytes_decided = 4;
  answer.progress.bytes_read = 5;
  answer.progress.bytes_rewritten = 6;
  answer.seconds = 1.5;
  answer.body = "{}\n\nid=other\n";
  return answer;
}

}  // namespace

TEST(LiveProtocolTest, RoundTrip) {
  const LiveRequest request = ExampleRequest();
  LiveRequest read;
  ASSERT_OK(LiveRequest::Parse(request.ToText(), &read));
  EXPECT_EQ(request.ToText(), read.ToText());
  EXPECT_EQ(request.id, read.id);
  EXPECT_EQ(request.written_seconds, read.written_seconds);
  EXPECT_EQ(request.kind, read.kind);
  EXPECT_EQ(request.column_family, read.column_family);
  EXPECT_EQ(request.format, read.format);
  EXPECT_EQ(request.stopped_id, read.stopped_id);
  EXPECT_TRUE(read.refresh.dry_run);
  EXPECT_EQ(request.refresh.max_bytes, read.refresh.max_bytes);
  EXPECT_EQ(1000u, read.refresh.bytes_per_second);
  EXPECT_EQ(0.125, read.refresh.min_gain);
  EXPECT_TRUE(read.without_samples);
  EXPECT_TRUE(read.refresh.all_files);
  EXPECT_EQ(request.refresh.levels, read.refresh.levels);
  EXPECT_EQ(request.refresh.start, read.refresh.start);
  EXPECT_EQ(request.refresh.limit, read.refresh.limit);
  EXPECT_LT(request.ToText().size(), LiveRequest::kMaxBytes / 8);

  // What is not asked is not said, also to a process that knows no such fields.
  LiveRequest plain;
  plain.id = "0";
  ASSERT_OK(LiveRequest::Parse(plain.ToText(), &read));
  EXPECT_FALSE(read.refresh.all_files);
  EXPECT_TRUE(read.refresh.levels.empty());
  EXPECT_FALSE(read.refresh.start.has_value());
  EXPECT_FALSE(read.refresh.limit.has_value());
  for (const char* name : {"all_files", "levels", "start", "limit"}) {
    EXPECT_EQ(std::string::npos, plain.ToText().find(name)) << name;
  }

  const LiveAnswer answer = ExampleAnswer();
  LiveAnswer read_answer;
  ASSERT_OK(LiveAnswer::Parse(answer.ToText(), &read_answer));
  EXPECT_EQ(answer.ToText(), read_answer.ToText());
  EXPECT_EQ(answer.body, read_answer.body);
  EXPECT_EQ(answer.message, read_answer.message);
  EXPECT_EQ(answer.progress.bytes_decided, read_answer.progress.bytes_decided);
}

// Fields that are unknown, missing, twice there, or have other values.
TEST(LiveProtocolTest, OtherTextIsRefused) {
  const std::string good = ExampleRequest().ToText();
  const auto with = [&good](const std::string& old_text,
                            const std::string& new_text) {
    std::string text = good;
    const size_t at = text.find(old_text);
    EXPECT_NE(std::string::npos, at) << old_text;
    return text.replace(at, old_text.size(), new_text);
  };
  LiveRequest request;
  for (const std::string& text : {std::string(),
                                  with("request 1", "request 2"),
                                  with("id=0123", "id=../"),
                                  with("id=0123-abcd\n", ""),
                                  with("id=", "id=" + std::string(64, 'x')),
                                  with("=refresh", "=destroy"),
                                  with("=prometheus", "=pdf"),
                                  with("dry_run=1", "dry_run=2"),
                                  with("=1000", "=-1"),
                                  with("=1000", "=18446744073709551616"),
                                  with("=1000", "=1e3"),
                                  with("levels=0", "levels=-1"),
                                  with("levels=0", "levels=1000"),
                                  with("levels=0", "levels="),
                                  with("min_gain=0.125", "min_gain=x"),
                                  with("%25", "%2G"),
                                  with("%FF\n", "%F\n"),
                                  good + "id=0123-abcd\n",
                                  good + "command=rm\n",
                                  good + "\n",
                                  good + "no end"}) {
    EXPECT_TRUE(LiveRequest::Parse(text, &request).IsInvalidArgument()) << text;
  }
  // The refusal can be sent if there is an id.
  EXPECT_TRUE(
      LiveRequest::Parse(good + "command=rm\n", &request).IsInvalidArgument());
  EXPECT_EQ("0123-abcd", request.id);
  LiveAnswer answer;
  EXPECT_TRUE(LiveAnswer::Parse("", &answer).IsCorruption());
  EXPECT_TRUE(LiveAnswer::Parse(good, &answer).IsCorruption());
}

// Damaged text is a request, or it is refused; nothing else happens.
TEST(LiveProtocolTest, DamagedText) {
  const std::string request_text = ExampleRequest().ToText();
  const std::string answer_text = ExampleAnswer().ToText();
  LiveRequest request;
  LiveAnswer answer;
  for (const std::string& text : {request_text, answer_text}) {
    for (size_t i = 0; i < text.size(); i++) {
      LiveRequest::Parse(text.substr(0, i), &request).PermitUncheckedError();
      LiveAnswer::Parse(text.substr(0, i), &answer).PermitUncheckedError();
      for (const char c : {'\0', '\n', '=', '%', '\xff', '0'}) {
        std::string damaged = text;
        damaged[i] = c;
        if (LiveRequest::Parse(damaged, &request).ok()) {
          LiveRequest again;
          EXPECT_OK(LiveRequest::Parse(request.ToText(), &again));
        }
        LiveAnswer::Parse(damaged, &answer).PermitUncheckedError();
      }
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
