#!/usr/bin/env bash
# ranks_test.sh STIPPLE: training as several processes, started by mpirun: the same bits for any number of them, files that
# one process continues, errors, a rank that is killed, and processes that a launcher starts for independent work. Exits
# with 77 if MPI, or the module for it, is missing.
stipple_folder=$(dirname "$(realpath "$1")")
[ -e "$stipple_folder/stipple_mpi.so" ] || { echo "skipped: this build has no module for MPI"; exit 77; }
command -v mpirun >/dev/null || { echo "skipped: mpirun is not installed"; exit 77; }
. "$(dirname "$0")/command_test.sh"
unset DISPLAY
# As root, mpirun must be told twice that this is intended; other versions of MPI ignore this. More ranks than cores, on
# loopback alone.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader,tcp
export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
on() { local ranks=$1; shift; mpirun -n "$ranks" "$stipple" "$@" >stdout 2>stderr; status=$?; }
only_says() { [ "$(grep -c '^stipple:' stderr)" = 1 ] && tells "$1"; }  # only one rank, and only once
ranks_that_say() { grep -c "^stipple: rank [0-9]*: .*$1" stderr; }

# A scene of ten photos; batches of two views, which a third rank has to draw as well as it can.
"$stipple" synth -o scene --views 10 --size 64x48 >/dev/null
options=(--backend cpu --steps 200 --batch 2 --eval --max-gaussians 3000)
run train scene -o alone "${options[@]}"
check "one process: trains" status_is 0
for ranks in 1 2 3 4; do
  on $ranks train scene -o on$ranks "${options[@]}"
  check "$ranks ranks: train" status_is 0
  for file in checkpoint model.ply; do
    check "$ranks ranks: the $file of one process" cmp alone/$file on$ranks/$file
  done
  check "$ranks ranks: one speaks for all" [ "$(grep -c 'Gaussians, 200 steps' stdout)" = 1 ]
  check "$ranks ranks: the scores of one process" \
    cmp <(grep -o '"psnr": [0-9.]*' alone/metrics.json) <(grep -o '"psnr": [0-9.]*' on$ranks/metrics.json)
done
check "several ranks: the log has the bytes that they exchange" grep -q '"exchanged_bytes":[0-9]*[1-9]' on3/log.jsonl
check "one rank: nothing is exchanged" [ "$(grep -c exchanged_bytes on1/log.jsonl)" = 0 ]

# Steps 1 to 100 on three ranks, the others on two, and on one.
for second in 2 1; do
  rm -rf moved
  on 3 train scene -o moved "${options[@]}" --stop-at 100
  check "3 ranks: stop at step 100" status_is 0
  if [ $second = 1 ]; then run train scene -o moved --resume --stop-at 0; else on $second train scene -o moved --resume --stop-at 0; fi
  check "3 ranks, then $second: resume" status_is 0
  check "3 ranks, then $second: the model of one process" cmp alone/model.ply moved/model.ply
done

# A rank that fails ends only after the others have reported it, so that mpirun need not grant them any time.
export OMPI_MCA_odls_base_sigkill_timeout=0

on 3 train scene -o on2 "${options[@]}"
check "a folder that holds a run: fails" [ "$status" != 0 ]
check "a folder that holds a run: one rank says so" [ "$(grep -c 'already holds a run' stderr)" = 1 ]
on 3 train nowhere -o new "${options[@]}"
check "no such scene: fails" [ "$status" != 0 ]
check "no such scene: one rank says so" [ "$(grep -c 'nowhere' stderr)" = 1 ]
check "no such scene: no folder is left" [ ! -e new ]
on 3 train scene -o new "${options[@]}" --resume
check "no run to resume: one rank says so, and nothing else" only_says "holds no run to resume"

# Two jobs are not one, whatever differs between them: an argument, or a resolved option.
mpirun -n 1 "$stipple" train scene -o new --steps 5 : -n 1 "$stipple" train scene -o other --steps 5 >stdout 2>stderr
check "two folders: refused by one rank" only_says "the folder is new for rank 0, and the folder is other for rank 1"
echo '{"train": {"steps": 6}}' >config.json
mpirun -n 1 "$stipple" train scene -o new --steps 5 : -n 1 "$stipple" train scene -o new --config config.json >stdout 2>stderr
check "two numbers of steps: refused by one rank" only_says "--steps is 5 for rank 0, and --steps is 6 for rank 1"
check "two jobs: how to start both" tells "set STIPPLE_MPI=off"
check "two jobs: no folder is left" [ ! -e new ]

# After all ranks have trained, the first still writes files.
mkdir -p late/metrics.json
on 2 train scene -o late --backend cpu --steps 5
check "metrics that cannot be written: fails" [ "$status" != 0 ]
check "metrics that cannot be written: both ranks say so" [ "$(ranks_that_say metrics.json)" = 2 ]

# A disk that is full for one file is an error on every rank; nothing of the folder is lost. Root may write anywhere, so the
# checkpoint's place is taken by a folder.
mkdir -p full/checkpoint
on 2 train scene -o full "${options[@]}"
check "a checkpoint that cannot be written: fails" [ "$status" != 0 ]
check "a checkpoint that cannot be written: both ranks say so" [ "$(ranks_that_say checkpoint)" = 2 ]

