"""Model files that the library or the command line wrote, as models of a service."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evermix.estimators import files
from evermix.estimators.mixture.going_on import as_stream
from evermix.families import Mixed
from evermix.io.checkpoint import CheckpointError
from evermix.io.text import from_spec
from evermix.service.core import Core
from evermix.service.models import PLAN, check_name, write_plan
from evermix.service.past import past_events, past_timeline
from evermix.service.plans import Plan
from evermix.service.worker import CHECKPOINT


@dataclass(frozen=True)
class Adopted:
    """What has become of a model file.

    Attributes
    ----------
    name : str
    path : Path
        Of the file.
    core : Core or None
        What it held; None if there was a model of that name already, which goes on.
    """

    name: str
    path: Path
    core: Core | None


def adopt(folder: Path, given: Mapping[str, Path]) -> list[Adopted]:
    """Let models of a folder begin with files, by name; models that are there stay as they are.

    Nothing is written unless all files can be read. A model is there when its plan is, which is
    written last; so after a crash the same call goes on. ValueError: a name cannot be one, or a
    file holds no mixture. OSError: a file cannot be read or written.
    """
    for name in given:
        check_name(name)
    found = [
        Adopted(name, path, None if (folder / name / PLAN).is_file() else read(path))
        for name, path in given.items()
    ]
    for each in found:
        if each.core is not None:
            place = folder / each.name
            place.mkdir(parents=True, exist_ok=True)
            files.save(each.core.mix, place / CHECKPOINT, each.core.to_extra())
            write_plan(place, each.core.plan)
    return found


def read(path: Path) -> Core:
    """Return the model of a file, which has taken no requests yet.

    What was fitted by an engine that returns to its rows goes on as ``engine=None`` does.
    """
    mix, extra = files.load_with_extra(path)
    as_stream(mix)
    learner = mix.learner_
    try:
        text = from_spec(extra["text"]) if extra.get("text") else None
        records = isinstance(learner.model.family, Mixed)
        kind = "texts" if text is not None else "records" if records else "vectors"
        plan = Plan(kind, imported=path.name[-200:])
        if "service" in extra:
            core = Core.from_file(plan, mix, extra)
            core.sequence = 0
            return core
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(
            f"what {path} says of texts or of a service is not whole "
            f"({type(error).__name__}: {error}). Use an earlier copy."
        ) from error
    rows = int(mix.state_.clock) + sum(len(batch.weights) for batch in learner.waiting)
    if learner.rows_digest is not None:  # a fit, whose clock counts the rows of each lap
        rows = len(mix.labels_)
    core = Core(plan, mix, text, rows=rows)
    if not core.provisional:
        core.timeline = past_timeline(mix, rows)
        if core.timeline.points:  # the clusters of a fit have no order
            core.events = past_events(mix)
    core.confirming.next_id = core.lives()[0]  # what is there needs no announcement
    return core
