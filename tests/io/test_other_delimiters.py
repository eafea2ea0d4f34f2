"""Cells between marks that no delimiter of ours is are an error that names the mark."""

import pytest

from evermix.io.sources.layout import other_delimiter
from helpers.commands import evermix


@pytest.mark.parametrize("mark", "~^#:!")
def test_the_mark_is_named(tmp_path, mark):
    file = tmp_path / "claims.csv"
    rows = ([f"{i * 37 % 83 / 7:.2f}", "xy"[i % 3 == 0], "ab"[i % 2]] for i in range(100))
    lines = [["paid", "kind", "town"], *rows]
    file.write_text("\n".join(map(mark.join, lines)))
    said = evermix("fit", file, "--checkpoint", tmp_path / "m.evermix", status=1).stderr
    assert "only one column was found" in said
    assert f"seems to have {mark!r} between them" in said
    file.write_text(f"sep={mark}\n{file.read_text()}")
    evermix("fit", file, "--checkpoint", tmp_path / "m.evermix")


def test_one_column_of_texts_or_names_is_none():
    assert other_delimiter("first_name_here", ["Ann", "Bob_X"]) is None
    assert other_delimiter("remark", ["a~b~c"]) is None
    assert other_delimiter("a~b~c", []) is None
    assert other_delimiter("a~b~c", ["1~2~3", "1~2~3~4"]) is None
    assert other_delimiter("a~b~c", ["1~2~3", "4~5~6"]) == "~"
