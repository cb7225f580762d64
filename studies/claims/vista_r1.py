"""VISTA-R1 with its real tools, stopped at 30 steps: algorithms, the tail patch and thoughts.

CPU minutes of two cores' recorded runs, a guess for the tail: 12 x 25 + 72 x 6 = 732.
"""

from studies.claims.design import IMITATION, Claim, Comparison
from studies.claims.figures import last_share

NO_THOUGHTS = "imitation without thoughts"

STAGES = Claim(
    name="vista_stages",
    paper="GRPO is more accurate than DAPO and PPO, a tail patch and thoughts add to it (Figures 4a, 4b, 7, Table 2).",
    recipe="vista_r1:tiny",
    end_point=last_share("right", ("after_tail", "after_rl", "after_sft")),
    others=(last_share("with calls", ("after_tail", "after_rl", "after_sft"), "tool_rate"),),
    shared=("evaluation_tasks=1050", "rl_questions=840", "rl.steps=30", "rl.evaluate_every=0"),
    no_rl=("stages=sft",),
    other_imitations={NO_THOUGHTS: ("reasoning=false",)},
    variants={
        "grpo": ("stages=rl",),
        "dapo": ("stages=rl", "rl.algorithm.name=dapo", "rl.algorithm.max_refills=2"),
        "ppo": ("stages=rl", "rl.algorithm.name=ppo", "rl.algorithm.critic.learning_rate=3e-3"),
        "tail patch": ("stages=tail",),
        "as many steps on all": ("stages=tail", "tail.easy_to_hard=false"),
        "without thoughts": ("stages=rl", "reasoning=false"),
    },
    starts={
        "tail patch": ("grpo", "rl"),
        "as many steps on all": ("grpo", "rl"),
        "without thoughts": (NO_THOUGHTS, "sft"),
    },
    comparisons=(
        Comparison(
            variant="grpo",
            base=IMITATION,
            expected=10.2,
            says="reinforcement adds 10.2 points to imitation (Figure 4a).",
        ),
        Comparison(variant="grpo", base="dapo", expected=2.0, says="GRPO is the most robust (Figure 4b, no numbers)."),
        Comparison(variant="grpo", base="ppo", expected=2.0, says="the same of PPO (Figure 4b, no numbers)."),
        Comparison(
            variant="tail patch",
            base="as many steps on all",
            expected=1.7,
            says="69.5 to 71.3 % by going on with hard questions that can be learned (Figure 7).",
        ),
        Comparison(
            variant="grpo",
            base="without thoughts",
            expected=12.5,
            says="71.1 % for 48.4 % (Table 2), less the 10.2 points of the reinforcement, which that row lacks too.",
        ),
    ),
)
