#include "distributed/place.h"

#include <gtest/gtest.h>

#include "support/error_place.h"
#include "support/error_text.h"

namespace alibi {
namespace {

WorldPlace place_in(const Variables& variables) { return world_place({}, variables); }

std::string refusal(const Variables& variables) {
  return error_place([&] { place_in(variables); });
}

// `variables` with some replaced; an empty value removes one.
Variables with(Variables variables, const Variables& others) {
  for (const auto& [name, value] : others) variables[name] = value;
  std::erase_if(variables, [](const auto& entry) { return entry.second.empty(); });
  return variables;
}

const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "node1"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_RESTART_COUNT", "0"},
                             {"TORCHELASTIC_RUN_ID", "run"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                            {"PMIX_NAMESPACE", "1234"}};
const Variables kPmi = {
    {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
const Variables kSlurm = {{"SLURM_PROCID", "3"},  {"SLURM_NTASKS", "16"},
                          {"SLURM_LOCALID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"},
                          {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_ID", "77"},
                          {"SLURM_NNODES", "2"},  {"SLURM_STEP_NODELIST", "gpu[07-08]"}};

TEST(WorldPlace, IsAloneWhereNobodyAsks) {
  for (const Variables& variables :
       {Variables{}, Variables{{"HOME", "/"}, {"MASTER_ADDR", "node1"}},
        with(kTorchrun, {{"RANK", "0"},
                         {"WORLD_SIZE", "1"},
                         {"LOCAL_RANK", "0"},
                         {"LOCAL_WORLD_SIZE", "1"},
                         {"MASTER_ADDR", ""}}),
        Variables{{"WORLD_SIZE", "1"}}, Variables{{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}},
        with(kSlurm,
             {{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}})}) {
    const WorldPlace place = place_in(variables);
    EXPECT_EQ(place.rank, 0);
    EXPECT_EQ(place.size, 1);
    EXPECT_EQ(place.local_size, 1);
    EXPECT_EQ(place.store, "");
    EXPECT_EQ(place.asked_by, "");
  }
}

TEST(WorldPlace, ReadsTorchrun) {
  const WorldPlace place = place_in(kTorchrun);
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.size, 8);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 4);
  EXPECT_EQ(place.store, "tcp://node1:29500");
  EXPECT_TRUE(place.store_is_hosted);
  EXPECT_EQ(place.asked_by, "RANK, WORLD_SIZE (torchrun)");
}

// Without it, 4 restarts of 4 failed: keys of the start before were taken for new ones.
TEST(WorldPlace, ARestartHasKeysOfItsOwn) {
  const std::string first = place_in(kTorchrun).prefix;
  EXPECT_NE(place_in(with(kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "1"}})).prefix, first);
  EXPECT_NE(place_in(with(kTorchrun, {{"TORCHELASTIC_RUN_ID", "other"}})).prefix, first);
  EXPECT_EQ(place_in(with(kTorchrun, {{"RANK", "6"}, {"LOCAL_RANK", "2"}})).prefix, first);
}

// RANK, WORLD_SIZE and MASTER_* by hand, as many scripts set them.
TEST(WorldPlace, ReadsTheBareFourVariables) {
  const Variables bare = {
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
  const WorldPlace far = place_in(bare);
  EXPECT_EQ(far.local_size, 0);  // World counts
  EXPECT_FALSE(far.store_is_hosted);
  const WorldPlace near = place_in(with(bare, {{"MASTER_ADDR", "localhost"}}));
  EXPECT_EQ(near.local_rank, 1);
  EXPECT_EQ(near.local_size, 2);
  EXPECT_EQ(place_in(with(bare, {{"MASTER_ADDR", "fe80::7"}})).store, "tcp://[fe80::7]:29500");
  EXPECT_EQ(refusal(with(bare, {{"MASTER_ADDR", ""}})), "MASTER_ADDR 2");
  EXPECT_EQ(refusal(with(bare, {{"MASTER_PORT", ""}})), "MASTER_PORT 2");
  EXPECT_EQ(refusal(with(bare, {{"MASTER_PORT", "65536"}})), "MASTER_PORT 2");
}

void expect_on_one_machine(const WorldPlace& place, int rank, int size, const char* asked_by) {
  EXPECT_EQ(place.rank, rank);
  EXPECT_EQ(place.size, size);
  EXPECT_EQ(place.local_rank, rank);
  EXPECT_EQ(place.local_size, size);
  EXPECT_EQ(place.asked_by, asked_by);
}

TEST(WorldPlace, ReadsOpenMpi) {
  expect_on_one_machine(place_in(kOpenMpi), 2, 4,
                        "OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE (mpirun)");
}

TEST(WorldPlace, ReadsPmi) {
  expect_on_one_machine(place_in(kPmi), 1, 2, "PMI_RANK, PMI_SIZE (mpiexec)");
}

TEST(WorldPlace, ReadsSlurmInsideAStepOnly) {
  const WorldPlace place = place_in(kSlurm);
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.size, 4);  // the step's, not the job's
  EXPECT_EQ(place.asked_by, "SLURM_PROCID, SLURM_STEP_NUM_TASKS (srun)");
  EXPECT_EQ(place_in(with(kSlurm, {{"SLURM_STEP_NUM_TASKS", ""}})).size, 16);
  // A batch script itself, and the shell of an allocation.
  EXPECT_EQ(place_in(with(kSlurm, {{"SLURM_STEP_ID", ""}})).size, 1);
  EXPECT_EQ(place_in(with(kSlurm, {{"SLURM_STEP_ID", "4294967290"}})).size, 1);
}

TEST(WorldPlace, FlagsComeBeforeLaunchersAndTorchrunBeforeOthers) {
  Variables all = kTorchrun;
  for (const Variables& more : {kOpenMpi, kPmi, kSlurm}) all.insert(more.begin(), more.end());
  EXPECT_EQ(world_place({1, 3, "store"}, all).size, 3);
  EXPECT_EQ(place_in(all).size, 8);
  all.erase("RANK");  // scripts set WORLD_SIZE for programs that take the rank from elsewhere
  EXPECT_EQ(place_in(all).asked_by, place_in(kOpenMpi).asked_by);
  std::erase_if(all, [](const auto& entry) { return entry.first.rfind("OMPI", 0) == 0; });
  EXPECT_EQ(place_in(all).asked_by, place_in(kPmi).asked_by);
  all.erase("PMI_RANK");
  all.erase("PMI_SIZE");
  EXPECT_EQ(place_in(all).asked_by, place_in(kSlurm).asked_by);
}

// A job's ranks must find the same place, and two jobs at once should not.
TEST(WorldPlace, RanksOfOneMachineMeetAtAPortOfTheirJob) {
  const WorldPlace place = place_in(kOpenMpi);
  const auto address = store_address(place.store);
  ASSERT_TRUE(address);
  EXPECT_EQ(address->host, "127.0.0.1");
  EXPECT_GE(address->port, 20'000);
  EXPECT_LT(address->port, 30'000);
  EXPECT_EQ(
      place_in(with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}}))
          .store,
      place.store);
  const WorldPlace other = place_in(with(kOpenMpi, {{"PMIX_NAMESPACE", "1235"}}));
  EXPECT_NE(other.store, place.store);
  EXPECT_NE(other.prefix, place.prefix);
  const Variables one_node = with(kSlurm, {{"SLURM_NNODES", "1"}});
  EXPECT_EQ(store_address(place_in(one_node).store)->host, "127.0.0.1");
  EXPECT_EQ(place_in(one_node).local_rank, 3);
  EXPECT_EQ(place_in(one_node).local_size, 4);
  EXPECT_NE(place_in(one_node).store, place_in(with(one_node, {{"SLURM_STEP_ID", "1"}})).store);
}

