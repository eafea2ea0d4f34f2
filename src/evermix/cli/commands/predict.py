"""``evermix predict``: find the clusters of new rows without learning them."""

from contextlib import closing

from evermix.cli.console import note, progress_bar
from evermix.cli.input.rows import features, open_rows
from evermix.cli.options.option import Option
from evermix.cli.options.settings import Settings
from evermix.cli.options.table import PREDICT
from evermix.cli.output.lines import Lines
from evermix.cli.output.output_files import check_files, check_new
from evermix.estimators.files import load_with_extra
from evermix.io.text import from_spec


def options(custom: tuple[type, ...]) -> list[Option]:
    """Return the options of the command."""
    return list(PREDICT)


def run(settings: Settings) -> None:
    """Write a line for every row of the source."""
    check_files(settings.sources, {"MODEL": settings.model}, settings.outputs)
    if not settings.overwrite:
        check_new(settings.outputs, "Choose another place, or replace it with --overwrite.")
    settings.lock_outputs()
    mix, extra = load_with_extra(settings.model, settings.custom)
    text = from_spec(extra["text"]) if extra.get("text") else None
    if text is not None:
        text.totals.total = text.totals.unknown = 0  # of these rows
    kind = "table" if hasattr(mix, "levels_") else settings.kind
    rows = open_rows(settings, None if text else mix.n_features_in_, kind=kind)
    family, ids = mix.model_.family, mix.cluster_ids_
    done = 0
    with (
        closing(Lines(settings.out, None)) as lines,
        progress_bar("predicting", rows.n_rows, settings.quiet) as progress,
    ):
        for chunk in rows.chunks(0, settings.batch):
            X = features(family, text, chunk.X)
            proba, log_density = mix.predict_proba(X), mix.score_samples(X)
            best = proba.argmax(axis=1)
            for i, name in enumerate(chunk.ids):
                lines.write(
                    {
                        "id": name,
                        "cluster": int(ids[best[i]]),
                        "probability": float(proba[i, best[i]]),
                        "log_density": float(log_density[i]),
                    }
                )
            lines.flush()
            done += len(chunk.ids)
            progress.update(chunk.offset, len(ids))
        lines.flush()  # empties an old file even if there were no rows
    if not settings.quiet:
        unknown = f" {text.totals.share:.1%} of their words are unknown." if text else ""
        note(f"{done:,} rows predicted.{unknown}")
