"""``evermix topics``: topics of a source over time, with checkpoints to go on from."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from evermix.cli.options import table as options
from evermix.cli.options import topic_options as own
from evermix.cli.options.topic_settings import SHARE, TopicPriorName, TopicSettings
from evermix.cli.output.console import lap_progress, note
from evermix.cli.runs.interrupts import Stop, Stopped
from evermix.cli.runs.run import (
    default_checkpoint,
    farewell,
    given_options,
    open_run,
    stoppable,
    summary,
)

if TYPE_CHECKING:
    from evermix.cli.output.topic_report import Findings
    from evermix.cli.runs.topics import TopicRun
    from evermix.topics.words.snapshots import TopicSweep


def topics(
    context: typer.Context,
    source: options.Source,
    time_field: options.TimeField = None,
    out: own.Out = "-",
    figure: own.Figure = None,
    curves: own.Curves = None,
    checkpoint: options.Checkpoint = None,
    resume: options.Resume = False,
    overwrite: options.Overwrite = False,
    every: own.Every = None,
    trace: own.Trace = None,
    prior: own.Prior = TopicPriorName.HMNGG,
    alpha: own.Alpha = None,
    regions: own.Regions = None,
    window: own.Window = None,
    seed: options.Seed = 0,
    sampler: own.Sampler = None,
    burn_in: own.BurnIn = 2000,
    draws: own.Draws = 1000,
    chains: own.Chains = 1,
    held_out: own.HeldOut = 0.0,
    top_words: own.TopWords = 10,
    share: own.Share = SHARE,
    period: own.Period = None,
    kind: options.Kind = None,
    text_field: options.TextField = "text",
    vector_field: options.VectorField = "vector",
    id_field: options.IdField = "id",
    skip_bad: options.SkipBad = False,
    vocabulary: options.Vocabulary = 20_000,
    hash: options.Hash = None,
    quiet: options.Quiet = False,
) -> None:
    """Find topics in texts or counts of words, and how they come and go over time.

    Writes JSON at the end: words of each topic, shares over time, births and deaths.
    Stop whenever you like and go on with --resume.
    """
    settings = TopicSettings.of(locals())
    path = default_checkpoint(source) if checkpoint is None else checkpoint
    given, run = given_options(context), None
    with stoppable(lambda: _farewell(run)) as stop:
        with stop.allowed():
            from evermix.cli.runs.topics import TopicRun

            run = open_run(
                lambda: TopicRun.begin(settings, path, quiet),
                lambda: TopicRun.resume(settings, given, path, quiet),
                settings,
                path,
                resume=resume,
                overwrite=overwrite,
            )
        with run:
            _run(run, stop, every, quiet)


def _run(run: "TopicRun", stop: Stop, every: int | None, quiet: bool) -> None:
    """Sweep until there are enough draws, and leave a checkpoint whatever ends it."""
    from evermix.cli.output.topic_report import Findings

    began, settings = time.perf_counter(), run.settings
    try:
        title = f"{settings.prior} sweeps"
        with lap_progress(title, settings.burn_in + settings.draws, quiet) as progress:

            def show(sweep: "TopicSweep") -> None:
                progress.update(sweep.number, sweep.n_topics[0], _described(sweep))

            with stop.allowed():  # a signal waits until the sweep is whole
                run.learn(show, every)
    except Stopped:
        if run.learnt:
            run.save()
        raise
    run.save()
    seconds = time.perf_counter() - began
    with stop.allowed():
        findings = Findings(run)
        findings.write()
    if not quiet:
        facts = [*_facts(run, findings), f"{seconds:.1f} s", f"checkpoint {run.checkpoint}"]
        note(summary(facts, run.documents.complaints))


def _described(sweep: "TopicSweep") -> str:
    burning = "" if sweep.kept else "  burn-in"
    return f"log joint {sweep.log_joint[0]:,.1f}{burning}"


def _facts(run: "TopicRun", findings: "Findings") -> Iterator[str]:
    """Yield what came of a run, in the order in which people ask."""
    documents, traces = run.documents, run.model.traces_
    of_times = f" of {len(findings.times):,} times" if findings.times else ""
    yield f"{len(documents):,} documents{of_times}"
    if documents.empty or documents.skipped:
        yield (
            f"{documents.empty:,} without words and {documents.skipped:,} blank or bad rows left "
            "out"
        )
    yield f"{run.model.n_topics_:,} topics"
    n_draws, chains = len(traces["n_topics"]), run.settings.chains
    of = f" of {chains} chains" if chains > 1 else ""
    yield f"E[K] = {traces['n_topics'].mean():.2f} over {n_draws:,} draws{of}"
    if findings.perplexity is not None:
        held = len(run.parts.held)
        yield f"perplexity {findings.perplexity:,.1f} of {held:,} documents held out"


def _farewell(run: "TopicRun | None") -> str:
    """Say how far a run came that ended early, and how to go on."""
    if run is None or not run.learnt:
        return "Nothing was learnt yet."
    settings, done = run.settings, run.sweeps
    total = settings.burn_in + settings.draws
    return farewell("topics", settings, run.checkpoint, f"after {done:,} of {total:,} sweeps")
