# Saccade on a CPU, with the sandbox, the viewer and the servers:
#     docker build -f docker/cpu.Dockerfile -t saccade .
#     docker run --rm -v saccade-runs:/runs saccade demo --out /runs/demo
#     docker run --rm -v saccade-runs:/runs -p 7860:7860 -e SACCADE_TOKEN saccade \
#         view /runs --host 0.0.0.0 --token-env SACCADE_TOKEN     # a token of 16 characters or more
# A folder of the host in place of the volume must belong to the container's user: --user "$(id -u)" -e HOME=/tmp.
# Docker's filter of system calls refuses the namespaces of the code sandbox (docs/sandbox.md): add
# --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or take the isolation `restricted`.
# Tried on 26 November 2026 without Docker: buildah 1.28 ran these lines on a base image of our own (Debian 13, Python 3.11.7 in
# /usr/local), with the CPU wheel of torch from a folder in place of download.pytorch.org, no bytecode, and some packages installed
# a step earlier. podman ran the image as its user, with Docker's rules for namespaces: a shortened `demo` to its end, `view` at its
# port, the sandbox `restricted` with them and `full` without. Neither python:3.11-slim nor Docker itself was there. The digest of
# the base and the hashes of torch's CPU wheels (x86-64, aarch64) were added later and not built: the digest is from docker-library/repo-info,
# Docker's own list. To renew it: docker buildx imagetools inspect python:3.11-slim
FROM python:3.11.15-slim@sha256:90744cff8f32887f075c47d747a173ff333e9e98801667af93c357fa9f5e28ff
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /saccade
COPY hashes.txt ./
# The image's own pip takes three times as long to find the packages, and cannot compare some with hashes and not others.
RUN grep '^pip==' hashes.txt | pip install --no-cache-dir --upgrade --requirement /dev/stdin
RUN echo 'torch==2.13.0' \
    --hash=sha256:6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b \
    --hash=sha256:84453b69508ec79902f899c5ed9495acb9e2bbe9fda5f1d5d6f19e3c3842e1a7 \
    | pip install --no-cache-dir --no-deps --index-url https://download.pytorch.org/whl/cpu --requirement /dev/stdin
COPY pyproject.toml README.md LICENSE ./
COPY packages packages
RUN pip install --no-cache-dir --no-require-hashes --constraint hashes.txt --build-constraint hashes.txt ./packages/* '.[sandbox,services]'
RUN useradd --create-home saccade && mkdir /runs && chown saccade /runs
USER saccade
WORKDIR /runs
ENTRYPOINT ["saccade"]
CMD ["--help"]
