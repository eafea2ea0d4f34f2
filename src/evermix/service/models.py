"""The models of a service: a folder for each."""

import json
import re
import shutil
from functools import partial
from pathlib import Path
from threading import Lock

from evermix.io.replacing import replacing, sync_directory
from evermix.io.similar_names import one_of
from evermix.service.bodies import BodyError
from evermix.service.plans import Plan
from evermix.service.webhooks import Webhook
from evermix.service.worker import READY, Limits, Worker

PLAN = "model.json"
DELETED = ".deleted-"  # begins the name of a folder that is on its way out
MOST = 100  # models of a service
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class AbsentError(LookupError):
    """There is no such model."""


class ConflictError(ValueError):
    """There is another model of this name."""


class Models:
    """The models of a folder.

    Parameters
    ----------
    folder : Path
        It is made if it is not there.
    limits : Limits
        Of each model.
    webhook : Webhook, optional
        Where new clusters are posted.
    """

    def __init__(self, folder: Path, limits: Limits, webhook: Webhook | None = None) -> None:
        self._folder, self._limits, self.webhook = folder, limits, webhook
        self._workers: dict[str, Worker] = {}
        self._making = Lock()
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.iterdir()):
            if path.name.startswith(DELETED):  # and killed before all of it was gone
                shutil.rmtree(path, ignore_errors=True)
            elif _NAME.fullmatch(path.name) and (path / PLAN).is_file():
                self._workers[path.name] = self._worker(path, _read_plan(path / PLAN))

    def _worker(self, path: Path, plan: Plan) -> Worker:
        tell = None if self.webhook is None else partial(self.webhook.tell, path.name)
        return Worker(path, plan, self._limits, tell)

    def start(self) -> None:
        """Load all models, each in its own thread."""
        if self.webhook is not None:
            self.webhook.start()
        for worker in self._workers.values():
            worker.start()

    def stop(self) -> None:
        """Learn what waits and write checkpoints."""
        workers = list(self._workers.values())
        for worker in workers:
            worker.stop(0.0)
        for worker in workers:
            worker.stop()
        if self.webhook is not None:
            self.webhook.stop()

    @property
    def ready(self) -> bool:
        """Whether all models can answer."""
        return all(worker.status == READY for worker in list(self._workers.values()))

    def items(self) -> list[tuple[str, Worker]]:
        """Return names and models."""
        return sorted(self._workers.items())

    def __getitem__(self, name: str) -> Worker:
        try:
            return self._workers[name]
        except KeyError:
            meant = one_of(name[:80], self._workers)
            raise AbsentError(f"there is no model {name!r:.80}.{meant} PUT makes one.") from None

    def make(self, name: str, plan: Plan) -> bool:
        """Make a model, and return False if there is one with the same settings already."""
        check_name(name)
        with self._making:
            if name in self._workers:
                if self._workers[name].plan != plan:
                    raise ConflictError(
                        f"there is a model {name} with other settings already: "
                        f"{_differing(self._workers[name].plan, plan)}. Choose another name, or "
                        "DELETE this model first."
                    )
                return False
            if len(self._workers) >= MOST:
                raise ConflictError(f"a service has {MOST} models at most.")
            path = self._folder / name
            path.mkdir(exist_ok=True)
            write_plan(path, plan)
            worker = self._worker(path, plan)
            worker.start()
            self._workers[name] = worker
            return True

    def remove(self, name: str) -> None:
        """Delete a model, and its folder as a whole: a crash leaves all of it or nothing.

        OSError: the folder cannot be renamed; the model goes on.
        """
        with self._making:
            worker = self[name]
            del self._workers[name]  # from here on nobody finds it
            worker.discard()
            aside = self._folder / f"{DELETED}{name}"
            try:
                shutil.rmtree(aside, ignore_errors=True)
                worker.folder.rename(aside)
                sync_directory(self._folder)
            except OSError:
                self._workers[name] = self._worker(worker.folder, worker.plan)
                self._workers[name].start()
                raise
            shutil.rmtree(aside, ignore_errors=True)


def _differing(old: Plan, new: Plan) -> str:
    """Return the settings of a model that differ from those of a request."""
    if old.imported is not None:
        return f"it began with the file {old.imported}"
    was, wanted = old.to_spec(), new.to_spec()
    return ", ".join(
        f"{name} is {json.dumps(value)}, not {json.dumps(wanted[name])}"
        for name, value in was.items()
        if value != wanted.get(name)
    )


def check_name(name: str) -> None:
    """Raise BodyError if a model cannot be called so."""
    if not _NAME.fullmatch(name):
        raise BodyError(
            "the name of a model is 1 to 64 lower-case letters a to z, digits, - and _, and "
            f"begins with a letter or digit, got {name!r:.80}."
        )


def write_plan(path: Path, plan: Plan) -> None:
    """Write what the model of a folder is made of; from then on it is there, also after a crash."""
    with replacing(path / PLAN) as file:
        file.write(json.dumps(plan.to_spec(), indent=2).encode() + b"\n")
    sync_directory(path.parent)


def _read_plan(path: Path) -> Plan:
    """Return the plan of a file, or raise ValueError."""
    try:
        return Plan.parsed(json.loads(path.read_bytes()))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} does not say what the model is made of: {error}") from error
