# Saccade on a GPU; torch's own wheels bring CUDA's libraries, the driver is the host's:
#     docker build -f docker/cuda.Dockerfile -t saccade:cuda .
#     docker run --rm --gpus all saccade:cuda plan-memory --help
# Volumes, the viewer's port and the sandbox are as in cpu.Dockerfile.
# Not built: torch with CUDA was not downloaded, beyond the check that the lock file pins nothing that it needs otherwise. On 26 November
# 2026 the last `pip install` ran with the CPU wheel of torch in the image of cpu.Dockerfile, and `plan-memory` there. Never on a GPU.
FROM python:3.11.15-slim@sha256:90744cff8f32887f075c47d747a173ff333e9e98801667af93c357fa9f5e28ff
# The CPU kernels and torch.compile's Triton compile at run time, so the compiler stays in the image.
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /saccade
COPY hashes.txt ./
# The image's own pip takes three times as long to find the packages, and cannot compare some with hashes and not others.
RUN grep '^pip==' hashes.txt | pip install --no-cache-dir --upgrade --requirement /dev/stdin
RUN grep '^torch==' hashes.txt | pip install --no-cache-dir --no-deps --requirement /dev/stdin
COPY pyproject.toml README.md LICENSE ./
COPY packages packages
RUN pip install --no-cache-dir --no-require-hashes --constraint hashes.txt --build-constraint hashes.txt ./packages/* '.[sandbox,services,lora]'
RUN useradd --create-home saccade && mkdir /runs && chown saccade /runs
USER saccade
WORKDIR /runs
ENTRYPOINT ["saccade"]
CMD ["--help"]
