"""``evermix serve``: models that learn what programs send, and answer."""

import os
from pathlib import Path

from evermix._extras import install
from evermix._words import counted
from evermix.cli.console import note
from evermix.cli.options.settings import Settings
from evermix.io.text import Vocabulary

EXTRA = f"the service needs starlette, uvicorn and orjson: {install('serve')}"


def run(settings: Settings) -> None:
    """Serve until a signal ends it."""
    try:
        from evermix.service.app import RequestLimits
        from evermix.service.server import check_access, serve
    except ImportError as error:
        raise ImportError(f"{EXTRA} ({error}).") from error
    from evermix.service.adopting import adopt
    from evermix.service.worker import Limits

    token = settings.token or os.environ.get("EVERMIX_TOKEN") or None
    check_access(settings.host, token)
    folder = Path(settings.folder)
    folder.mkdir(parents=True, exist_ok=True)
    settings.locks.add(folder / "service", replaced=True)
    for each in adopt(folder, _files(settings.model or [])):
        if each.core is None:
            note(f"the model {each.name} goes on; {each.path} was not read.")
        else:
            known = (
                f"{counted(each.core.n_clusters, 'cluster')} of {counted(each.core.rows, 'row')}"
            )
            fixed = "; new words tell nothing" * isinstance(each.core.text, Vocabulary)
            note(f"the model {each.name} begins with {each.path}: {known}{fixed}.")
    serve(
        folder,
        settings.host,
        settings.port,
        token,
        Limits(queue=settings.queue, checkpoint_seconds=settings.every),
        RequestLimits(settings.max_body, settings.max_batch, settings.max_wait, rate=settings.rate),
        lambda address: note(f"serving {folder} at {address}"),
        settings.webhook,
    )
    note("stopped.")


def _files(given: list[str]) -> dict[str, Path]:
    """Return the files with which models begin, by the names of the models."""
    found: dict[str, Path] = {}
    for entry in given:
        name, _, path = entry.partition("=")
        if not name or not path:
            raise ValueError(
                f"--model must be NAME=FILE, such as news=news.evermix, got {entry!r}."
            )
        if name in found:
            raise ValueError(f"--model {name} was given twice.")
        found[name] = Path(path)
    return found
