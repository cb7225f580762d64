"""Lang2Act: do two stages beat plain DAPO where the page is there and guesses are right half of the time.

CPU minutes of two cores' recorded runs: stages 6 x 9 + 36 x 5 = 234, gold pages 6 x 14 + 12 x 10 + 12 x 4 = 252.
"""

from studies.claims.design import Claim, Comparison
from studies.claims.figures import difference_of, last_share

NO_RL = ("action_rl.steps=0", "curates=false")
PLAIN = ("curates=false", "action_rl.steps=60")
"""As many steps as both stages."""
END = ("after_tools", "after_action")
GOLD = tuple(f"{name}_oracle" for name in END)

STAGES = Claim(
    name="lang2act_stages",
    paper="Both stages are more accurate than plain DAPO, and than either stage alone (Table 2).",
    recipe="lang2act:tiny",
    end_point=last_share("right", END),
    others=(last_share("valid chains", ("after_tools",), "chains.valid"), last_share("imitation", ("after_sft",))),
    shared=("evaluation_tasks=1000", "kinds=same", "gold_pages=true", "rollout.max_turn_tokens=140"),
    imitation=("sft.steps=1200",),
    no_rl=NO_RL,
    variants={"both stages": (), "plain DAPO": PLAIN, "without the first": ("action_rl.steps=0",)},
    comparisons=(
        Comparison(
            variant="both stages",
            base="plain DAPO",
            expected=2.4,
            says="63.4 % for 61.0 % (7 B; 58.1 for 54.7 with 3 B).",
        ),
        Comparison(
            variant="both stages", base="without the first", expected=1.4, says="63.4 % for 62.0 % without action RL."
        ),
        Comparison(
            variant="both stages",
            base="",
            expected=1.9,
            says="63.4 % for 61.5 % without tool RL; here the end less the first stage's end, in words.",
            end_point=difference_of("second stage", last_share("", END[:1]), last_share("", END[1:])),
        ),
    ),
)

GOLD_PAGES = Claim(
    name="lang2act_gold",
    paper="On gold pages both stages are more accurate than other ways to reinforce (Table 13).",
    recipe="lang2act:tiny",
    end_point=last_share("gold pages", GOLD),
    others=(last_share("three pages", END), last_share("valid chains", GOLD[:1], "chains.valid")),
    shared=("evaluation_tasks=1000",),
    no_rl=NO_RL,
    variants={"both stages": (), "plain DAPO": PLAIN},
    comparisons=(
        Comparison(variant="both stages", base="plain DAPO", expected=2.4),
        Comparison(
            variant="both stages",
            base="",
            expected=-2.0,
            says="ours, not the paper's: on gold pages the same weights are less accurate in chains than in words.",
            end_point=difference_of(
                "chains less words", last_share("", ("before_tools_oracle",)), last_share("", GOLD[1:])
            ),
        ),
    ),
)
