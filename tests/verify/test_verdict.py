"""What is said of recordings that are alike, and of such that are not."""

from dataclasses import replace

import pytest
from recordings import INF, NAN, experiment, outcome, recording

from npu_migrate.verify.judgement import judge
from npu_migrate.verify.outcome import FailureKind, Outcome, RunFailure
from npu_migrate.verify.overflows import joined, parse_overflows
from npu_migrate.verify.quantities import (
    APPLIED,
    GLOBAL_STEP,
    GRADIENT_NORM,
    LEARNING_RATE,
    LOSS,
    LOSS_SCALE,
    STATE,
    WEIGHT_CHANGE,
    WEIGHTS,
)
from npu_migrate.verify.verdict import Answer


def verdict(migrated, original=None, repeated=None, rtol=None):
    original = original or recording()
    return judge(
        experiment(outcome(original), outcome(migrated), outcome(repeated or original)), rtol=rtol
    )


def first(found):
    return found.comparison.first


# The same


def test_same_to_the_last_bit():
    found = verdict(recording())
    assert found.answer is Answer.SAME and found.answer.exit_code == 0
    assert "10 steps on one process" in found.paragraph
    assert "to the last bit" in found.paragraph and not found.cautions


def test_same_within_the_tolerance():
    found = verdict(recording(at4={"loss": 1.5 * (1 + 5e-6)}))
    assert found.answer is Answer.SAME
    assert "5.0e-06 apart, in the loss" in found.paragraph


def test_steps_that_both_skip():
    skipped = {"applied": False, "gradient_norm": INF, "learning_rate": 0.7}
    both = [recording(at3=skipped, at4=skipped), recording(at3={**skipped, "gradient_norm": 3e38})]
    found = verdict(recording(at3=skipped, at4=skipped), both[0])
    assert "Steps 3-4 were skipped in both" in found.paragraph
    assert verdict(both[1], recording(at3=skipped)).answer is Answer.SAME


def test_loss_that_saturates_in_a_skipped_step():
    original = recording(at3={"applied": False, "loss": INF})
    migrated = recording(at3={"applied": False, "loss": 3.4e38})
    assert verdict(migrated, original).answer is Answer.SAME


def test_nan_is_as_nan():
    broken = recording(at5={"loss": NAN})
    assert verdict(broken, broken).answer is Answer.SAME


def test_nothing_is_compared_once_the_weights_of_both_are_lost():
    lost = {f"at{number}": {"weights_norm": NAN, "applied": False} for number in range(5, 11)}
    both = recording(at4={"weights_norm": INF}, **lost)
    found = judge(experiment(outcome(both), outcome(both)), overflows=parse_overflows("4"))
    assert found.answer is Answer.UNKNOWN and found.answer.exit_code == 2
    assert "After step 4 the weights of both trainings are Inf or NaN" in found.paragraph
    assert "4 steps to there are the same" in found.paragraph and "skip" not in found.paragraph
    assert any("compare it without --inject-overflow" in caution for caution in found.cautions)
    other = recording(at2={"loss_scale": 7.0}, at4={"weights_norm": INF}, **lost)
    assert verdict(other, both).answer is Answer.DIFFERENT


def test_weights_that_only_the_migrated_training_loses_differ():
    found = verdict(recording(at5={"weights_norm": NAN}))
    assert (first(found).step, first(found).quantity) == (5, WEIGHTS)


def test_rounding_of_a_loss_that_is_learned():
    original = recording(at9={"loss": 1e-9}, at10={"loss": 2e-9})
    assert (
        verdict(recording(at9={"loss": 2e-9}, at10={"loss": 0.0}), original).answer is Answer.SAME
    )


# Different


