"""Measures of rankings, on numbers worked out by hand and against trec_eval."""

import math
import random

import pytest
import pytrec_eval

from saccade.retrieval import hit_at, mrr_at, ndcg_at, recall_at


def test_measures_of_a_ranking_worked_out_by_hand() -> None:
    ranked, gold = ["a", "b", "c", "d"], {"b", "d", "z"}
    assert [recall_at(ranked, gold, k) for k in (1, 2, 4, 9)] == [0.0, 1 / 3, 2 / 3, 2 / 3]
    assert [hit_at(ranked, gold, k) for k in (1, 2)] == [0.0, 1.0]
    assert [mrr_at(ranked, gold, k) for k in (1, 2, 4)] == [0.0, 0.5, 0.5]
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert ndcg_at(ranked, gold, 4) == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)


def test_gains_are_linear() -> None:
    expected = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert ndcg_at(["a", "b"], {"a": 1.0, "b": 3.0}, 2) == pytest.approx(expected)


def test_without_gold_there_is_no_measure() -> None:
    assert [measure(["a"], [], 1) for measure in (recall_at, hit_at, mrr_at, ndcg_at)] == [None] * 4


def test_a_page_counts_where_it_stands_first() -> None:
    ranked, gold = ["a", "a", "a", "b"], ["b", "b"]
    assert recall_at(ranked, gold, 2) == 1.0
    assert mrr_at(ranked, gold, 3) == 0.5
    assert ndcg_at(ranked, gold, 2) == pytest.approx(1 / math.log2(3))


@pytest.mark.parametrize("measure", [recall_at, hit_at, mrr_at, ndcg_at])
def test_at_less_than_one_is_refused(measure: object) -> None:
    with pytest.raises(ValueError, match="1 or more"):
        measure(["a"], ["a"], 0)  # type: ignore[operator]


def test_trec_eval_says_the_same() -> None:
    rng = random.Random(0)
    judged, run = {}, {}
    for query in range(200):
        pages = [f"p{page}" for page in range(rng.randint(1, 30))]
        gains = {page: rng.randint(1, 3) for page in pages if rng.random() < 0.2} or {"elsewhere": 2}
        ranked = rng.sample(pages, rng.randint(1, len(pages)))
        judged[str(query)] = gains
        run[str(query)] = {page: float(-rank) for rank, page in enumerate(ranked)}
    theirs = pytrec_eval.RelevanceEvaluator(judged, {"recall.1,3,5", "success.1,5", "recip_rank", "ndcg_cut.1,3,10"})
    for query, said in theirs.evaluate(run).items():
        ranked, gains = list(run[query]), judged[query]
        ours = {f"recall_{k}": recall_at(ranked, gains, k) for k in (1, 3, 5)}
        ours |= {f"success_{k}": hit_at(ranked, gains, k) for k in (1, 5)}
        ours |= {"recip_rank": mrr_at(ranked, gains, len(ranked))}
        ours |= {f"ndcg_cut_{k}": ndcg_at(ranked, gains, k) for k in (1, 3, 10)}
        assert ours == pytest.approx(said)
