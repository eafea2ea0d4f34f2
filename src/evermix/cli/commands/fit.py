"""``evermix fit``: laps over all rows of a source, then a JSON line for every row."""

import math
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from rich.table import Table

from evermix._schema import check_number
from evermix._words import counted
from evermix.cli.console import (
    at_terminal,
    beside_console,
    laps_in_words,
    new_row_fit,
    output_console,
    progress_bar,
)
from evermix.cli.input.dask import Cluster, cluster
from evermix.cli.input.rows import Rows, make_text_counter, open_rows, read_rows, take_units
from evermix.cli.input.texts import embedded_texts, say_what_is_read, uncounted_words
from evermix.cli.options.mixture import (
    make_engine,
    make_mixture,
    parts,
    with_default_prior,
)
from evermix.cli.options.settings import Settings, with_run_files
from evermix.cli.output.answers import NO_IDS, Beside, has_no_ids
from evermix.cli.output.captions import captions
from evermix.cli.output.cards import cards_table, describe_clusters
from evermix.cli.output.coarse import proposed
from evermix.cli.output.lines import check_answers, naming, open_answers, rounded, shown_densities
from evermix.cli.output.plain_facts import at_limit, warned_of_few
from evermix.cli.runs.going_on import command_to_go_on
from evermix.cli.runs.interrupts import Interrupts
from evermix.cli.runs.lap_log import LapLog
from evermix.cli.runs.resuming import (
    check_resumed,
    open_again,
    read_checkpoint,
    resumed_settings,
)
from evermix.cli.runs.run import Run
from evermix.cli.runs.stream_notes import check_units
from evermix.cli.runs.taken_names import names_output
from evermix.distributed.collections import is_collection, one_by_one
from evermix.engines import Engine
from evermix.engines.batch import ROWS, Info
from evermix.estimators import Mixture
from evermix.estimators.columns_in_words import (
    column_groups,
    count_missing,
    groups_in_a_line,
    missing_in_words,
)
from evermix.estimators.files import load_with_extra, save
from evermix.estimators.mixture.held import clusters_in_words, n_held
from evermix.estimators.mixture.settings import Settings as MixtureSettings
from evermix.families import Mixed
from evermix.io.chunks import Chunks
from evermix.io.embedded_texts import EmbeddedTexts
from evermix.io.sources import Source
from evermix.io.sources.values import Columns
from evermix.io.text_counter import TextCounter

# Of the answer for a row.
COLUMNS = "id", "cluster", "probability", "log_density", "cluster_size", "name"
SHOWN = 10  # clusters at a terminal
AUTO_CHANGES = "laps", "tol"  # of the engine that auto has chosen, when its fit goes on
HELD_BYTES = 2**28  # of rows that are held in memory although they could be read again


def run(settings: Settings) -> None:
    """Learn all rows of a source in many passes."""
    settings = with_run_files(settings, Fit.command)
    check_answers(settings.out, named=names_output(settings, "out"))
    Fit.main(with_default_prior(settings, streaming=False), cluster(settings.dask))