unset OMPI_MCA_odls_base_sigkill_timeout

on 2 train scene -o new --stpes 5
check "mistyped option: one rank says so" [ "$(grep -c 'did you mean --steps' stderr)" = 1 ]
on 2 train scene -o new --steps 0
check "option out of range: one rank says so" [ "$(grep -c -- '--steps must be at least 1' stderr)" = 1 ]
on 2 train scene -o new "${options[@]}" --view --port 0
check "--view: refused" [ "$(grep -c -- '--view shows runs of one process' stderr)" = 1 ]

# Processes that a launcher starts, but that have nothing to do with each other.
mpirun -n 2 bash -c '"$0" info alone >info$OMPI_COMM_WORLD_RANK' "$stipple"
check "other commands: each process works alone" cmp <("$stipple" info alone) info1
mpirun -n 2 bash -c 'STIPPLE_MPI=off "$0" train scene -o alone$OMPI_COMM_WORLD_RANK --backend cpu --steps 5' "$stipple" >stdout 2>stderr
check "STIPPLE_MPI=off: each process trains" says "alone0: "
check "STIPPLE_MPI=off: a model of its own" cmp alone0/model.ply alone1/model.ply

# A photo that one rank cannot read while it trains, in the first step after the first checkpoint.
cp -r scene broken
photo=$(ls broken/images/* | sed -n 4p)
long=(--backend cpu --steps 100000 --batch 3 --max-gaussians 1000 --checkpoint-every 20 --checkpoint-seconds 0 --max-ram 0.00001)
start mpirun -n 3 "$stipple" train broken -o ended "${long[@]}"
wait_until exists ended/checkpoint
echo "not a photo" >"$photo"
wait_for_end
check "a photo that becomes unreadable: fails" [ "$status" != 0 ]
check "a photo that becomes unreadable: every rank says why it ends" [ "$(ranks_that_say "$(basename "$photo")")" = 3 ]
check "a photo that becomes unreadable: and how to go on" tells "mpirun -n 3 stipple train broken -o ended --resume continues from step"

# From here on, mpirun tells ranks to end that are waiting for others. It always sleeps for as long as it grants them, twice.
export OMPI_MCA_odls_base_sigkill_timeout=10

# A rank that is killed.
start mpirun -n 3 "$stipple" train scene -o killed "${long[@]}"
wait_until exists killed/checkpoint
pkill -KILL -n -P "$pid"
wait_for_end
check "a rank is killed: the run ends" [ "$status" != 0 ]
check "a rank is killed: the others say why they end" [ "$(ranks_that_say 'another rank did not answer in time')" = 2 ]
check "a rank is killed: and how to go on" tells "-o killed --resume continues from step"
run train scene -o killed --resume --stop-at 2000
check "a rank was killed: one process goes on" status_is 0
check "a rank was killed: no temporary file is left" [ "$(ls -A killed | grep -c part)" = 0 ]

# Ctrl-C, of which mpirun makes a SIGTERM for each rank.
start mpirun -n 2 "$stipple" train scene -o interrupted "${long[@]}"
wait_until exists interrupted/checkpoint
stop_with INT
check "interrupted: ends with an error" [ "$status" != 0 ]
check "interrupted: the run is saved" tells "interrupted at step"
run train scene -o interrupted --resume --stop-at 2000
check "interrupted: one process goes on" status_is 0


# The same signal for each rank from elsewhere: nobody is killed. Only the ranks are told of a time, so that mpirun does not
# sleep.
unset OMPI_MCA_odls_base_sigkill_timeout
start mpirun --mca odls_base_sigkill_timeout 0 -n 2 env OMPI_MCA_odls_base_sigkill_timeout=20 \
  "$stipple" train scene -o stopped "${long[@]}"
wait_until exists stopped/checkpoint
pkill -TERM -P "$pid"
wait_for_end
check "a signal for every rank: the run is saved" tells "interrupted at step"
check "a signal for every rank: both ranks say so" [ "$(ranks_that_say 'the run was saved in stopped')" = 2 ]

# Without the module, several processes would each train alone; one may, and so may those that are told to.
mkdir bare
cp "$stipple" bare/stipple
few=(--backend cpu --steps 5)
mpirun -n 1 "$stipple" train scene -o new "${few[@]}" : -n 1 bare/stipple train scene -o new "${few[@]}" >stdout 2>stderr
check "without MPI in the build: the rank says so" tells "rank 1: this program was started by a launcher of MPI, but it was built without MPI"
rm -rf new
PMI_RANK=0 PMI_SIZE=1 bare/stipple train scene -o new "${few[@]}" >stdout 2>stderr
check "a launcher of one process: needs no MPI" says "new: "
STIPPLE_MPI=off PMI_RANK=2 PMI_SIZE=4 bare/stipple train scene -o new --overwrite "${few[@]}" >stdout 2>stderr
check "STIPPLE_MPI=off: needs no MPI" says "new: "

# A launcher of another MPI, whose processes this one takes for four runs.
PMI_RANK=2 PMI_SIZE=4 run train scene -o new --overwrite "${few[@]}"
check "a launcher of another MPI: a sentence" tells "rank 2: the launcher has started 4 processes, of which MPI finds 1"
finish