TEST(WorldPlace, SeveralMachinesNeedAnAddress) {
  const Variables many = with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}});
  const std::string text = error_text([&] { place_in(many); });
  EXPECT_ERROR_AT(text, "OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE (mpirun)", "MASTER_ADDR",
                  "MASTER_PORT");
  EXPECT_EQ(place_in(with(many, {{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "4000"}})).store,
            "tcp://node7:4000");
  EXPECT_EQ(store_address(place_in(with(many, {{"MASTER_ADDR", "node7"}})).store)->host, "node7");
  EXPECT_EQ(refusal(with(kPmi, {{"MPI_LOCALNRANKS", ""}})), "PMI_RANK, PMI_SIZE (mpiexec) 2");
}

TEST(WorldPlace, TheFirstHostOfSlurmsListHoldsTheStore) {
  const auto host = [](const std::string& list) {
    return store_address(place_in(with(kSlurm, {{"SLURM_STEP_NODELIST", list}})).store)->host;
  };
  EXPECT_EQ(host("gpu[07-08]"), "gpu07");
  EXPECT_EQ(host("a-1,b[2-3]"), "a-1");
  EXPECT_EQ(host("r[3,5]n[10-12],x"), "r3n10");
  EXPECT_EQ(host("[6-7].site"), "6.site");
  EXPECT_EQ(refusal(with(kSlurm, {{"SLURM_STEP_NODELIST", "gpu[07"}})),
            "SLURM_PROCID, SLURM_STEP_NUM_TASKS (srun) 2");
  EXPECT_EQ(refusal(with(kSlurm, {{"SLURM_STEP_NODELIST", ""}})),
            "SLURM_PROCID, SLURM_STEP_NUM_TASKS (srun) 2");
  EXPECT_EQ(place_in(with(kSlurm, {{"SLURM_NNODES", ""}})).local_size, 0);  // World counts
}

