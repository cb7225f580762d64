"""Argos: does the verifier raise accuracy, and is reasoning quality worth paying, where accuracy is not whole yet."""

from studies.claims.design import Claim, Comparison, share_of

OUTCOME = ("reward.grounding_weight=0", "reward.reasoning_weight=0")
MORE = share_of("more plates", "after_rl_more")

ACCURACY = Claim(
    name="argos_accuracy",
    paper="With the verifier a policy gets more answers right than by the outcome alone (Figure 4, Tables 6 to 8).",
    recipe="argos:tiny",
    end_point=MORE,
    others=(
        share_of("trained on", "after_rl"),
        share_of("grounded, more plates", "after_rl_more", "pointing.accuracy"),
        share_of("more plates, imitation", "after_sft_more"),
    ),
    shared=("evaluation_tasks=1000",),
    imitation=("sft.steps=400",),
    variants={"outcome": OUTCOME, "grounding": ("reward.reasoning_weight=0",), "whole": ()},
    comparisons=(
        Comparison(variant="grounding", base="outcome", expected=2.0),
        Comparison(variant="whole", base="outcome", expected=2.0),
        Comparison(variant="whole", base="grounding", expected=1.0),
    ),
)
