#!/usr/bin/env bash
# One machine with eight GPUs: four learners (FSDP2), four rollout workers with an engine on a GPU each, one batch ahead
# beside learning. Ray starts the processes and ends with the run. Never run on GPUs: on CPUs the same settings with two
# and two processes were (docs/scaling.md).
#
#   MODEL=Qwen2.5-VL-7B-Instruct DATA=tasks.jsonl OUT=runs/eight_gpus examples/fleet/eight_gpus.sh
set -euo pipefail

# Gradients of one learner go over NVLink; a machine without it learns slower, not otherwise.
exec saccade train questions --model "$MODEL" --data "$DATA" --out "$OUT" --resume \
  --set model.dtype=bfloat16 \
  --set rl.optimizer.activation_checkpointing=true \
  --set rl.optimizer.micro_batch_tokens=16384 \
  --set rl.tasks_per_step=32 \
  --set rl.staleness=1 \
  --set rl.overlap=true \
  --set fleet.learners=4 \
  --set fleet.learner_gpus=1 \
  --set fleet.rollouts=4 \
  --set fleet.rollout_gpus=1 \
  --set fleet.timeout_s=1800 \
  "$@"
