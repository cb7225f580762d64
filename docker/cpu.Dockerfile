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
# port, the sandbox `restricted` with them and `full` without. Neither python:3.11-slim nor Docker itself was there.
FROM python:3.11-slim
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /saccade
COPY constraints.txt ./
# The image's own pip takes three times as long to find the packages.
RUN pip install --no-cache-dir --constraint constraints.txt --upgrade pip
RUN pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu torch==2.13.0
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --constraint constraints.txt '.[sandbox,http,services,view]'
RUN useradd --create-home saccade && mkdir /runs && chown saccade /runs
USER saccade
WORKDIR /runs
ENTRYPOINT ["saccade"]
CMD ["--help"]