@pytest.mark.parametrize(
    "values, quantity",
    [
        ({"loss": 2.1, "gradient_norm": 9.0, "weights_norm": 1.0}, LOSS),
        ({"gradient_norm": 9.0, "weights_norm": 1.0}, GRADIENT_NORM),
        ({"applied": False, "global_step": 2, "weights_norm": 1.0, "loss_scale": 1.0}, APPLIED),
        ({"global_step": 4, "learning_rate": 0.7}, GLOBAL_STEP),
        ({"learning_rate": 0.7, "weights_norm": 1.0}, LEARNING_RATE),
        ({"loss_scale": 819.2}, LOSS_SCALE),
        ({"weights_norm": 1.0}, WEIGHTS),
        ({"loss": NAN}, LOSS),
    ],
)
def test_cause_of_what_differs_in_a_step(values, quantity):
    found = verdict(recording(at3=values))
    assert found.answer is Answer.DIFFERENT and found.answer.exit_code == 1
    assert (first(found).step, first(found).quantity) == (3, quantity)
    assert "at step 3 in" in found.paragraph and "2 steps before it are the same" in found.paragraph


def test_earliest_difference_is_named_whatever_it_is():
    found = verdict(recording(at2={"loss_scale": 512.0}, at3={"loss": 7.0}))
    assert (first(found).step, first(found).quantity) == (2, LOSS_SCALE)
    assert "1024 in the original, 512 in the migrated training (50 % apart)" in found.paragraph


def test_values_are_told_apart():
    found = verdict(recording(at3={"loss": 2.0000004}), rtol=1e-9)
    assert "2.0000004" in found.paragraph


def test_rank_is_named():
    ranks = [recording(0, 2), recording(1, 2)]
    drifted = [ranks[0], recording(1, 2, at4={"applied": False})]
    found = judge(experiment(outcome(*ranks), outcome(*drifted)))
    assert (first(found).rank, first(found).step) == (1, 4)
    assert "at step 4 on rank 1 in whether the update was applied" in found.paragraph
    assert "applied in the original, not applied in the migrated training" in found.paragraph


@pytest.mark.parametrize("rtol, answer", [(None, Answer.DIFFERENT), (1e-2, Answer.SAME)])
def test_tolerance_is_chosen(rtol, answer):
    assert verdict(recording(at3={"loss": 2.001}), rtol=rtol).answer is answer


def test_tolerance_is_not_for_the_loss_scale():
    assert verdict(recording(at3={"loss_scale": 1025.0}), rtol=1e-2).answer is Answer.DIFFERENT


def test_one_goes_on_when_the_other_has_ended():
    found = verdict(recording(steps=8))
    assert found.answer is Answer.DIFFERENT
    assert "the original has 10 steps, the migrated training 8" in found.paragraph


def test_what_only_one_of_them_has_is_not_compared_and_told():
    none = {f"at{n}": {"loss_scale": None} for n in range(1, 11)}
    found = verdict(recording(), recording(**none))
    assert found.answer is Answer.SAME
    assert found.cautions == ("The loss scale is not compared: the original training has none.",)


@pytest.mark.parametrize("quantity", [LOSS_SCALE, GLOBAL_STEP])
def test_what_the_migrated_training_has_lost_differs(quantity):
    found = verdict(recording(**{f"at{n}": {quantity.field: None} for n in range(1, 11)}))
    assert found.answer is Answer.DIFFERENT
    assert (first(found).step, first(found).quantity) == (1, quantity)
    assert "none in the migrated training" in found.paragraph


def test_statistics_that_differ():
    kept = {f"at{n}": {"state_norm": 1.0} for n in range(1, 11)}
    other = {**kept, "at3": {"state_norm": 2.0}}
    found = verdict(recording(**other), recording(**kept))
    assert (first(found).step, first(found).quantity) == (3, STATE)


def test_each_variable_of_the_state_counts():
    kept = {f"at{n}": {"state_norm": 447.0, "state_parts": (447.0, 0.1)} for n in range(1, 11)}
    other = {**kept, "at3": {"state_norm": 447.0, "state_parts": (447.0, 0.2)}}
    found = verdict(recording(**other), recording(**kept))
    assert (first(found).step, first(found).quantity) == (3, STATE)


