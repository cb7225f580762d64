"""Asks a judge about the wrong trajectories of a run's evaluations: were calls wrong (E4), or conclusions (E6)?"""

import asyncio
from pathlib import Path

from saccade.chat.connect import ChatServerSettings
from saccade.curation.teachers import Teachers
from saccade.errors import UserError
from saccade.evaluation.error_judge import ErrorJudge
from saccade.evaluation.errors import judged
from saccade.media.store import MediaStore
from saccade.rewards.judges.llm_judge import JudgeClient
from saccade.runs.records import read_records
from saccade.runs.runinfo import RunPaths, read_info
from saccade.viewer.verdicts import JudgedEvaluation, write_verdicts


def judge_run(run: Path, judge: str, model: str | None, *, api_key_env: str) -> int:
    """The judge's verdicts, kept in the run; how many trajectories it was asked about.

    UserError where there is no run, or no evaluation in it.
    """
    paths = RunPaths(root=run)
    read_info(paths)
    files = sorted(paths.evaluations.glob("*.jsonl"))
    if not files:
        raise UserError(f"{run} has no evaluation whose trajectories could be judged")
    found = asyncio.run(_judged(paths, files, judge, model, api_key_env))
    write_verdicts(paths, found)
    return sum(len(one.verdicts) for one in found.values())


async def _judged(
    paths: RunPaths, files: list[Path], who: str, model: str | None, api_key_env: str
) -> dict[str, JudgedEvaluation]:
    name = f"{model} at {who}" if model else who
    with Teachers(media=MediaStore(), server=ChatServerSettings(), api_key_env=api_key_env, out=paths.root) as open_:
        asked = ErrorJudge(asking=JudgeClient(model=open_.teacher("judge", who, model)))
        return {
            file.stem: JudgedEvaluation(judge=name, verdicts=await judged(read_records(file), asked)) for file in files
        }
