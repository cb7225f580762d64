#!/usr/bin/env bash
# One machine with eight GPUs: four learners (FSDP2), and a vLLM server on each of the other four, which sample the next
# batch beside learning. torchrun starts the learners, and starts all of them again where one is lost: they go on from
# the newest checkpoint. Never run on GPUs; on CPUs, learners with servers of vLLM and such a restart were tried each by
# itself (docs/scaling.md).
#
#   MODEL=Qwen2.5-VL-7B-Instruct DATA=tasks.jsonl OUT=runs/eight examples/fleet/eight_gpus_vllm.sh
#   sbatch --export=ALL,MODEL=...,DATA=...,OUT=/shared/runs/eight examples/fleet/eight_gpus_vllm.sh    # under Slurm
#
# On Kubernetes it is the command of a pod with eight GPUs and a volume of memory at /dev/shm.
#SBATCH --job-name=saccade
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=8
#SBATCH --exclusive
#SBATCH --requeue
set -euo pipefail
: "${SACCADE_VLLM_PYTHON:?the Python of the environment with vLLM, as in docs/scaling.md}"

# A turn waits for its server (engine.patience_s), so that training need not.
trap 'kill $(jobs -p)' EXIT
for gpu in 4 5 6 7; do
  CUDA_VISIBLE_DEVICES=$gpu saccade engine serve --model "$MODEL" --dtype bfloat16 --port "800$gpu" \
    --max-model-len 8200 --log "vllm-$gpu.log" &
done

CUDA_VISIBLE_DEVICES=0,1,2,3 OMP_NUM_THREADS=8 python -m torch.distributed.run --standalone --nproc-per-node 4 \
  --max-restarts 8 -m saccade train questions --model "$MODEL" --data "$DATA" --out "$OUT" --resume \
  --set model.dtype=bfloat16 \
  --set rl.optimizer.activation_checkpointing=true \
  --set rl.optimizer.micro_batch_tokens=16384 \
  --set rl.tasks_per_step=32 \
  --set rl.staleness=1 \
  --set rl.overlap=true \
  --set fleet.learners=4 \
  --set fleet.learner_gpus=1 \
  --set fleet.timeout_s=1800 \
  --set engine.kind=vllm \
  --set engine.urls=http://127.0.0.1:8004,http://127.0.0.1:8005,http://127.0.0.1:8006,http://127.0.0.1:8007 \
  "$@"
