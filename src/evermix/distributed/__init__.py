"""Batches on the workers of a Dask cluster; only this folder imports Dask.

Every worker has an *actor*, which keeps the batches of a run of rows and what an engine remembers
of them (a :class:`~evermix.engines.shards.Shard`). Tasks go to the actors; their results come back
and are combined here, where all decisions are made. If a worker is lost, another one reads its rows
again and repeats the tasks whose results its batches remember.
"""
