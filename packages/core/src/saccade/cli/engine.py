"""``saccade engine serve``: a vLLM server that runs, judges and teachers share, started again when it ends."""

import signal
import threading
from pathlib import Path
from typing import Literal

import click

from saccade.characters import shell_words
from saccade.cli import options
from saccade.cli.machine import existing, log_to_stderr, telling_of_waits
from saccade.cli.options import PATH
from saccade.errors import UserError


@click.group()
def engine() -> None:
    """Run inference engines beside training."""


@engine.command(context_settings={"ignore_unknown_options": True})
@click.option("--model", type=PATH, required=True, help="Checkpoint directory.")
@click.option("--python", type=PATH, help="Python of the environment with vLLM; by default $SACCADE_VLLM_PYTHON.")
@options.listening_options(8000, host_help="Address to listen on; every client that reaches it can change the weights.")
@click.option("--dtype", type=click.Choice(["auto", "float32", "bfloat16"]), default="auto", show_default=True)
@click.option(
    "--max-model-len", type=click.IntRange(min=2), default=8200, show_default=True, help="Maximum tokens of a sequence."
)
@click.option(
    "--kv-cache-mib", type=click.IntRange(min=1), default=256, show_default=True, help="KV-cache memory on a CPU."
)
@click.option(
    "--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads, if vLLM runs on a CPU."
)
@click.option("--log", type=PATH, default=Path("vllm.log"), show_default=True, help="File for vLLM's output.")
@click.argument("further", nargs=-1, type=click.UNPROCESSED, metavar="[-- VLLM-ARGUMENT...]")
def serve(
    model: Path,
    python: Path | None,
    host: str,
    port: int,
    dtype: Literal["auto", "float32", "bfloat16"],
    max_model_len: int,
    kv_cache_mib: int,
    threads: int,
    log: Path,
    further: tuple[str, ...],
) -> None:
    """Serve a checkpoint with vLLM until Ctrl-C, and restart it when it exits.

    Training uses it with --set engine.kind=vllm --set engine.urls=URL. Judges and teachers use it as a chat model at
    URL/v1 under the name saccade. Arguments after -- go to vLLM.
    """
    log_to_stderr(is_quiet=False)
    model = existing("--model", model) or model
    _check_whole(model)
    from saccade.engines.vllm.environment import find_environment
    from saccade.engines.vllm.server import ServerSettings, VllmServer

    environment = find_environment(python, "--python")
    settings = ServerSettings(
        model=model,
        dtype=dtype,
        max_model_len=max_model_len,
        kv_cache_mib=kv_cache_mib,
        host=host,
        port=port,
        threads=threads,
        further=further,
    )
    ended = threading.Event()
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, lambda *_: ended.set())
    server = VllmServer(environment, settings, log)
    try:
        click.echo(f"vLLM {environment.version} loads {model}; it says how far it is in {log}", err=True)
        with telling_of_waits(f"vLLM loads {model}"):
            while not ended.is_set() and not server.is_ready:
                server.check()
                ended.wait(0.2)
        if server.is_ready:
            click.echo(server.url)
        while not ended.is_set():
            server.check()
            ended.wait(0.5)
    finally:
        server.close()


def _check_whole(model: Path) -> None:
    if (model / "adapter_config.json").is_file():
        raise UserError(
            f"--model {model} is an adapter, and vLLM serves whole checkpoints; run "
            f"`saccade merge {shell_words(model)} OUT` and give OUT"
        )
    if not (model / "config.json").is_file():
        raise UserError(f"--model {model} is no checkpoint directory: it has no config.json")
    from saccade.models.checkpoint import refuse_damaged_model

    refuse_damaged_model(model)
