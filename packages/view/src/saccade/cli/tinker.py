"""``saccade tinker``: a checkpoint for the client of Thinking Machines' Tinker."""

import os
from pathlib import Path

import click

from saccade.cli import options
from saccade.cli.machine import existing, telling_of_waits
from saccade.cli.options import PATH


@click.command("tinker")
@click.argument("checkpoint", type=PATH)
@click.option("--out", type=PATH, default=Path("runs/tinker"), show_default=True, help="Folder for checkpoints.")
@click.option("--name", help="Name that clients give as base_model; by default the checkpoint's absolute path.")
@options.listening_options(8404)
@click.option(
    "--models", type=click.IntRange(min=1), default=4, show_default=True, help="Maximum number of training clients."
)
@click.option(
    "--snapshots",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Samplers kept in memory that were saved without a name; the oldest make room.",
)
@click.option(
    "--max-tokens", type=click.IntRange(min=1), default=2048, show_default=True, help="For samples that name no limit."
)
@click.option(
    "--micro-batch-tokens",
    type=click.IntRange(min=1),
    default=4096,
    show_default=True,
    help="Tokens forwarded at once in training.",
)
@click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True, help="Where it runs."
)
@options.token_env
@options.threads
def tinker(
    checkpoint: Path,
    out: Path,
    name: str | None,
    host: str,
    port: int,
    models: int,
    snapshots: int,
    max_tokens: int,
    micro_batch_tokens: int,
    device: str,
    token_env: str,
) -> None:
    """Serve a checkpoint to Tinker's client (TINKER_BASE_URL) until SIGTERM: train LoRA adapters, sample, save."""
    path = existing("CHECKPOINT", checkpoint)
    assert path is not None
    from saccade.services.http.listening import check_reach, listening
    from saccade.serving.tinker.settings import TinkerSettings

    settings = TinkerSettings(
        name=name or str(path.resolve()),
        host=host,
        port=port,
        models=models,
        snapshots=snapshots,
        max_tokens=max_tokens,
        micro_batch_tokens=micro_batch_tokens,
    )
    token = os.environ.get(token_env) or None
    check_reach(host, token, variable=token_env)
    with listening(host, port) as listener:
        with telling_of_waits("starting"):
            from saccade.models.checkpoint import LoadSettings
            from saccade.serving.tinker.server import TinkerServer, check_key, serve_tinker, shared_models

            check_key(token, variable=token_env)
            # As large as the checkpoint's own processor has them, by which clients count a picture's tokens.
            load = LoadSettings(device=device, max_pixels="checkpoint")  # type: ignore[arg-type]
            base, another = shared_models(path, load)
            server = TinkerServer(base, another, settings, root=out, token=token)
        serve_tinker(server, listener)
