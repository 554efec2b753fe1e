"""The jobs of a head on its card: which is chosen by a click or a key, and what is told of it."""

import pytest

pytestmark = pytest.mark.browser


def jobs_of(page, anchor):
    page.evaluate("anchor => { location.hash = anchor; }", anchor)
    page.reload()
    return page.locator(".at-card").last.locator(".at-jobs")


def told(study, layer, head, job):
    """The rows of the study's tables of a job: itself, its tokens, its examples."""
    named = f"corpus == 'text' and layer == {layer} and head == {head} and job == {job}"
    return (study.table(name).query(named) for name in ("jobs", "job_tokens", "job_examples"))


def test_a_click_on_a_job_shows_its_tokens_and_rows(visit, studies):
    own = jobs_of(visit("whole"), "encoder-3-5")
    buttons = own.locator(".at-job")
    assert buttons.count() == 3
    for place in (1, 2, 0):
        buttons.nth(place).click()
        pressed = [buttons.nth(at).get_attribute("aria-pressed") == "true" for at in range(3)]
        assert [at for at in range(3) if pressed[at]] == [place]
        jobs, tokens, examples = told(studies["whole"], 3, 5, place + 1)
        (job,) = jobs.to_dict("records")
        share, low, high = (f"{100 * job[name]:.0f}%" for name in ("share", "ci_low", "ci_high"))
        says = f"Job {place + 1} of 3: {share} of its active rows, 95% interval {low} to {high}"
        assert own.locator(".at-told").inner_text() == says
        assert buttons.nth(place).inner_text().split("\n")[-1].lower() == job["description"]
        named = dict(zip(tokens["side"], tokens["token"]))
        assert own.locator(".at-job-tokens").inner_text() == (f"Told by tokens from {named['row']}, at {named['key']}")
        shown = own.locator(".at-rows li")
        assert shown.count() == len(examples) == 2
        for at, row in enumerate(examples.to_dict("records")):
            assert shown.nth(at).locator(".at-row-words").inner_text().split() == list(row["tokens"])
            assert shown.nth(at).locator("mark").inner_text() == row["tokens"][row["row"] - row["start"]]
            apart = row["row"] - row["key"]
            words = f"looked at {row['key_token']}, {apart} token{'s' * (apart > 1)} before (50%)"
            assert shown.nth(at).locator(".at-row-told").inner_text() == words


def test_the_bar_of_a_job_is_as_long_as_its_share_with_the_interval(visit):
    own = jobs_of(visit("whole"), "encoder-3-5")
    bars = own.locator(".at-job svg")
    whole = bars.first.bounding_box()["width"]
    for place, share in enumerate((0.7, 0.2, 0.1)):
        drawn = bars.nth(place).locator("rect").bounding_box()["width"]
        assert drawn == pytest.approx(share * whole, abs=1)
        ends = bars.nth(place).locator(".at-ends").evaluate("line => line.getBBox().width")
        assert ends == pytest.approx(1000 * 0.4 * share, abs=2)


def test_a_job_is_chosen_by_keyboard(visit):
    own = jobs_of(visit("whole"), "encoder-3-5")
    button = own.locator(".at-job").nth(1)
    button.focus()
    own.page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    name = "20% Looks at an earlier copy, about 20 tokens back"
    assert own.get_by_role("button", name=name, exact=True).count() == 1
    assert button.get_attribute("title") == "Job 2 of 3, 95% interval 16% to 24%"
    group = own.get_by_role("group")
    assert group.get_attribute("aria-label") == "Head 3-5: its jobs, by share of its active rows"


def test_a_head_of_one_job_is_said_to_have_one_and_one_of_few_rows_none(visit):
    page = visit("whole")
    one = jobs_of(page, "encoder-1-1")
    assert one.locator(".at-told").inner_text() == "One job: looks back one token"
    assert (one.locator("button").count(), one.locator(".at-rows li").count()) == (0, 2)
    few = jobs_of(page, "encoder-1-2")
    assert few.inner_text().endswith("This head is active in too few rows to tell.")


def test_hostile_tokens_of_jobs_stay_text(visit):
    own = jobs_of(visit("tokens"), "encoder-1-1")
    assert own.locator(".at-job-tokens").inner_text() == "Told by tokens from <i>x, at <b>"
    assert own.locator(".at-row-words").first.inner_text().split() == ["<b>", "<i>x", "⟨U+202E⟩", "&amp;"]
    assert own.locator("b b, i").count() == 0


def test_jobs_in_the_treebank_stand_below_those_in_the_text(visit):
    own = jobs_of(visit("doing"), "encoder-1-1")
    assert own.locator("h3").all_inner_texts() == [
        "What it does where it is active",
        "The same in the treebank, by part of speech too",
    ]
    assert own.locator(".at-told").all_inner_texts() == [
        "One job: looks back one token",
        "One job: looks back one token, from nouns",
    ]
    own = jobs_of(own.page, "encoder-3-5")
    assert own.locator(".at-job").count() == 6
    own.locator(".at-job").nth(4).click()
    # Each list keeps its own choice.
    pressed = [one.get_attribute("aria-pressed") for one in own.locator(".at-job").all()]
    assert pressed == ["true", "false", "false", "false", "true", "false"]
    labels = [group.get_attribute("aria-label") for group in own.get_by_role("group").all()]
    assert labels == [f"Head 3-5: its jobs{where}, by share of its active rows" for where in ("", " in the treebank")]
    assert visit("whole").locator(".at-jobs h3").count() == 1


def test_a_run_that_looked_for_no_jobs_says_what_to_do(visit):
    said = visit("bare").locator(".at-jobs").inner_text()
    assert said.endswith("This run looked for no jobs: run headscope report again.")
