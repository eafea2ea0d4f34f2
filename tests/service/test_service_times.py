"""Times of observations: learnt as partial_fit learns them, checked, and there after kill -9."""

import json
import time
from datetime import timedelta

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("orjson")

import evermix as em
from evermix.io import checkpoint
from evermix.service.adopting import read
from evermix.service.bodies import BodyError, observations
from evermix.service.core import LEARN, Core
from evermix.service.log import Record
from evermix.service.plans import Plan
from helpers.variants import slow_but

N, DAY = 240, 86_400
START = np.datetime64("2024-01-01", "s")
TEXTS = ["invoice refund payment billing", "printer paper toner tray", "password login account"]


def rows(kind="vectors", dates=True, n=N):
    """Observations around places of which one is there at first only, a quarter of a day apart."""
    rng = np.random.default_rng(0)
    places = np.where(np.arange(n) < n // 3, 0, rng.integers(1, 3, n))
    found = []
    for i, place in enumerate(places.tolist()):
        when = str(START + np.timedelta64(6 * i, "h")) if dates else 0.25 * i
        row = {"id": f"r{i}", "time": when}
        if kind == "vectors":
            row["vector"] = (rng.normal(size=2) + 12.0 * place).tolist()
        elif kind == "records":
            row["record"] = {"x": rng.normal() + 12.0 * place, "y": rng.normal()}
        else:
            row["text"] = " ".join(rng.choice(TEXTS[place].split(), 6))
        found.append(row)
    return found


def send(core, given, at=1e9, **more):
    body = json.dumps({"observations": given, **more}).encode()
    taken = observations(body, "json", 10**6)
    core.check(taken)
    return core.learn(Record(core.sequence + 1, at, LEARN, "json", body), taken)


@pytest.mark.parametrize("half_life", [None, 10.0])
@pytest.mark.parametrize("dates", [True, False])
def test_times_are_learnt_as_partial_fit_learns_them(dates, half_life):
    scaled = half_life if half_life is None or not dates else half_life * DAY
    plan = Plan("vectors", half_life=scaled, times="dates" if dates else "numbers")
    core, given = Core.new(plan), rows(dates=dates)
    for i in range(0, N, 40):
        answers = send(core, given[i : i + 40])
    X = np.array([row["vector"] for row in given])
    times = np.array([row["time"] for row in given], dtype="M8[us]" if dates else float)
    forgetting = None
    if half_life is not None:
        forgetting = em.Exponential(timedelta(days=half_life) if dates else half_life)
    mix = em.Mixture(forgetting=forgetting, max_clusters=plan.max_clusters, random_state=0)
    for i in range(0, N, 40):
        mix.partial_fit(X[i : i + 40], times=times[i : i + 40])
    np.testing.assert_array_equal(core.mix.tally_.mass, mix.tally_.mass)
    assert core.mix.lineage_.born == mix.lineage_.born
    assert [card.since for card in core.cards()] == [card.since for card in mix.cards()]
    assert all(card.since is not None for card in core.cards())
    assert len(answers) == 40
    if half_life is not None:  # the place of the first third has faded
        assert core.mix.tally_.mass.sum() < N / 2


def test_times_in_a_list_are_those_of_the_observations():
    plan, given = Plan("vectors", times="dates", half_life=10.0 * DAY), rows()
    cores = Core.new(plan), Core.new(plan)
    send(cores[0], given)
    plain = [{k: v for k, v in row.items() if k != "time"} for row in given]
    send(cores[1], plain, times=[row["time"] for row in given])
    np.testing.assert_array_equal(cores[0].mix.tally_.mass, cores[1].mix.tally_.mass)
    assert cores[0].mix.learner_.calendar == cores[1].mix.learner_.calendar


@pytest.mark.parametrize("kind", ["vectors", "records", "texts"])
def test_what_has_no_date_has_that_of_its_request(kind):
    core = Core.new(Plan(kind, times="dates", half_life=1.0 * DAY))
    plain = [{k: v for k, v in row.items() if k != "time"} for row in rows(kind)]
    for i in range(0, N, 60):
        send(core, plain[i : i + 60], at=1e9 + i * DAY / 60)
    assert core.mix.learner_.shown.calendar.ends == ("2001-09-09T01:46:40", "2001-09-12T01:46:40")
    assert core.mix.state_.now == 1e9 + 3 * DAY
    assert core.mix.tally_.mass.sum() == pytest.approx(60 * (1 + 1 / 2 + 1 / 4 + 1 / 8), rel=0.05)


def test_what_comes_late_counts_as_now():
    """Clients overtake each other: a model that forgets takes no step back."""
    core = Core.new(Plan("vectors", times="numbers", half_life=10.0))
    late = rows(dates=False)
    late[100]["time"], late[101]["time"] = 0.0, 1.0
    for i in range(0, N, 20):
        send(core, late[i : i + 20])
    other = Core.new(Plan("vectors", times="numbers", half_life=10.0))
    late[100]["time"] = late[101]["time"] = late[99]["time"]
    for i in range(0, N, 20):
        send(other, late[i : i + 20])
    np.testing.assert_array_equal(core.mix.tally_.mass, other.mix.tally_.mass)


@pytest.mark.parametrize(
    ("times", "value", "complaint"),
    [
        ("dates", 5, "a date such as .*, in a string, got 5"),
        ("dates", "soon", "got 'soon'"),
        ("dates", "17", "got '17'"),
        ("dates", [1], "got a list"),
        ("dates", True, "got True"),
        ("dates", "2524-01-01", "in the future"),
        ("numbers", None, "a number up to .*, got none"),
        ("numbers", "2024-01-01", "got '2024-01-01'"),
        ("numbers", True, "got True"),
        ("numbers", 1e300, "number up to 1e"),
    ],
)
def test_what_is_no_time_is_refused(times, value, complaint):
    core = Core.new(Plan("vectors", times=times))
    good = {"vector": [1.0, 2.0], "time": "2024-01-01" if times == "dates" else 1.0}
    with pytest.raises(BodyError, match=f"observation 1: .*{complaint}"):
        send(core, [good, {"vector": [1.0, 2.0], "time": value}])
    assert core.rows == 0 and not core.begun


def test_lists_of_times_fit_or_are_refused():
    core, plain = Core.new(Plan("vectors", times="numbers")), [{"vector": [1.0]}, {"vector": [2.0]}]
    for times in ([1.0], 3, "x", [1.0, 2.0, 3.0]):
        with pytest.raises(BodyError, match="one for each observation"):
            send(core, plain, times=times)
    with pytest.raises(BodyError, match="not in both"):
        send(core, [{**row, "time": 1.0} for row in plain], times=[1.0, 2.0])
    with pytest.raises(BodyError, match="hold times, and nothing else"):
        send(core, plain, times=[1.0, 2.0], more=1)
    with pytest.raises(BodyError, match="takes no times"):
        send(Core.new(Plan("vectors")), plain, times=[1.0, 2.0])


def test_a_model_without_times_ignores_them():
    """As it ignores all other fields."""
    core, other, given = Core.new(Plan("vectors")), Core.new(Plan("vectors")), rows()
    for row in given[::7]:
        row["time"] = {"soon": True}
    send(core, given)
    send(other, [{"vector": row["vector"]} for row in given])
    np.testing.assert_array_equal(core.mix.tally_.mass, other.mix.tally_.mass)
    assert not core.mix.learner_.calendar


@pytest.mark.parametrize("half_life", [None, timedelta(days=10)])
def test_a_file_with_times_goes_on_with_them(tmp_path, half_life):
    given = rows()
    X = np.array([row["vector"] for row in given])
    times = np.array([row["time"] for row in given], dtype="M8[us]")
    forgetting = None if half_life is None else em.Exponential(half_life)
    mix = em.Mixture(forgetting=forgetting, random_state=0).partial_fit(X[:200], times=times[:200])
    mix.save(tmp_path / "m.evermix")
    core = read(tmp_path / "m.evermix")
    send(core, given[200:])
    mix.partial_fit(X[200:], times=times[200:])
    np.testing.assert_array_equal(core.mix.tally_.mass, mix.tally_.mass)
    assert core.mix.learner_.calendar.ends == mix.learner_.calendar.ends


def test_settings_of_times_are_checked():
    for spec in ({"times": "years"}, {"times": 3}, {"times": "dates", "half_life": 0}):
        with pytest.raises(BodyError):
            Plan.parsed({"kind": "vectors", **spec})
    with pytest.raises(BodyError, match="times must be dates or numbers, got 'date'"):
        Plan.parsed({"kind": "vectors", "times": "date"})
    with pytest.raises(BodyError, match="half_life is 1 to 1e12, in rows"):
        Plan.parsed({"kind": "vectors", "half_life": 0.5})
    plan = Plan.parsed({"kind": "vectors", "times": "numbers", "half_life": 0.5})
    assert Plan.parsed(plan.to_spec()) == plan


# ---- a service ---------------------------------------------------------------------------------

SETTINGS = {"kind": "texts", "times": "dates", "half_life": 10 * DAY, "seed": 3}


def _run(service, between):
    service.make("a", **SETTINGS)
    given = rows("texts")
    for i in range(0, N, 20):
        some = given[i : i + 20]
        status, answer = service.post("/models/a/observations", {"observations": some})
        assert status == 200, answer
        if i in (100, 180):
            bad = {"text": "x", "time": "never"}
            assert service.post("/models/a/observations", bad)[0] == 422
            service = between(service)
            status, answer = service.post("/models/a/observations", {"observations": some})
            assert all(each["duplicate"] for each in answer["answers"])
    assert service.get("/models/a")[1]["rows"] == N
    sinces = [service.get(f"/models/a/clusters/{each['id']}")[1]["card"]["since"]
              for each in service.get("/models/a/clusters")[1]["clusters"]]  # fmt: skip
    assert all(since.startswith("2024-0") for since in sinces)
    listed = service.get("/models/a/clusters?words=true")[1]["clusters"]
    assert [each["since"] for each in listed if "words" in each] == sinces
    assert service.stop() == 0


def _saved(folder):
    arrays, header = checkpoint.read(folder / "models" / "a" / "model.evermix")
    return arrays, header["extra"]


@pytest.mark.parametrize("every", slow_but(["0.05"], ["1000", "0.05"]))
def test_times_survive_kills(start, tmp_path, tmp_path_factory, every):
    from helpers.services import Running

    def killed(service):
        if every != "1000":
            time.sleep(0.3)  # for some checkpoints
        service.kill()
        return start("--every", every)

    _run(start("--every", every), killed)
    folder = tmp_path_factory.mktemp("undisturbed")
    _run(Running(folder), lambda service: service)
    (arrays, extra), (expected, wanted) = _saved(tmp_path), _saved(folder)
    assert arrays.keys() == expected.keys() and extra["text"] == wanted["text"]
    for name, values in expected.items():
        np.testing.assert_array_equal(arrays[name], values, err_msg=name)
