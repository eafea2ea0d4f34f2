"""Batches on the workers of a Dask cluster: the one folder that knows Dask.

A *holder* is an actor on a worker: it holds the batches of a run of rows, and what is remembered of
them (an :class:`~evermix.engines.shards.Shard`). Tasks go to the holders, answers come back and are
joined here, where everything is decided. If a worker is lost, another reads its rows anew from
where they came from, and does again what its batches remember.
"""
