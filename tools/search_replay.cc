// SPDX-License-Identifier: Apache-2.0

//  Replays a forward seek over all sorted runs: which files RocksDB's iterators
//  read before the seek ends.
//
//  A file that waits asks its filter how far it has nothing, up to the nearest
//  key of the runs that have been read so far (table/seek/run_search.h). That
//  key may lie far behind the one at which the seek ends, so what a file does
//  depends on the files before it. Until a file is read, files move on to the
//  markers of each other, and which one is read first depends on these. Filters
//  are built and asked one after the other, though. So each filter is asked
//  beforehand about the first key of each run, and the markers of the files
//  that were asked before, and the search is replayed from the answers.

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "table/seek/seek_decision.h"
#include "tools/filter_replay.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Nothing here compares the sequence numbers of markers.
constexpr SequenceNumber kMarkerSequence = 0;

// The iterators of one search, and where they are.
class Search {
 public:
  Search(const std::vector<SearchedRun>& runs, const ReadQuery& read,
         const ReadTruth::End& end)
      : runs_(runs), read_(read), end_(end), places_(runs.size()) {}

  std::vector<bool> Run() {
    for (size_t i = 0; i < runs_.size(); i++) {
      if (!runs_[i].may_wait ||
          runs_[i].answer->begin == ReadAnswer::Begin::kReads) {
        Read(i);
      } else if (runs_[i].answer->begin == ReadAnswer::Begin::kWaits) {
        places_[i].kind = Kind::kMarker;
        places_[i].key = runs_[i].answer->marker;
      }
    }
    for (;;) {
      const size_t next = Nearest();
      if (next == runs_.size() || places_[next].kind == Kind::kKey) break;
      if (read_.kind == ReadKind::kClosedSeek &&
          places_[next].key >= read_.bound) {
        break;
      }
      if (!Move(next)) Read(next);
    }
    std::vector<bool> read;
    for (const Place& place : places_) read.push_back(place.is_read);
    return read;
  }

 private:
  using Kind = SearchPosition::Kind;
  struct Place {
    Kind kind = Kind::kNone;
    std::string key;
    uint8_t moves = 0;
    bool is_read = false;
  };

  void Read(size_t run) {
    Place& place = places_[run];
    const Question& question = *runs_[run].question;
    place.is_read = true;
    place.kind = question.found ? Kind::kKey : Kind::kNone;
    place.key = question.first_key;
    // Deleted keys are passed.
    if (end_ && place.key < *end_) place.key = *end_;
  }

  // The run that the search comes to next, or the number of runs.
  size_t Nearest() const {
    size_t nearest = runs_.size();
    for (size_t i = 0; i < runs_.size(); i++) {
      if (places_[i].kind == Kind::kNone) continue;
      if (nearest == runs_.size() || ComesBefore(i, nearest)) nearest = i;
    }
    return nearest;
  }

  bool ComesBefore(size_t a, size_t b) const {
    const int order = places_[a].key.compare(places_[b].key);
    if (order != 0) return order < 0;
    // Larger sequence numbers come first, as in internal keys. Markers have
    // larger ones than writes.
    if (places_[a].kind != Kind::kMarker) return false;
    return places_[b].kind != Kind::kMarker ||
           runs_[a].marker_sequence > runs_[b].marker_sequence;
  }

  // Moves the marker of a run, or returns false if the file must be read.
  bool Move(size_t run) {
    Place& place = places_[run];
    const ReadAnswer& answer = *runs_[run].answer;
    if (place.moves >= Marker::kMaxMoves) return false;
    const size_t stop = NextStop(run);
    if (stop < runs_.size()) {
      const Place& other = places_[stop];
      // The nearest key that the filter was asked about and that is not
      // below the stop.
      size_t asked = runs_.size();
      for (size_t i = 0; i < runs_.size(); i++) {
        const Question& question = *runs_[i].question;
        if (!question.found || question.first_key < other.key) continue;
        if (asked == runs_.size() ||
            question.first_key < runs_[asked].question->first_key) {
          asked = i;
        }
      }
      const bool is_clear =
          other.kind == Kind::kMarker && other.key <= answer.clear_to;
      if (is_clear || (asked < runs_.size() && answer.passes[asked])) {
        place.key = other.key;
        if (other.kind == Kind::kKey) place.key.push_back('\0');
        place.moves++;
        return true;
      }
    }
    if (answer.next.empty() || answer.next <= place.key) return false;
    place.key = answer.next;
    place.moves++;
    return true;
  }

  // The run at whose position the file may go on to wait, as
  // OpenRuns::NextStop, or the number of runs.
  size_t NextStop(size_t run) const {
    size_t stop = runs_.size();
    for (size_t i = 0; i < runs_.size(); i++) {
      const Place& other = places_[i];
      const int order = other.key.compare(places_[run].key);
      if (i == run || other.kind == Kind::kNone || order < 0 ||
          (order == 0 && other.kind == Kind::kMarker)) {
        continue;
      }
      // Keys come before markers.
      if (stop == runs_.size() ||
          std::tie(other.kind, other.key) <
              std::tie(places_[stop].kind, places_[stop].key)) {
        stop = i;
      }
    }
    return stop;
  }

  const std::vector<SearchedRun>& runs_;
  const ReadQuery& read_;
  const ReadTruth::End& end_;
  std::vector<Place> places_;
};

