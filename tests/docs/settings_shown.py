"""Settings beside the papers' values on a page; ``python tests/docs/settings_shown.py`` writes it anew."""

import json

from places import ROOT
from saccade.config.context import RecipeContext
from saccade.recipes.paper_values import PAPER_VALUES
from saccade.train.recipe_loading import load_recipe, setting_docs, settings_of

PAGE = ROOT / "docs" / "reference" / "paper_settings.md"
PAPERS = {
    "argos": ("Multimodal Reinforcement Learning with Agentic Verifier for AI Agents", "2512.03438"),
    "codedance": ("CodeDance: A Dynamic Tool-integrated MLLM for Executable Visual Reasoning", "2512.17312"),
    "ivgr": ("Internalizing Visually Grounded Reasoning for MLLMs with Reinforcement Learning", "2605.31096"),
    "lang2act": ("Lang2Act: Fine-Grained Visual Reasoning through Self-Emergent Linguistic Toolchains", "2602.13235"),
    "vista_r1": ("Scaling Agentic Reinforcement Learning for Tool-Integrated Reasoning in VLMs", "2511.19773"),
}
"""Title and arXiv number of each recipe's paper."""

HEAD = """# Settings beside the papers' values

What `saccade settings RECIPE` says where the paper, or its public code, gives a value. A test makes this page from
the recipes, so a default that changes changes here. Why a default differs from its paper stands on the paper's page.
"""


def shown() -> str:
    """The page as it should be."""
    parts = [HEAD]
    for name, (title, number) in PAPERS.items():
        found = {one.key: one for one in setting_docs(settings_of(load_recipe(name), RecipeContext()))}
        rows = [f"| `{key}` | {_plain(found[key].default)} | {value} |" for key, value in PAPER_VALUES[name].items()]
        parts.append(
            f"## {name}\n\n[{title}](https://arxiv.org/abs/{number}); [its page](../{name}.md).\n\n"
            "| setting | default here | the paper |\n|---|---|---|\n" + "\n".join(rows) + "\n"
        )
    return "\n".join(parts)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


if __name__ == "__main__":
    PAGE.write_text(shown(), encoding="utf-8")
