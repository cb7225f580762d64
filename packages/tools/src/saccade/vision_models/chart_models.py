"""Models that read a chart: DePlot (Pix2Struct) and UniChart (Donut).

Pix2Struct models take their task as a line of text above the picture. transformers draws it too, but with a font that
it downloads.
"""

import textwrap
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from PIL import Image, ImageDraw, ImageFont
from transformers import Pix2StructForConditionalGeneration, VisionEncoderDecoderModel
from transformers.models.donut.image_processing_pil_donut import DonutImageProcessorPil
from transformers.models.pix2struct.image_processing_pil_pix2struct import Pix2StructImageProcessorPil

from saccade.errors import UserError
from saccade.models.loading import LoadSettings
from saccade.vision_models.checkpoints import load_pixels, load_tokenizer, load_weights, on_device
from saccade.vision_models.kinds import CHART_MODELS, ChartModel, ChartRequest, ChartTask, check_kind

TEXT_SIZE_PX = 36
MARGIN_PX = 5
LINE_CHARS = 80

Font = ImageFont.FreeTypeFont


def header_font(path: Path | None) -> Font:
    """The font of a file (the published models saw Arial), or the one that comes with Pillow."""
    if path is None:
        font = ImageFont.load_default(TEXT_SIZE_PX)
        if not isinstance(font, ImageFont.FreeTypeFont):
            raise UserError('this Pillow is built without FreeType; give a font, as in font = "Arial.ttf"')
        return font
    try:
        return ImageFont.truetype(str(path), encoding="UTF-8", size=TEXT_SIZE_PX)
    except OSError as error:
        raise UserError(f"font {path} cannot be read: {error}; give a TrueType file") from error


def with_header(image: Image.Image, text: str, font: Font) -> Image.Image:
    """The picture below its text; the narrower of the two is enlarged to the width of the other."""
    header = _text_picture("\n".join(textwrap.wrap(text, LINE_CHARS)), font)
    width = max(header.width, image.width)
    height = int(image.height * (width / image.width))
    header_height = int(header.height * (width / header.width))
    whole = Image.new("RGB", (width, header_height + height), "white")
    whole.paste(header.resize((width, header_height)), (0, 0))
    whole.paste(image.resize((width, height)), (0, header_height))
    return whole


def _text_picture(text: str, font: Font) -> Image.Image:
    _, _, right, bottom = ImageDraw.Draw(Image.new("RGB", (1, 1))).textbbox((0, 0), text, font=font)
    picture = Image.new("RGB", (int(right + 2 * MARGIN_PX), int(bottom + 2 * MARGIN_PX)), "white")
    ImageDraw.Draw(picture).text((MARGIN_PX, MARGIN_PX), text, fill="black", font=font)
    return picture


# The exact words with which the published models were trained.
DEPLOT_HEADER = "Generate underlying data table of the figure below:"
UNICHART_PROMPTS: Mapping[ChartTask, str] = {
    "table": "<extract_data_table> <s_answer>",
    "caption": "<summarize_chart> <s_answer>",
    "answer": "<chartqa> {question} <s_answer>",
}
_ANSWER = "<s_answer>"


def load_chart_model(
    path: Path, settings: LoadSettings = LoadSettings(), *, max_tokens: int = 512, font: Path | None = None
) -> ChartModel:
    """The chart model that a checkpoint directory holds; UserError says what is wrong with it.

    ``max_tokens`` is the length of an answer; ``font`` is for DePlot, whose instruction is drawn above the chart.
    """
    if max_tokens < 1:
        raise UserError(f"max_tokens={max_tokens} leaves no room for an answer; use 1 or more")
    if check_kind(path, CHART_MODELS, "chart model") == "pix2struct":
        return DePlot(path, settings, max_tokens=max_tokens, font=font)
    return UniChart(path, settings, max_tokens=max_tokens)


