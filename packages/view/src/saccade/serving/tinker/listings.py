"""What clients ask about the server: its model, its runs and their checkpoints."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from saccade.errors import UserError
from saccade.serving.tinker.adapters import SavedAdapter
from saccade.serving.tinker.service import TinkerService, UnknownIdError
from saccade.types import Json

CLIENT_CONFIG: Mapping[str, Json] = {
    "pjwt_auth_enabled": False,
    "credential_default_source": "api_key",
    "parallel_fwdbwd_chunks": False,
    "proto_compress_fwdbwd": False,
    "custom_loss_server_side": False,
    "sample_use_retrieve_futures": False,
    "sample_join_sampling_session": False,
    # A batch of samples takes as long as it takes.
    "sample_enable_stuck_detection": False,
    # Its other transport is made for the public server.
    "use_pyqwest_transport": False,
}
"""The ways of asking that this server knows, of those that the client has."""
DYNAMIC_CONFIG: Mapping[str, Json] = {"refresh_interval_sec": 3600, "sample_cancel_enabled": True}

_KINDS = {"weights": "training", "sampler_weights": "sampler"}


def capabilities(service: TinkerService) -> Json:
    return {
        "supported_models": [
            {
                "model_name": service.settings.name,
                "max_context_length": service.base.longest_sequence or None,
                "trainable": True,
                "sampleable": True,
            }
        ]
    }


def info(service: TinkerService, model_id: Json) -> Json:
    """A training client's model."""
    run, base = service.run(model_id), service.base
    if run.training is None:
        raise UserError(f"{run.model_id} is not made yet; wait for its creation")
    name = service.settings.name
    tokenizer = str(base.checkpoint) if base.checkpoint is not None else None
    return {
        "type": "get_info",
        "model_data": {"arch": base.family.model_type, "model_name": name, "tokenizer_id": tokenizer},
        "model_id": run.model_id,
        "is_lora": True,
        "lora_rank": run.training.plan.rank,
        "model_name": name,
    }


def sampler(service: TinkerService, ident: Json) -> Json:
    found = service.sampler(ident)
    return {"sampler_id": ident, "base_model": service.settings.name, "model_path": found.path}


def weights_info(service: TinkerService, path: Json) -> Json:
    """What a checkpoint is an adapter of."""
    record = SavedAdapter.at(path).record(service.root)
    config = record.get("lora_config")
    config = config if isinstance(config, dict) else {}
    parts = {name: config.get(name) for name in ("train_unembed", "train_mlp", "train_attn")}
    return {"base_model": record.get("base_model"), "is_lora": True, "lora_rank": config.get("rank"), **parts}


def training_run(service: TinkerService, ident: str) -> Json:
    """A run that is in training, or that left checkpoints."""
    saved = _saved(service, ident)
    run = service.runs.get(ident)
    if run is None and not saved:
        raise UnknownIdError(f"there is no run {ident[:60]!r} here")
    rank = run.training.plan.rank if run is not None and run.training is not None else None
    of_kind = {kind: [one for one in saved if one["checkpoint_type"] == kind] for kind in _KINDS.values()}
    return {
        "training_run_id": ident,
        "base_model": service.settings.name,
        "model_owner": "saccade",
        "is_lora": True,
        "lora_rank": rank,
        "last_request_time": datetime.now(UTC).isoformat(),
        "last_checkpoint": of_kind["training"][-1] if of_kind["training"] else None,
        "last_sampler_checkpoint": of_kind["sampler"][-1] if of_kind["sampler"] else None,
    }


def checkpoints(service: TinkerService, ident: str) -> Json:
    """Those of a run, the oldest first."""
    return {"checkpoints": [*_saved(service, ident)]}


def _saved(service: TinkerService, ident: str) -> list[dict[str, Json]]:
    found: list[dict[str, Json]] = []
    for kind, words in _KINDS.items():
        with suppress(UserError, OSError):
            folder = SavedAdapter.named(ident, kind, "any").directory(service.root).parent
            for directory in sorted(folder.iterdir()):
                with suppress(UserError):
                    record = SavedAdapter.at(f"tinker://{ident}/{kind}/{directory.name}").record(service.root)
                    written = record.get("time")
                    time = datetime.fromtimestamp(written if isinstance(written, float) else 0.0, UTC)
                    found.append(
                        {
                            "checkpoint_id": f"{kind}/{directory.name}",
                            "checkpoint_type": words,
                            "time": time.isoformat(),
                            "tinker_path": record.get("tinker_path"),
                            "user_metadata": record.get("user_metadata"),
                        }
                    )
    return sorted(found, key=lambda one: str(one["time"]))