def test_statistics_of_other_variables_are_not_compared():
    kept = {f"at{n}": {"state_norm": float(n)} for n in range(1, 11)}
    one, other = recording(**kept), recording(**{**kept, "at3": {"state_norm": 2.0}})
    found = verdict(replace(other, state=frozenset(["mean:0"])), one)
    assert found.answer is Answer.SAME
    assert any("only one training has mean:0" in caution for caution in found.cautions)


def test_learning_rate_that_is_not_found_is_told():
    none = {f"at{n}": {"learning_rate": None} for n in range(1, 11)}
    found = verdict(recording(**none), recording(**none))
    (caution,) = found.cautions
    assert found.answer is Answer.SAME and "under a usual name" in caution


def near(change_parts=(6e-4, 8e-4), shaken_parts=None, rtol=None, gradient_norm=0.50000001):
    """A migrated training whose weights come close, and an original that was shaken."""
    other = {"weights_checksum": "another", "change_parts": change_parts}
    other["gradient_norm"] = gradient_norm
    changed = {"weights_checksum": "shaken", "change_parts": shaken_parts}
    shaken = outcome(recording(at4=changed)) if shaken_parts else outcome()
    return judge(experiment(migrated=outcome(recording(at4=other)), shaken=shaken), rtol=rtol)


def test_weights_that_change_otherwise_than_rounding_explains():
    found = near((6.1e-4, 8e-4), shaken_parts=(6.02e-4, 8e-4))
    assert found.answer is Answer.DIFFERENT
    assert (first(found).step, first(found).quantity) == (4, WEIGHT_CHANGE)
    assert "at step 4 in how the weights change" in found.paragraph
    assert "rounding does not explain it" in found.paragraph


def test_weights_that_change_as_rounding_makes_them():
    found = near((6.1e-4, 8e-4), shaken_parts=(6.1e-4, 8.1e-4))
    assert found.answer is Answer.SAME
    assert any("from step 4 on, as rounding makes them" in each for each in found.cautions)


def test_rounding_is_no_excuse_where_it_makes_nothing():
    found = near((6.05e-4, 8e-4), shaken_parts=(6e-4, 8e-4), rtol=0.01)
    assert found.answer is Answer.SAME
    assert not any("as rounding makes them" in caution for caution in found.cautions)
    assert any("smaller --rtol" in caution for caution in found.cautions)


def test_what_rounding_carries_is_no_reason_where_nothing_was_rounded_yet():
    found = near((6.1e-4, 8e-4), shaken_parts=(6.1e-4, 8.1e-4), gradient_norm=0.5)
    assert found.answer is Answer.DIFFERENT and first(found).quantity == WEIGHT_CHANGE


def test_direction_of_a_change_counts():
    assert near((8e-4, 6e-4), shaken_parts=(6.02e-4, 8e-4)).answer is Answer.DIFFERENT


def test_one_goes_on_for_ever_when_the_original_has_ended():
    found = verdict(recording(steps=57, end="stopped", at3={"applied": False}))
    assert found.answer is Answer.DIFFERENT and first(found).quantity == APPLIED
    assert "ends after 10 steps, the migrated training goes on and was ended" in found.paragraph
    found = verdict(recording(steps=57, end="stopped"))
    assert found.answer is Answer.DIFFERENT
    assert "In the steps that both have they are the same" in found.paragraph


def test_loss_scale_that_never_moved_is_told():
    fixed = recording(**{f"at{n}": {"loss_scale": 8.0} for n in range(1, 11)})
    assert any(
        "the loss scale never moved" in caution for caution in verdict(fixed, fixed).cautions
    )


def test_gradients_that_could_not_be_read_are_told():
    none = recording(**{f"at{n}": {"gradient_norm": None} for n in range(1, 11)})
    assert any("could not be read" in caution for caution in verdict(none, none).cautions)