class DePlot:
    """Writes a chart's table, rows parted by ``<0x0A>`` and columns by bars."""

    tasks: frozenset[ChartTask] = frozenset({"table"})

    def __init__(
        self, path: Path, settings: LoadSettings = LoadSettings(), *, max_tokens: int = 512, font: Path | None = None
    ) -> None:
        self._model = load_weights(path, Pix2StructForConditionalGeneration, settings)
        self._pixels = load_pixels(path, Pix2StructImageProcessorPil)
        # The header is drawn here.
        self._pixels.is_vqa = False
        self._tokenizer = load_tokenizer(path)
        self._max_tokens = max_tokens
        self._font = header_font(font)
        self._lock = threading.Lock()

    def tell_batch(self, requests: Sequence[ChartRequest]) -> list[str]:
        """The table of each request's chart, all in one forward pass."""
        if not requests:
            return []
        with self._lock:
            return self._tell(requests)

    @torch.inference_mode()
    def _tell(self, requests: Sequence[ChartRequest]) -> list[str]:
        pictures = [with_header(request.image, DEPLOT_HEADER, self._font) for request in requests]
        pixels = self._pixels(pictures, return_tensors="pt")
        ids = self._model.generate(
            **on_device(pixels, self._model), max_new_tokens=self._max_tokens, do_sample=False, num_beams=1
        )
        texts: list[str] = self._tokenizer.batch_decode(ids, skip_special_tokens=True)
        return [text.strip() for text in texts]


class UniChart:
    """Writes a chart's table (rows parted by ``&&`` or ``&``, columns by bars), a summary, or an answer."""

    tasks: frozenset[ChartTask] = frozenset(UNICHART_PROMPTS)

    def __init__(self, path: Path, settings: LoadSettings = LoadSettings(), *, max_tokens: int = 512) -> None:
        self._model = load_weights(path, VisionEncoderDecoderModel, settings)
        self._pixels = load_pixels(path, DonutImageProcessorPil)
        self._tokenizer = load_tokenizer(path)
        self._max_tokens = max_tokens
        self._lock = threading.Lock()
        if _ANSWER not in self._tokenizer.get_vocab():
            raise UserError(f"{path}: the tokenizer has no {_ANSWER}, so this is no UniChart; use ahmed-masry/unichart")

    def tell_batch(self, requests: Sequence[ChartRequest]) -> list[str]:
        """The answer to each request; those with the same prompt share a forward pass."""
        told = [""] * len(requests)
        with self._lock:
            for prompt, places in _by_prompt(requests).items():
                texts = self._tell(prompt, [requests[place] for place in places])
                for place, text in zip(places, texts, strict=True):
                    told[place] = text
        return told

    @torch.inference_mode()
    def _tell(self, prompt: str, requests: Sequence[ChartRequest]) -> list[str]:
        pixels = self._pixels([request.image for request in requests], return_tensors="pt")["pixel_values"]
        asked = self._tokenizer(prompt, add_special_tokens=False, return_tensors="pt")["input_ids"]
        room = self._model.config.decoder.max_position_embeddings - asked.shape[1]
        ids = self._model.generate(
            pixels.to(self._model.device, self._model.dtype),
            decoder_input_ids=asked.repeat(len(requests), 1).to(self._model.device),
            max_new_tokens=max(1, min(self._max_tokens, room)),
            do_sample=False,
            num_beams=1,
            eos_token_id=self._tokenizer.eos_token_id,
            pad_token_id=self._tokenizer.pad_token_id,
        )
        answers = ids[:, asked.shape[1] :]
        texts: list[str] = self._tokenizer.batch_decode(answers, skip_special_tokens=True)
        return [text.strip() for text in texts]


def _by_prompt(requests: Sequence[ChartRequest]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, request in enumerate(requests):
        # The question must not write the model's own marks.
        question = request.question.replace("<", " ").replace(">", " ")
        places.setdefault(UNICHART_PROMPTS[request.task].format(question=question), []).append(place)
    return places
