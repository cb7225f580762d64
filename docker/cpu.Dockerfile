# Saccade on a CPU:
#     docker build -f docker/cpu.Dockerfile -t saccade .
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
