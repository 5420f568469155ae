// What `inspect attention` notes of heads, and what it advises.
#include <gtest/gtest.h>

#include "report/attention_page.h"

namespace alibi {
namespace {

// One layer of two heads; the second is the one that is noted.
AttentionPicture picture_of(const HeadFigures& second, double slope) {
  AttentionPicture picture;
  picture.position = "alibi";
  picture.trained_length = 128;
  const HeadFigures usual{.visited_share = 1,
                          .reach = 60,
                          .mean_distance = 30,
                          .blind_bf16 = 0,
                          .blind_fp32 = 0,
                          .first_token = 0.01};
  AttentionHead head;
  head.slope = slope;
  picture.layers = {{head, head}};
  picture.uncounted_kernels = {""};
  picture.lengths = {{128, 4, {{usual, second}}}};
  return picture;
}

std::string notes_of(const HeadFigures& second, double slope = 0.1) {
  std::string all;
  for (const std::string& note : attention_notes(picture_of(second, slope))) all += note + "\n";
  return all;
}

HeadFigures plain() {
  return {.visited_share = 1,
          .reach = 60,
          .mean_distance = 30,
          .blind_bf16 = 0.009,
          .blind_fp32 = 0,
          .first_token = 0.49};
}

TEST(AttentionNotes, AreSilentOfUsualHeads) { EXPECT_EQ(notes_of(plain()), ""); }

// Layers and heads count from 1. Seen failing with each of the two notes left out.
TEST(AttentionNotes, NameBlindAndCollapsedHeadsAndWhatToTry) {
  HeadFigures blind = plain(), collapsed = plain();
  blind.blind_bf16 = 0.25;
  collapsed.first_token = 0.75;
  for (const char* words : {"blind heads", "try ", "1.2 (25"})
    EXPECT_NE(notes_of(blind).find(words), std::string::npos) << words << "\n" << notes_of(blind);
  for (const char* words : {"collapsed heads", "try fewer biased heads", "1.2 (75"})
    EXPECT_NE(notes_of(collapsed).find(words), std::string::npos) << words << "\n"
                                                                  << notes_of(collapsed);
  EXPECT_EQ(notes_of(blind).find("collapsed"), std::string::npos);
  EXPECT_EQ(notes_of(collapsed).find("blind"), std::string::npos);
  EXPECT_EQ(notes_of(collapsed, kNotMeasured).find("biased heads"), std::string::npos)
      << "without slopes there is none to be made smaller";
}

TEST(AttentionNotes, NameHeadsThatLookNearOrAtAllAlike) {
  HeadFigures near = plain();
  near.reach = 2;
  EXPECT_NE(notes_of(near).find("1.2 (2 tokens"), std::string::npos) << notes_of(near);
  EXPECT_NE(notes_of(plain(), 1e-4).find("small slope"), std::string::npos);
}

}  // namespace
}  // namespace alibi
