"""``evermix fit``: cluster a source in many passes, with checkpoints to go on from."""

import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from evermix.cli.options import table as options
from evermix.cli.options.settings import EngineName, FamilyName, FitSettings, usual_prior
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
    from evermix.cli.runs.fit import Fitting
    from evermix.engines.batch import Info


def fit(
    context: typer.Context,
    source: options.Source,
    engine: options.Engine = EngineName.EP,
    out: options.Out = "-",
    checkpoint: options.Checkpoint = None,
    resume: options.Resume = False,
    overwrite: options.Overwrite = False,
    every: options.EveryLaps = None,
    trace: options.LapTrace = None,
    family: options.Family = FamilyName.AUTO,
    alpha: options.Alpha = None,
    prior: options.Prior = None,
    a: options.A = None,
    sigma: options.Sigma = None,
    tau: options.Tau = None,
    concentration: options.Concentration = None,
    discount: options.Discount = None,
    max_clusters: options.MaxClusters = None,
    seed: options.Seed = 0,
    laps: options.Laps = None,
    tol: options.Tol = None,
    shuffle: options.Shuffle = None,
    validation: options.Validation = None,
    birth: options.EngineBirth = None,
    merge: options.Merge = None,
    sweeps: options.Sweeps = None,
    burn_in: options.BurnIn = None,
    chains: options.Chains = None,
    thin: options.Thin = None,
    augmented: options.Augmented = None,
    hybrid: options.Hybrid = None,
    learn: options.Learn = None,
    truncation: options.Truncation = None,
    start: options.Start = None,
    top: options.Top = None,
    batch_size: options.BatchSize = None,
    births: options.Births = None,
    merges: options.Merges = None,
    deletes: options.Deletes = None,
    stride: options.Stride = None,
    delay: options.Delay = None,
    kappa: options.Kappa = None,
    spill: options.Spill = None,
    penalty: options.Penalty = None,
    dask: options.Dask = None,
    kind: options.Kind = None,
    text_field: options.TextField = "text",
    vector_field: options.VectorField = "vector",
    id_field: options.IdField = "id",
    time_field: options.TimeField = None,
    skip_bad: options.SkipBad = False,
    vocabulary: options.Vocabulary = 20_000,
    hash: options.Hash = None,
    quiet: options.Quiet = False,
) -> None:
    """Cluster a source in many passes; stop whenever you like and go on with --resume.

    Writes one JSON line per row at the end: id, cluster and its probability.

    For sources larger than memory: --engine memoizedvb or fullvb (of .npy also stochasticvb).
    With --dask ADDRESS the rows are shared among the workers of a cluster.
    """
    prior = usual_prior(engine) if prior is None else prior
    settings = FitSettings.of(locals())
    path = default_checkpoint(source) if checkpoint is None else checkpoint
    given, fitting = given_options(context), None
    with stoppable(lambda: _farewell(fitting, dask)) as stop:
        with stop.allowed():
            from evermix.cli.input.cluster import cluster
            from evermix.cli.runs.fit import Fitting
        with cluster(dask) as place:
            with stop.allowed():
                fitting = open_run(
                    lambda: Fitting.begin(settings, path, quiet, place),
                    lambda: Fitting.resume(settings, given, path, quiet, place),
                    settings,
                    path,
                    resume=resume,
                    overwrite=overwrite,
                )
            with fitting:
                _run(fitting, stop, every, quiet)


def _run(fitting: "Fitting", stop: Stop, every: int | None, quiet: bool) -> None:
    """Learn until the engine has finished, and leave a checkpoint whatever ends it."""
    began, engine = time.perf_counter(), fitting.engine
    title = f"{fitting.settings.engine} {engine.lap_name}s"
    try:
        with lap_progress(title, engine.max_laps, quiet) as progress:

            def show(laps: float, info: "Info") -> None:
                progress.update(laps, info.K, _described(info, fitting.log.last))

            with stop.allowed():  # engines let a signal wait until their step is whole
                fitting.learn(show, every)
    except Stopped:
        if fitting.learnt:
            fitting.save()
        raise
    fitting.save()
    seconds = time.perf_counter() - began
    with stop.allowed():
        fitting.write_rows()
    if not quiet:
        facts = [*_facts(fitting), f"{seconds:.1f} s", f"checkpoint {fitting.checkpoint}"]
        note(summary(facts, fitting.rows.complaints))


def _described(info: "Info", lap: "Info | None") -> str:
    """Say how well a step, or the last whole lap, explains the rows; nothing if neither tells."""
    if lap is not None and "elbo" in lap.scalars:
        moves = (("born", lap.births), ("merged", lap.merges), ("dropped", lap.dropped))
        told = [f"ELBO {lap.scalars['elbo']:,.1f}"]
        return ", ".join(told + [f"{len(ids):,} {move}" for move, ids in moves if ids])
    if "log_joint" in info.scalars:
        return f"log joint {info.scalars['log_joint']:,.1f}"
    if not info.rows:
        return ""
    return f"log predictive {info.log_predictive / info.rows:.3f} per row"


def _facts(fitting: "Fitting") -> Iterator[str]:
    """Yield what came of a fit, in the order in which people ask."""
    mix, last = fitting.mix, fitting.log.last
    rows = fitting.rows
    skipped = f", {rows.skipped:,} blank or bad rows skipped" if rows.skipped else ""
    yield f"{rows.n:,} rows{skipped}"
    yield f"{mix.n_clusters_:,} clusters"
    yield _laps(fitting)
    bound = fitting.engine.lower_bound(mix.state_)
    if bound is not None:
        yield f"ELBO {bound:,.2f}, {bound / rows.n:.3f} per row"
    elif last is not None:
        held = fitting.held
        yield f"log predictive {last.log_predictive / (last.rows - held):.3f} per row"
        if held:
            yield f"{last.scalars['held_out'] / held:.3f} per row held out"
    if fitting.engine.draws(mix.state_) is not None:
        yield from _of_draws(fitting)


def _of_draws(fitting: "Fitting") -> Iterator[str]:
    """Yield what the draws of a sampler say, and how far they can be trusted if ArviZ is there."""
    draws = fitting.mix.posterior_
    chains = f" of {draws.n_chains} chains" if draws.n_chains > 1 else ""
    yield f"E[K] = {draws.n_clusters.mean():.2f} over {draws.n_draws:,} draws{chains}"
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


def _farewell(fitting: "Fitting | None", dask: str | None) -> str:
    """Say how far a fit came that ended early, and how to go on."""
    if fitting is None or not fitting.learnt:
        return "Nothing was learnt yet."
    more = [] if dask is None else ["--dask", dask]
    return farewell("fit", fitting.settings, fitting.checkpoint, f"after {_laps(fitting)}", *more)


def _laps(fitting: "Fitting") -> str:
    """Say how many laps are done, and of how many if there may be more."""
    done, most = fitting.mix.state_.lap, fitting.engine.max_laps
    of = f" of at most {most:,}" if done < most else ""
    return f"{done:,}{of} {fitting.engine.lap_name}{'s' * (most > 1)}"
