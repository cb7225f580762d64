"""Compare a built checkpoint with what it was built from: the tower with its ONNX graph, the text with the GGUF file.

``python -m studies.real_model.check coder05``: the text model is read a second time by transformers' own GGUF reader
(9 GB at the peak), and logits of a sentence are compared.
"""

import argparse
from pathlib import Path

import onnx
import onnxruntime
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, InternVLForConditionalGeneration, PreTrainedModel

SENTENCE = "The capital of France is Paris, and the river that flows through it is the"


def tower_difference(model: PreTrainedModel, graph: Path, tile_px: int) -> tuple[float, float]:
    """Largest difference between tower and ONNX graph on noise, and the largest value."""
    described = onnx.load(str(graph))
    last = [node.output[0] for node in described.graph.node if node.name.startswith("/backbone/layernorm")][-1]
    described.graph.output.append(onnx.helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(described.SerializeToString())
    noise = torch.randn(1, 3, tile_px, tile_px, generator=torch.Generator().manual_seed(0))
    theirs = torch.from_numpy(session.run([last], {"input_image": noise.numpy()})[0])
    with torch.no_grad():
        ours = model.model.vision_tower(pixel_values=noise).last_hidden_state
    return (theirs - ours).abs().max().item(), theirs.abs().max().item()


def text_difference(model: PreTrainedModel, gguf: Path, ids: torch.Tensor) -> tuple[float, float]:
    """Largest difference between logits here and of transformers' own reading of the file, and the largest logit."""
    theirs = AutoModelForCausalLM.from_pretrained(str(gguf.parent), gguf_file=gguf.name, dtype=torch.float32)
    head = model.get_input_embeddings().weight.detach()
    theirs.config.tie_word_embeddings = False
    theirs.get_input_embeddings().weight.data = head[: theirs.config.vocab_size]
    theirs.lm_head = torch.nn.Linear(head.shape[1], len(head), bias=False)
    theirs.lm_head.weight.data = head
    with torch.no_grad():
        expected, found = theirs(input_ids=ids).logits, model(input_ids=ids).logits
    return (expected - found).abs().max().item(), expected.abs().max().item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/saccade/real_model").expanduser())
    parser.add_argument("--text", default="coder")
    options = parser.parse_args()
    model = InternVLForConditionalGeneration.from_pretrained(options.model, dtype=torch.float32).eval()
    tile_px = model.config.vision_config.image_size[0]
    difference = tower_difference(model, options.cache / "dinov2_small.onnx", tile_px)
    print("tower beside ONNX: {:.2g} of {:.3g}".format(*difference))
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    ids = tokenizer(SENTENCE, return_tensors="pt").input_ids
    with torch.no_grad():
        written = model.generate(input_ids=ids, max_new_tokens=12, do_sample=False)
    print(tokenizer.decode(written[0]))
    difference = text_difference(model, options.cache / f"{options.text}.gguf", ids)
    print("logits beside transformers' reader: {:.2g} of {:.3g}".format(*difference))


if __name__ == "__main__":
    main()
