"""``evermix predict``: find the clusters of new rows without learning them."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from evermix.cli.options import table as options
from evermix.cli.output.console import note, plain_errors, row_progress
from evermix.cli.output.output_files import check_files, check_new


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model or checkpoint file.")],
    source: options.Source,
    out: options.Out = "-",
    overwrite: options.Overwrite = False,
    batch: options.Batch = 1000,
    kind: options.Kind = None,
    text_field: options.TextField = "text",
    vector_field: options.VectorField = "vector",
    id_field: options.IdField = "id",
    time_field: options.TimeField = None,
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the clusters of new rows; the model stays as it is.

    Writes one JSON line per row: id, cluster, its probability, and the row's log density.
    """
    with plain_errors():
        from evermix.cli.input.reading import features
        from evermix.cli.output.lines import Lines
        from evermix.estimators.files import load_with_extra
        from evermix.io.sources import open_source
        from evermix.io.text import from_spec

        check_files(source, {"MODEL": str(model)}, {"--out": out})
        if not overwrite:
            check_new({"--out": out}, "Choose another place, or replace it with --overwrite.")
        mix, extra = load_with_extra(model)
        text = from_spec(extra["text"]) if extra.get("text") else None
        rows = open_source(
            source[0] if len(source) == 1 else source,
            kind=None if kind is None else kind.value,
            text_field=text_field,
            vector_field=vector_field,
            id_field=id_field,
            time_field=time_field,
            n_features=None if text else mix.n_features_in_,
            skip_bad=skip_bad,
        )
        family, ids = mix.model_.family, mix.cluster_ids_
        done = 0
        with (
            closing(Lines(out, None)) as lines,
            row_progress("predicting", rows.n_rows, quiet) as progress,
        ):
            for chunk in rows.chunks(0, batch):
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
        if not quiet:
            note(f"{done:,} rows predicted.")