def test_steps_at_a_rate_of_zero_are_not_skipped():
    warming = recording(at1={"learning_rate": 0.0, "applied": False})
    assert "skipped" not in verdict(warming, warming).paragraph


# Steps that gather gradients


def test_steps_that_gather_gradients_are_not_skipped():
    gathers = {"applied": False, "is_due": False}
    steps = {f"at{number}": gathers for number in (1, 2, 4, 5, 7, 8, 10)}
    made = recording(**steps, at6={"applied": False})
    found = verdict(made, made)
    assert "Step 6 was skipped in both" in found.paragraph
    assert "3 of the steps were to update the weights, the other 7 gather" in found.paragraph


# An original that does not agree with itself


def test_no_more_is_demanded_than_the_original_keeps():
    again, migrated = recording(at4={"loss": 1.5003}), recording(at5={"loss": 1.2006})
    assert verdict(migrated).answer is Answer.DIFFERENT
    found = verdict(migrated, repeated=again)
    assert found.answer is Answer.SAME
    assert "2.0e-04 apart in the loss" in found.cautions[0]


def test_before_it_drifts_the_original_is_taken_at_its_word():
    again, migrated = recording(at4={"loss": 1.5003}), recording(at3={"loss": 2.0004})
    assert first(verdict(migrated, repeated=again)).step == 3


def test_no_weights_are_compared_where_the_loss_is_not_repeatable():
    again = recording(at5={"loss": 7.0})
    assert verdict(recording(at6={"weights_norm": 1.0}), repeated=again).answer is Answer.SAME
    assert verdict(recording(at4={"weights_norm": 1.0}), repeated=again).answer is Answer.DIFFERENT


def test_nothing_is_compared_where_the_original_is_not_repeatable():
    again = recording(at5={"global_step": 7}, at6={"loss": NAN})
    found = verdict(recording(at6={"loss": 0.7, "global_step": 9}), repeated=again)
    assert found.answer is Answer.SAME
    assert "in the global step from step 5 on" in found.cautions[1]
    assert "in the loss from step 6 on" in found.cautions[0]
    assert found.comparison.repeatable_until == 4


def test_no_answer_where_the_original_is_not_repeatable_at_all():
    found = verdict(recording(), repeated=recording(at1={"loss": 77.0}))
    assert found.answer is Answer.UNKNOWN and found.answer.exit_code == 2


# No answer


def test_failed_run():
    failure = RunFailure(
        FailureKind.CRASHED, "migrated: it failed after 4 steps, with exit code 1: ValueError: x", 0
    )
    failed = outcome(recording(steps=4, end=None), tails=(("ValueError: x",),), failure=failure)
    found = judge(experiment(migrated=failed))
    assert found.answer is Answer.UNKNOWN and found.answer.exit_code == 2
    assert (
        "The run of the migrated script: it failed after 4 steps, with exit code 1: ValueError: x."
        in found.paragraph
    )
    assert found.paragraph.count("ValueError") == 1
    assert "4 steps before that are the same" in found.paragraph
    assert found.failures[0].tail == ("ValueError: x",)


def crashed(*, steps=4, message="it failed after 4 steps: NaN", **changed):
    """A run that ended itself."""
    failure = RunFailure(FailureKind.CRASHED, f"migrated: {message}", 0)
    return outcome(recording(steps=steps, end=None, **changed), failure=failure)


def test_difference_before_a_failure_is_a_difference():
    found = judge(experiment(migrated=crashed(at3={"loss_scale": 819.2})))
    assert found.answer is Answer.DIFFERENT and found.answer.exit_code == 1
    assert "first at step 3 in the loss scale" in found.paragraph
    assert "The run of the migrated script: it failed after 4 steps: NaN." in found.paragraph