class Fit(Run):
    """Laps over all rows of a source."""

    command, save_model = "fit", staticmethod(save)
    of_results = frozenset({"out", "keep_fields"})
    model: Mixture

    def __init__(
        self,
        settings: Settings,
        source: Source,
        rows: Rows,
        model: Mixture,
        text: TextCounter | None,
        notes: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(settings, model, text, notes)
        self.source, self.rows = source, rows
        take_units(model, source)
        self.log = LapLog() if notes is None else LapLog.from_spec(notes["log"])
        self._X: Any = rows.features(model.family, text)
        self.missing = count_missing(self._X)  # cells, by column

    @classmethod
    def source_of(cls, settings: Settings) -> Source:
        """Open the rows of a fit that begins."""
        source = open_rows(settings, None, **Beside.reading(settings))
        Beside(settings, COLUMNS).check(source)
        return source

    @classmethod
    def begin(cls, settings: Settings, place: Cluster | None) -> Self:
        """Read the source; a checkpoint that is there will be replaced."""
        source = cls.source_of(settings)
        mix = make_mixture(settings, source.kind, streaming=False, columns=source.columns)
        rows = _read(source, settings, _engine_of(mix), place)
        text: TextCounter | None = embedded_texts(settings, source)
        if source.kind == "text":
            say_what_is_read(settings, source, rows.texts())
        if source.kind == "text" and text is None:
            text = make_text_counter(settings, rows.texts(), "--hash")
        return cls(settings, source, rows, mix, text)

    @classmethod
    def resume(cls, settings: Settings, place: Cluster | None) -> Self:
        """Read the source again, for the model of the checkpoint."""
        load = partial(load_with_extra, custom=settings.custom)
        saved = read_checkpoint(settings, cls, load)
        mix = saved.model
        fields = parts(settings.custom, streaming=False).engine.options
        changing = AUTO_CHANGES if mix.engine is None else mix.engine.may_change
        free = {field: fields[field].name for field in changing if field in fields}
        # Rows are known by their digest, wherever their files are now.
        may_differ = {"source", *cls.of_results, *free.values()}
        settings = resumed_settings(settings, saved, may_differ)
        check_resumed(settings, saved)
        source = open_again(settings, saved, **Beside.reading(settings))
        Beside(settings, COLUMNS).check(source)
        folders = {f: settings.values[o.name] for f, o in fields.items() if o.file == "folder"}
        mix.learner_.engine = _writing_to(mix.learner_.engine, folders)
        if mix.engine is not None:
            mix.set_params(engine=_writing_to(mix.engine, folders))
        given = {f: name for f, name in free.items() if name in settings.given}
        if mix.engine is None:
            changes = {field: settings.values[name] for field, name in given.items()}
            mix.learner_.engine = replace(mix.learner_.engine, **changes)
            settings = settings.changed(**dict.fromkeys(given.values()))  # the file says it
        elif (engine := make_engine(settings, streaming=False)) is not None:
            changes = {field: getattr(engine, field) for field in given}
            mix.set_params(engine=replace(mix.engine, **changes))
        rows = _read(source, settings, _engine_of(mix), place)
        return cls(settings, source, rows, mix, saved.text, saved.notes)

    @property
    def engine(self) -> Engine:
        """The engine of the fit."""
        return _engine_of(self.model)

    @property
    def held_out(self) -> int:
        """Rows that are held out for validation."""
        records = self.model.state_.memo.values()
        return sum(int(record["held"].sum()) for record in records if "held" in record)

    def _learn(self, interrupts: Interrupts) -> None:
        every, quiet = self.settings.every, self.settings.quiet
        most, title = self.engine.max_laps, partial(laps_in_words, name=self.engine.lap_name)
        before = "going on" if self.resumed else "looking for first clusters"  # its first step
        with progress_bar(before, None, quiet, of_rows=False) as progress:

            def observe(mix: Mixture, info: Info) -> None:
                self.learnt = True
                lap, state = self.log.add(info), mix.state_
                done = state.lap + self.log.rows / self.rows.n
                fit = self.log.described(info, self.rows.n, self.engine.lower_bound(state))
                progress.update(done, info.K, fit, title(math.ceil(done), most), most)
                if lap is not None:
                    self.trace.write(lap.to_event())
                whole = state.at == 0 and state.lap % (every or 1) == 0
                if self.timer.due if every is None else whole:
                    self.save()

            # Engines let a signal wait until their step is whole.
            with interrupts.allowed(), self.rows.naming_lines():
                self.fit({"X": self._X}, observe)
        if isinstance(self.text, EmbeddedTexts):
            self.text.clusters = {}
            self.text.learnt(self.rows.texts(), map(int, self.model.labels_))

    def _finish(self) -> None:
        if self.settings.out == "-" and at_terminal():
            output_console().print(self._table())
            return
        out, names = self.settings.out, captions(self.model, self.text)
        columns = [name for name in COLUMNS if names or name != "name"]
        beside = Beside(self.settings, columns)
        fields = self.rows.fields() if beside.kept else None
        with naming(out), open_answers(out, 0, beside.columns, beside.kept) as lines:
            for line in beside.lines(self._answers(names), fields):
                lines.write(line)
        if console := beside_console(self.settings.quiet):
            console.print(self._table())

    def _answers(self, names: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        """Yield the answer for each row; ``names`` are those of clusters."""
        labels = list(map(int, self.model.labels_))
        found, sizes = (labels, self.model.probabilities_, self._log_densities()), Counter(labels)
        for name, id, p, log_density in zip(self.rows.ids(), *found, strict=True):
            line = {"id": name, "cluster": id, "probability": rounded(p)}
            line |= {"log_density": log_density, "cluster_size": sizes[id]}
            yield line | ({"name": names[id]} if id in names else {})

    def _log_densities(self) -> Iterator[float | None]:
        """Yield the log density of each row, as for new rows."""
        X = one_by_one(self._X) if is_collection(self._X) else self._X
        for some in X if isinstance(X, Chunks) else [X]:
            for start in range(0, some.shape[0], ROWS):
                run = np.arange(start, min(start + ROWS, some.shape[0]))
                if isinstance(some, Columns):
                    part: Any = some.take(run)
                else:  # digits in single precision would depend on the cuts
                    part = some[run[0] : run[-1] + 1]
                    part = part.astype(np.float64) if part.dtype == np.float32 else part
                scores = self.model.score_samples(part)
                yield from shown_densities(self.model.model_.family, part, scores)

    def _next_steps(self) -> None:
        if not (self.settings.out == "-" and at_terminal()):
            super()._next_steps()
            return
        console, settings = output_console(), self.settings
        model, rows = str(settings.checkpoint), map(os.path.relpath, settings.sources)
        again = ["evermix", "fit", *rows, "--checkpoint", model, "--resume", "--out", "labels.csv"]
        next_steps = {"a page for your browser": ["evermix", "report", model]}
        if n := proposed(self.model):
            next_steps["fewer, coarser clusters"] = ["evermix", "info", model, "--coarse", str(n)]
        fields = self.source.has_fields
        if settings.sources != ["-"]:
            what = "the cluster of each row" + ", after its own columns" * fields
            next_steps[what] = [*again, *["--keep-fields"] * fields]
        for what, words in next_steps.items():
            console.print(f"{what}: {shlex.join(words)}", soft_wrap=True)
        if has_no_ids(settings, self.source):
            console.print(NO_IDS, soft_wrap=True)

    def _table(self) -> Table:
        """Return the table of the largest clusters."""
        cards = describe_clusters(self.model, self.text, SHOWN)
        return cards_table(cards, "clusters", n_held(self.model))

    def _notes(self) -> dict[str, Any]:
        units = self.source.units
        counts = {"units": units, "missing": self.missing}
        return {"kind": self.source.kind, "log": self.log.to_spec(), **counts}

    @classmethod
    def check_notes(cls, notes: dict[str, Any]) -> None:
        """Raise unless notes hold a log of laps."""
        LapLog.from_spec(notes["log"])
        check_units(notes)
        for name, cells in notes.get("missing", {}).items():
            check_number(f"missing cells of {name}", cells)

    def _progress(self) -> str:
        done, most = self.model.state_.lap, self.engine.max_laps
        of = f" of at most {most:,}" if done < most else ""
        return f"{done:,}{of} {self.engine.lap_name}{'s' * (most > 1)}"

    def _facts(self, seconds: float) -> Iterator[str]:
        mix, rows, last = self.model, self.rows, self.log.last
        skipped = f", {counted(rows.skipped, 'blank or bad row')} skipped" if rows.skipped else ""
        yield f"{counted(rows.n, 'row')}{skipped}"
        yield clusters_in_words(mix, "cluster")
        limit = at_limit(
            self.engine.progress(mix.state_), command_to_go_on(self.command, self.settings)
        )
        yield self._progress() + ("" if limit is None else f", the limit, {limit}")
        bound, held_out = self.engine.lower_bound(mix.state_), self.held_out
        if bound is not None and self.settings.engine != "auto":
            yield f"fit {bound:,.2f}, {bound / rows.n:.3f} per row (ELBO, higher is better)"
        elif bound is None and last is not None:
            yield new_row_fit(last.log_predictive / (last.rows - held_out))
            if held_out:
                yield f"{last.scalars['held_out'] / held_out:.3f} per row held out"
        if self.engine.draws(mix.state_) is not None:
            yield from _facts_of_draws(mix)
        yield f"{seconds:.1f} s"

    def _remarks(self) -> Iterable[str]:
        yield from warned_of_few(self.model)
        family = self.model.model_.family
        missing = missing_in_words(self.missing, family, self.rows.n)
        if missing is not None:
            yield f"missing cells: {missing}"
        words = uncounted_words(self.text, self._X, self.settings.vocabulary)
        if words is not None:
            yield words
        if isinstance(family, Mixed):
            yield f"columns: {groups_in_a_line(column_groups(family))} (evermix info says which)"
        shown = self.settings.out == "-" and at_terminal()  # which has said it
        if self.settings.keep_fields and not shown and has_no_ids(self.settings, self.source):
            yield NO_IDS

    def _complaints(self) -> Iterable[str]:
        return self.rows.complaints


def _writing_to(engine: Engine, folders: Mapping[str, str | None]) -> Engine:
    """Return an engine of a checkpoint that writes only to folders of the command line."""
    return replace(engine, **{name: f for name, f in folders.items() if hasattr(engine, name)})


def _engine_of(mix: Mixture) -> Engine:
    """Return the engine of a mixture, or that which a fit will use if none was given."""
    fitted = mix.engine is None and mix.__sklearn_is_fitted__()
    return mix.learner_.engine if fitted else MixtureSettings.of(mix).engine


def _facts_of_draws(mix: Mixture) -> Iterator[str]:
    """Yield the mean number of clusters, and with ArviZ how far the draws can be trusted."""
    draws = mix.posterior_
    chains = f" of {draws.n_chains} chains" if draws.n_chains > 1 else ""
    yield f"{draws.n_clusters.mean():.2f} clusters on average over {draws.n_draws:,} draws{chains}"
    try:
        found = draws.summary()
    except ImportError:
        return
    for name, words in (("K", "K"), ("log_joint", "log joint")):
        r_hat, ess = found[name]["r_hat"], found[name]["ess_bulk"]
        known = [] if math.isnan(r_hat) else [f"R-hat {r_hat:.3f}"]
        known += [] if math.isnan(ess) else [f"ESS {ess:,.0f}"]
        if known:
            yield f"{words}: {', '.join(known)}"


def _read(source: Source, settings: Settings, engine: Any, place: Cluster | None) -> Rows:
    """Read the rows of a fit; many rows that can be read again are not held in memory."""
    if place is not None:
        return place.rows(source, engine, settings.quiet)
    again = engine.rereads and settings.source != "-"
    # Batches in random order would mean to read from the start for each, where rows are no array.
    forward = again and engine.reads_in_order
    most = HELD_BYTES if forward else math.inf
    return read_rows(source, settings.quiet, map_arrays=again, most=most)
