"""Argos: does the verifier raise accuracy and keep pointing that costs, and does it mend thoughts beside the answer.

CPU minutes of two cores' recorded runs: accuracy 6 x 4 + 36 x 2 = 96, collapse 6 x 5 + 24 x 2 = 78, reasoning
6 x 6 + 24 x 2 = 84.
"""

from pathlib import Path

from studies.claims.design import IMITATION, Claim, Comparison, Figure, share_of
from studies.seed_runs import Row

MEASURED = f"{Path(__file__).with_name('measured.py')}:argos"
OUTCOME = ("reward.grounding_weight=0", "reward.reasoning_weight=0")
MORE = share_of("more plates", "after_rl_more")

ACCURACY = Claim(
    name="argos_accuracy",
    paper="With the verifier a policy gets more answers right than by the outcome alone (Figure 4, Tables 6 to 8).",
    recipe="argos:tiny",
    run_as=MEASURED,
    end_point=MORE,
    others=(
        share_of("trained on", "after_rl"),
        share_of("grounded, more plates", "after_rl_more", "pointing.accuracy"),
        share_of("more plates, imitation", "after_sft_more"),
    ),
    shared=("evaluation_tasks=1000",),
    imitation=("sft.steps=800",),
    variants={"outcome": OUTCOME, "grounding": ("reward.reasoning_weight=0",), "whole": ()},
    comparisons=(
        Comparison(
            variant="whole",
            base="outcome",
            expected=1.1,
            says="1.1 points, the mean of the eight columns of Tables 6 to 8.",
        ),
        Comparison(
            variant="grounding",
            base="outcome",
            expected=1.1,
            says="ours: as much by grounding alone, which adds nothing there (-0.15).",
        ),
        Comparison(variant="whole", base="grounding", expected=1.2, says='1.2 points without "- RQ", the same mean.'),
    ),
)

CAREFUL = ("lessons.bare_share=0", "lessons.elsewhere_share=0", "lessons.contradiction_share=0")
"""Experts without habits."""
GROUNDED = share_of("grounded", "after_rl", "pointing.accuracy")

COLLAPSE = Claim(
    name="argos_collapse",
    paper="Rewarded by the outcome alone a policy gives up its grounding, with the verifier it does not (Figure 4a).",
    recipe="argos:tiny",
    run_as=MEASURED,
    end_point=GROUNDED,
    others=(
        share_of("without points", "after_rl", "pointing.without_points"),
        share_of("trained on", "after_rl"),
        MORE,
    ),
    # The penalty grows from the first token on. Replies of 24 tokens (one point) and 46 (two) would have 9 and 15
    # without: points cost 0.12 and 0.24, and the verifier pays a third of the reward for them.
    shared=(
        "evaluation_tasks=1000",
        "rollout.max_turn_tokens=128",
        "rl.algorithm.name=dapo",
        "rl.algorithm.overlong_tokens=128",
        "rl.algorithm.max_refills=2",
    ),
    imitation=("sft.steps=600", *CAREFUL),
    variants={"outcome": OUTCOME, "whole": ()},
    comparisons=(
        Comparison(variant="whole", base="outcome", expected=10.0),
        Comparison(
            variant="outcome",
            base=IMITATION,
            expected=-10.0,
            says="without the verifier grounding falls rapidly (Figure 4a, which has no numbers).",
        ),
        Comparison(
            variant="whole",
            base="outcome",
            expected=2.0,
            says="the outcome alone ends with less accuracy on held-out questions too (Figure 4b).",
            end_point=MORE,
        ),
    ),
)


def thought_as_answered(evaluation: str) -> Figure:
    """The share of an evaluation's answers that are the marks which their thought says last, by the teacher's rules."""

    def value(directory: Path, _: Row) -> float | None:
        from saccade.miniature.argos import thinks_so
        from saccade.runs.records import read_records
        from saccade.runs.runinfo import RunPaths

        path = RunPaths(root=directory).evaluation(evaluation)
        agreed = [thinks_so(one.trajectory) for one in read_records(path)] if path.exists() else []
        return 100 * sum(agreed) / len(agreed) if agreed else None

    return Figure(label="thought as answered", read=value)


REASONING = Claim(
    name="argos_reasoning",
    paper="Reasoning that is paid for leads to its answer, and the answers become better (Tables 6 to 8).",
    recipe="argos:tiny",
    run_as=MEASURED,
    end_point=thought_as_answered("after_rl"),
    others=(share_of("trained on", "after_rl"), GROUNDED),
    shared=("evaluation_tasks=1000",),
    imitation=("sft.steps=800", *CAREFUL, "lessons.misstatement_share=0.2"),
    variants={"grounding": ("reward.reasoning_weight=0",), "whole": ()},
    comparisons=(
        Comparison(variant="whole", base="grounding", expected=5.0),
        Comparison(
            variant="whole",
            base="grounding",
            expected=1.2,
            says="the reward for reasoning adds 1.2 points, mean of eight benchmarks (Tables 6 to 8).",
            end_point=MORE,
        ),
    ),
)
