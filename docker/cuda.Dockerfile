# Saccade on a GPU: docker build -f docker/cuda.Dockerfile -t saccade:cuda . && docker run --rm --gpus all saccade:cuda plan-memory --help
# Neither built nor run yet. torch's own wheels bring CUDA's libraries; the driver is the host's.
FROM python:3.11-slim
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /saccade
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --constraint constraints.txt '.[sandbox,http,services,view,lora]'
RUN useradd --create-home saccade && mkdir /runs && chown saccade /runs
USER saccade
WORKDIR /runs
ENTRYPOINT ["saccade"]
CMD ["--help"]