def test_runs_that_fail_alike_are_told_once():
    runs = experiment(crashed(), crashed(), crashed())
    found = judge(runs, overflows=parse_overflows("4"))
    assert found.answer is Answer.UNKNOWN and found.paragraph.count("NaN") == 1
    assert "All runs failed alike" in found.paragraph
    assert "4 steps before that are the same" in found.paragraph
    assert len(found.last_words) == 1
    assert any("without --inject-overflow" in caution for caution in found.cautions)


def test_second_run_is_the_only_one_where_the_first_was_not_to_an_end():
    found = judge(experiment(Outcome(()), Outcome(()), crashed()))
    assert "second" not in found.paragraph
    found = judge(experiment(repeated=crashed(), original=outcome(recording())))
    assert "The second run of the original: it failed" in found.paragraph


def test_no_steps():
    assert judge(experiment(outcome(recording(steps=0)))).answer is Answer.UNKNOWN


@pytest.mark.parametrize("kind", [FailureKind.HUNG, FailureKind.CRASHED])
def test_failure_hides_no_difference_before_it(kind):
    failure = RunFailure(kind, "migrated: no step for 60 seconds; it was ended", 0)
    hung = outcome(recording(steps=4, end=None, at2={"loss_scale": 512.0}), failure=failure)
    found = judge(experiment(migrated=hung))
    assert found.answer is Answer.DIFFERENT and found.answer.exit_code == 1
    assert first(found).quantity == LOSS_SCALE
    assert "no step for 60 seconds; it was ended." in found.paragraph


# Known differences


def apart(**changed):
    """A verdict on processes that trained apart, and now average their gradients."""
    ranks = [recording(rank, 2, facts=("ranks_apart",)) for rank in (0, 1)]
    averaged = {"gradient_norm": 1.5, "weights_norm": 35.5}
    together = [recording(rank, 2, at1={**averaged, **changed}) for rank in (0, 1)]
    return judge(experiment(outcome(*ranks), outcome(*together)))


def test_processes_that_now_train_together():
    found = apart()
    assert found.answer is Answer.KNOWN
    assert "processes that trained apart now train together" in found.paragraph
    assert "leave out -np" in found.paragraph


def test_ranks_that_train_different_weights():
    found = judge(experiment(outcome(*_ranks()), outcome(*_ranks(at4={"weights_norm": 3.0}))))
    assert found.answer is Answer.DIFFERENT
    assert "The ranks train different weights: from step 4 on" in found.paragraph
    drifting = outcome(*_ranks(at4={"weights_norm": 3.0}))
    assert judge(experiment(drifting, drifting)).answer is Answer.SAME


def _ranks(**changed):
    """Two ranks, of which the second changes."""
    return [recording(0, 2), recording(1, 2, **changed)]


def test_training_together_explains_no_other_loss_scale():
    assert apart(loss_scale=2048.0).answer is Answer.DIFFERENT


def test_training_together_explains_no_other_first_loss():
    assert apart(loss=7.0).answer is Answer.DIFFERENT


def known(fact, original, migrated, adjusted):
    """A verdict where the original was trained once more, with a known difference in it."""
    found = replace(experiment(original, migrated), adjusted=adjusted)
    facts = [replace(one, facts=recording(facts=(fact,)).facts) for one in original.recordings]
    return judge(replace(found, original=outcome(*facts)))


OVERFLOWED = outcome(recording(at3={"gradient_norm": INF, "weights_norm": NAN}))
SKIPPED = outcome(recording(at3={"applied": False, "global_step": 2}))


def test_difference_is_known_where_the_original_with_it_is_the_same():
    found = known("fixed_loss_scale", OVERFLOWED, SKIPPED, SKIPPED)
    assert found.answer is Answer.KNOWN and found.answer.exit_code == 1
    assert "known difference: a fixed loss scale became stricter" in found.paragraph
    assert "it trains as the migrated script: 10 steps on one process" in found.paragraph
    assert "Step 3 was skipped in both" in found.paragraph