TEST(WorldPlace, NumbersThatDoNotFitAreRefused) {
  EXPECT_EQ(refusal(with(kTorchrun, {{"RANK", "abc"}})), "RANK 2");
  EXPECT_EQ(refusal(with(kTorchrun, {{"RANK", "-1"}})), "RANK 2");
  EXPECT_EQ(refusal(with(kTorchrun, {{"RANK", "1 "}})), "RANK 2");
  EXPECT_EQ(refusal(with(kTorchrun, {{"RANK", "8"}})), "RANK, WORLD_SIZE 2");
  EXPECT_EQ(refusal(with(kTorchrun, {{"WORLD_SIZE", "0"}})), "WORLD_SIZE 2");
  EXPECT_EQ(refusal(with(kTorchrun, {{"WORLD_SIZE", "99999999999999999999"}})), "WORLD_SIZE 2");
  EXPECT_EQ(refusal(with(kTorchrun, {{"LOCAL_RANK", "4"}})), "LOCAL_RANK, LOCAL_WORLD_SIZE 2");
  EXPECT_EQ(refusal(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "9"}})), "LOCAL_WORLD_SIZE 2");
  EXPECT_EQ(refusal({{"RANK", "1"}}), "RANK 2");
  EXPECT_EQ(refusal({{"WORLD_SIZE", "2"}}), "WORLD_SIZE 2");
  EXPECT_EQ(refusal(with(kOpenMpi, {{"OMPI_COMM_WORLD_SIZE", ""}})), "OMPI_COMM_WORLD_SIZE 2");
  EXPECT_EQ(refusal(with(kPmi, {{"PMI_RANK", "2"}})), "PMI_RANK, PMI_SIZE 2");
  EXPECT_EQ(refusal(with(kSlurm, {{"SLURM_PROCID", "4"}})), "SLURM_PROCID, SLURM_STEP_NUM_TASKS 2");
  EXPECT_NAMES(error_text([] { place_in(with(kTorchrun, {{"RANK", "abc"}})); }), "RANK", "abc");
  EXPECT_NAMES(error_text([] { place_in(with(kTorchrun, {{"RANK", "8"}})); }), "8", "7");
}

TEST(WorldPlace, ReadsFlags) {
  const WorldPlace local = world_place({1, 3, "store"}, {});
  EXPECT_EQ(local.rank, 1);
  EXPECT_EQ(local.size, 3);
  EXPECT_EQ(local.local_rank, 1);
  EXPECT_EQ(local.local_size, 3);
  EXPECT_EQ(local.store, "store");
  EXPECT_EQ(world_place({1, 3, "tcp://[::1]:80"}, {}).local_size, 3);
  EXPECT_EQ(world_place({1, 3, "tcp://node1:80"}, {}).local_size, 0);  // World counts
  EXPECT_EQ(world_place({0, 1, ""}, kTorchrun).size, 1);
  EXPECT_EQ(world_place({1, 3, "x"}, {{"GLOO_SOCKET_IFNAME", "eth1"}}).interface, "eth1");
  const auto refused = [](const WorldFlags& flags) {
    return error_place([&] { world_place(flags, {}); });
  };
  EXPECT_EQ(refused({1, 0, ""}), "--world-size 2");
  EXPECT_EQ(refused({-1, 0, "store"}), "--world-size 2");
  EXPECT_EQ(refused({-1, 2, "store"}), "--rank 2");
  EXPECT_EQ(refused({2, 2, "store"}), "--rank 2");
  EXPECT_EQ(refused({-2, 2, "store"}), "--rank 2");
  EXPECT_EQ(refused({1, 2, ""}), "--store 2");
  EXPECT_EQ(refused({1, 2, "tcp://node1"}), "store 2");
  EXPECT_EQ(refused({1, 2, "tcp://node1:0"}), "store 2");
  EXPECT_EQ(refused({1, 2, "tcp://:80"}), "store 2");
}

}  // namespace
}  // namespace alibi
