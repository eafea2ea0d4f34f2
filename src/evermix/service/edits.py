"""What people do with clusters: the bodies of their requests, and the changes."""

from typing import Any

from evermix.estimators import Mixture
from evermix.estimators.mixture.held import absent, cluster_id
from evermix.hand import MERGE, NOTHING_TO_UNDO, PIN, RENAME, SPLIT, UNDO, UNPIN
from evermix.service.bodies import BodyError, checked_id, parsed_object, shown, whole

EDITS = {  # by action: the entries of its body
    RENAME: ("cluster", "name", "id"),
    MERGE: ("clusters", "pin", "id"),
    SPLIT: ("cluster", "pin", "id"),
    PIN: ("cluster", "id"),
    UNPIN: ("cluster", "id"),
    UNDO: ("id",),
}
MOST_MERGED = 1000
LISTED = "GET clusters lists those that there are"


def parsed_edit(action: str, body: bytes) -> dict[str, Any]:
    """Return the entries of the body of an edit, or raise BodyError.

    Its clusters are ``clusters``, in any case: ids or names.
    """
    given = {"pin": True} | parsed_object(body, EDITS[action])
    given["id"] = checked_id(given.get("id"))
    if action == UNDO:
        return given | {"clusters": []}
    if action == RENAME and "name" not in given:
        raise BodyError("a name is missing; null takes the name of a cluster away.")
    ids = given.get("clusters") if action == MERGE else [given.get("cluster")]
    if not isinstance(ids, list) or not 0 < len(ids) <= MOST_MERGED:
        raise BodyError("clusters must be a list of two or more ids or names.")
    given["clusters"] = list(map(whole, ids))
    for cluster in given["clusters"]:
        if type(cluster) not in (int, str):
            raise BodyError(
                f"a cluster is called by its id, a whole number, or its name, got {shown(cluster)}."
            )
    if type(given["pin"]) is not bool:
        raise BodyError(f"pin must be true or false, got {shown(given['pin'])}.")
    if not isinstance(given.get("name"), str | None):
        raise BodyError(f"name must be a string or null, got {shown(given['name'])}.")
    return given


def check_edit(mix: Mixture, action: str, given: dict[str, Any], begun: bool) -> dict[str, Any]:
    """Return an edit with the ids of its clusters in place of names.

    Raises BodyError if a model, which has ``begun`` to learn or not, cannot be changed so.
    """
    if action == UNDO and not (begun and mix.learner_.before):
        raise BodyError(NOTHING_TO_UNDO)
    known = set(mix.cluster_ids_.tolist() if begun else [])
    called = given["clusters"]
    if not known and called:
        raise BodyError(f"there is no cluster {called[0]} yet; {LISTED}.")
    try:
        ids = [cluster_id(mix, cluster) for cluster in called]
    except ValueError as error:
        raise BodyError(str(error)) from error
    for cluster in ids:
        if cluster not in known:
            raise BodyError(absent(mix.lineage_, cluster, LISTED))
    return given | {"clusters": ids}


def edited(mix: Mixture, action: str, given: dict[str, Any]) -> dict[str, Any]:
    """Change clusters, and return what was done."""
    ids, pin = given["clusters"], given["pin"]
    done: dict[str, Any] = {"action": action}
    if action == UNDO:
        undone = mix.undo()
        return done | {"cluster": undone.ids[0], "undone": undone.what}
    if action == MERGE:
        return done | {"cluster": mix.merge_clusters(ids, pin=pin), "merged": ids[1:]}
    done["cluster"] = ids[0]
    if action == SPLIT:
        return done | {"new": mix.split_cluster(ids[0], pin=pin)}
    if action == RENAME:
        mix.rename(ids[0], given["name"])
        return done | {"name": given["name"]}
    (mix.pin if action == PIN else mix.unpin)(ids[0])
    return done | {"pinned": action == PIN}