def test_known_difference_hides_no_other():
    migrated = outcome(recording(at3={"applied": False, "global_step": 3}))
    found = known("fixed_loss_scale", OVERFLOWED, migrated, SKIPPED)
    assert found.answer is Answer.DIFFERENT
    assert [each.explains for each in found.known] == [False]
    assert "Known differences do not explain it" in found.paragraph
    assert "differ first at step 3 in the global step: 2 in the original, 3" in found.paragraph


def test_known_difference_that_could_not_be_made_explains_nothing():
    failure = RunFailure(FailureKind.CRASHED, "adjusted: it failed before its first step")
    broken = outcome(failure=failure)
    found = known("sparse_gradients", outcome(recording()), OVERFLOWED, broken)
    assert found.answer is Answer.DIFFERENT
    assert any("it failed before its first step" in caution for caution in found.cautions)


def test_rest_of_a_known_difference_may_be_rounding():
    original = outcome(recording(at3={"gradient_norm": 9.0}))
    near = outcome(recording(at3={"loss": 2.0 * (1 + 5e-6)}))
    found = known("hvd_compression", original, outcome(recording()), near)
    assert found.answer is Answer.KNOWN and "5.0e-06 apart, in the loss" in found.paragraph


def test_sparse_gradients_that_stay_sparse_are_nothing_to_tell():
    sparse = recording(facts=("sparse_gradients",))
    assert verdict(sparse, sparse).known == ()


# Wrong graphs


def test_wrong_graph_with_the_same_numbers():
    found = verdict(recording(facts=("scaler_not_above_gradients",)))
    assert found.answer is Answer.WRONG and found.answer.exit_code == 1
    assert "never scaled (seen here)" in found.paragraph


def test_fault_of_the_original_is_its_own():
    faulty = recording(facts=("scaler_not_above_gradients",))
    found = verdict(faulty, faulty)
    assert found.answer is Answer.SAME and found.faults[0].is_original


def test_what_is_wrong_on_npus_only_is_no_matter_of_the_original():
    faulty = recording(facts=("finite_check_decides",))
    assert verdict(faulty, faulty).answer is Answer.WRONG


def test_known_difference_excuses_no_fault():
    faulty = outcome(recording(facts=("scaler_stacked",), at3={"applied": False, "global_step": 2}))
    assert known("fixed_loss_scale", OVERFLOWED, faulty, SKIPPED).answer is Answer.DIFFERENT


def test_weights_that_only_come_close_are_told_where_the_original_repeats_exactly():
    near = recording(at4={"weights_checksum": "another"})
    found = judge(experiment(migrated=outcome(near)))
    assert found.answer is Answer.SAME
    assert any("other ones from step 4 on" in caution for caution in found.cautions)
    assert judge(experiment()).cautions == ()


def test_an_overflow_that_reached_no_update_is_told():
    overflowed = outcome(recording(at3={"gradient_norm": INF}))
    found = judge(experiment(overflowed, overflowed), overflows=parse_overflows("3,6"))
    assert any("asked for in step 6 reached no" in caution for caution in found.cautions)


def test_overflows_after_the_end_are_told():
    overflowed = outcome(recording(at3={"gradient_norm": INF}))
    found = judge(experiment(overflowed, overflowed), overflows=parse_overflows("3,50"))
    assert any("up to 50, but there are only 10" in caution for caution in found.cautions)


def test_overflows_of_several_options():
    overflows = joined([parse_overflows("3,7-9@1"), parse_overflows("5-999999999")])
    assert [step for step in range(1, 10) if overflows.here(step, 1)] == [3, 5, 6, 7, 8, 9]
    assert [step for step in range(1, 10) if overflows.here(step, 0)] == [5, 6, 7, 8, 9]
    assert str(overflows) == "3@1 7-9@1 5-999999999"


@pytest.mark.parametrize("text", ["", "0", "3-", "9-7", "1-9999999999", "3@", "3@x", "3;4"])
def test_overflows_that_are_none(text):
    with pytest.raises(ValueError):
        parse_overflows(text)
