#!/usr/bin/env bash
# One GPU: one process plays and learns in turn, with the local engine. No Ray. `make gpu` is what was written for
# trying this; this script itself ran on a CPU with the base model and fewer steps (26 November 2026), never on a GPU.
#
#   MODEL=Qwen2.5-VL-3B-Instruct DATA=tasks.jsonl OUT=runs/one_gpu examples/fleet/one_gpu.sh
set -euo pipefail

saccade plan-memory --model "$MODEL" --gpus 1 --set model.dtype=bfloat16 \
  --set rl.optimizer.activation_checkpointing=true --set rl.optimizer.micro_batch_tokens=16384

exec saccade train questions --model "$MODEL" --data "$DATA" --out "$OUT" --resume \
  --set model.dtype=bfloat16 \
  --set rl.optimizer.activation_checkpointing=true \
  --set rl.optimizer.micro_batch_tokens=16384 \
  "$@"