// Finds ReadAnswer::clear_to, for a file that waits at `marker`.
std::string ClearTo(const FileRangeFilter& filter, const ReadAnswer& answer,
                    Marker marker, const std::vector<Slice>& markers) {
  std::string clear_to;
  for (const Slice& other : markers) {
    if (!answer.next.empty() && marker.user_key() != answer.next &&
        other.compare(answer.next) >= 0) {
      MoveOn(filter, SearchPosition(), kMarkerSequence, &marker);
    }
    const int order = other.compare(marker.user_key());
    if (order < 0) continue;
    if (order > 0) {
      Marker moved = marker;
      const SearchPosition stop = {SearchPosition::Kind::kMarker, other};
      if (!MoveOn(filter, stop, kMarkerSequence, &moved) ||
          moved.user_key() != other) {
        break;
      }
    }
    clear_to = other.ToString();
  }
  return clear_to;
}

}  // namespace

double DrawFor(uint64_t a, uint64_t b) {
  const uint64_t numbers[] = {a, b};
  return static_cast<double>(
             Hash64(reinterpret_cast<const char*>(numbers), sizeof(numbers)) >>
             11) *
         0x1p-53;
}

ReplayedReads::ReplayedReads(const std::vector<ReadQuery>& its_reads,
                             const ReadTruth& its_truth, size_t files)
    : reads(its_reads),
      truth(its_truth),
      replayed(reads.size()),
      kind_of(reads.size()),
      first_question(reads.size() + 1),
      asked(files) {
  // Chosen at random, not every second read: reads of different kinds may
  // alternate.
  for (size_t i = 0; i < reads.size(); i++) {
    replayed[i] = DrawFor(i, reads.size()) < 0.5;
    if (replayed[i]) count++;
  }
  // At least one that asks a file.
  const std::vector<Question>& asking = truth.questions;
  if (!asking.empty() &&
      std::none_of(asking.begin(), asking.end(),
                   [this](const Question& q) { return replayed[q.read]; })) {
    replayed[asking[0].read] = true;
    count++;
  }
  std::vector<bool> finds_key(reads.size());
  for (uint32_t i = 0; i < truth.questions.size(); i++) {
    const Question& question = truth.questions[i];
    first_question[question.read + 1]++;
    if (!question.in_vain) finds_key[question.read] = true;
    if (replayed[question.read]) asked[question.file].push_back(i);
  }
  std::partial_sum(first_question.begin(), first_question.end(),
                   first_question.begin());
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < reads.size(); i++) {
    if (!replayed[i]) continue;
    const std::string name = reads[i].kind != ReadKind::kGet
                                 ? ToString(reads[i].kind)
                             : finds_key[i] ? "gets of present keys"
                                            : kGetsOfAbsentKeys;
    const auto [place, is_new] = known.emplace(name, kinds.size());
    if (is_new) kinds.push_back({name});
    kind_of[i] = place->second;
    kinds[place->second].reads++;
  }
}

std::vector<SampleQuery> SamplesOf(const std::vector<ReadQuery>& reads,
                                   const ReadTruth& truth,
                                   const std::vector<bool>& skip) {
  std::vector<SampleQuery> samples;
  uint32_t last = 0;
  for (const Question& question : truth.questions) {
    if (!question.in_vain || skip[question.read]) continue;
    if (!samples.empty() && question.read == last) continue;
    last = question.read;
    const ReadQuery& read = reads[question.read];
    const ReadTruth::End& end = truth.ends[question.read];
    if (read.kind == ReadKind::kGet) {
      samples.push_back({read.target, read.target, true});
    } else if (read.kind == ReadKind::kClosedSeekForPrev) {
      samples.push_back({read.bound, read.target, read.inclusive});
    } else if (end) {
      samples.push_back({read.target, *end, true});
    } else if (read.kind == ReadKind::kClosedSeek) {
      samples.push_back({read.target, read.bound, false});
    }
  }
  return samples;
}

ReadAnswer AskAboutSeek(const FileRangeFilter& filter, const ReadQuery& read,
                        const Question* begin, const Question* end,
                        const std::vector<Slice>& markers) {
  using Action = SeekDecision::Action;
  ReadAnswer answer;
  Marker marker;
  const Slice bound(read.bound);
  const SeekDecision decision =
      DecideSeek(filter, read.target,
                 read.kind == ReadKind::kClosedSeek ? &bound : nullptr,
                 Waiting::kAllowed, marker.new_user_key());
  if (decision.action == Action::kRead) return answer;
  if (decision.action == Action::kEmpty) {
    answer.begin = ReadAnswer::Begin::kEnds;
    return answer;
  }
  answer.begin = ReadAnswer::Begin::kWaits;
  marker.Place(decision.purpose, kMarkerSequence);
  answer.marker = marker.user_key().ToString();
  for (const Question* other = begin; other != end; other++) {
    Marker moved = marker;
    const SearchPosition stop = {SearchPosition::Kind::kKey, other->first_key};
    answer.passes.push_back(other->found && answer.marker <= other->first_key &&
                            MoveOn(filter, stop, kMarkerSequence, &moved) &&
                            moved.user_key().compare(other->first_key) > 0);
  }
  Marker next = marker;
  if (MoveOn(filter, SearchPosition(), kMarkerSequence, &next)) {
    answer.next = next.user_key().ToString();
  }
  answer.clear_to = ClearTo(filter, answer, std::move(marker), markers);
  return answer;
}

std::vector<bool> FilesRead(const std::vector<SearchedRun>& runs,
                            const ReadQuery& read, const ReadTruth::End& end) {
  return Search(runs, read, end).Run();
}

}  // namespace ROCKSDB_NAMESPACE::protean
