"""``evermix predict``: find the clusters of new rows without learning them."""

from contextlib import closing

from evermix.cli.console import note, progress_bar
from evermix.cli.input.model_rows import load_with_text, open_rows_of
from evermix.cli.input.rows import features
from evermix.cli.options.option import Option
from evermix.cli.options.settings import Settings
from evermix.cli.options.table import PREDICT
from evermix.cli.output.lines import Lines
from evermix.cli.output.output_files import check_files, check_new


def options(custom: tuple[type, ...]) -> list[Option]:
    """Return the options of the command."""
    return list(PREDICT)


def run(settings: Settings) -> None:
    """Write a line for every row of the source."""
    check_files(settings.sources, {"MODEL": settings.model}, settings.outputs)
    if not settings.overwrite:
        check_new(settings.outputs, "Choose another place, or replace it with --overwrite.")
    settings.lock_outputs()
    mix, text = load_with_text(settings)
    if text is not None:
        text.totals.total = text.totals.unknown = 0  # of these rows
    rows = open_rows_of(settings, mix, text)
    family, ids, names = mix.model_.family, mix.cluster_ids_, mix.lineage_.hand.names
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
                line = {
                    "id": name,
                    "cluster": int(ids[best[i]]),
                    "probability": float(proba[i, best[i]]),
                    "log_density": float(log_density[i]),
                }
                if line["cluster"] in names:
                    line["name"] = names[line["cluster"]]
                lines.write(line)
            lines.flush()
            done += len(chunk.ids)
            progress.update(chunk.offset, len(ids))
        lines.flush()  # empties an old file even if there were no rows
    if not settings.quiet:
        unknown = ""
        if text is not None and text.words is not None:
            unknown = f" {text.totals.share:.1%} of their words are unknown."
        note(f"{done:,} rows predicted.{unknown}")
