"""The log of a model: what is in it stays, what is not whole goes."""

import os

import pytest

from evermix.service.log import Log, LogError, Record


def _record(number):
    return Record(number, 1.5 * number, "learn", "json", f"body\n{number}".encode())


def _written(folder, *groups):
    log = Log(folder)
    log.resume(1)
    for group in groups:
        log.append([_record(number) for number in group])
    log.close()
    (path,) = folder.glob("log-*")
    return path


def test_records_come_back(tmp_path):
    _written(tmp_path, [1], [2, 3])
    _written(tmp_path, [4])
    assert list(Log(tmp_path).records(0)) == [_record(number) for number in (1, 2, 3, 4)]
    assert [record.number for record in Log(tmp_path).records(2)] == [3, 4]


def test_a_torn_group_is_cut_off_wherever_it_was_torn(tmp_path):
    path = _written(tmp_path, [1])
    whole = path.stat().st_size
    _written(tmp_path, [2, 3])
    content = path.read_bytes()
    for size in range(whole + 1, len(content)):
        path.write_bytes(content[:size])
        with pytest.warns(RuntimeWarning, match="not written whole"):
            assert list(Log(tmp_path).records(0)) == [_record(1)]
        assert path.stat().st_size == whole
    _written(tmp_path, [2])  # and it goes on
    assert len(list(Log(tmp_path).records(0))) == 2


def test_a_group_that_was_never_filled_is_cut_off(tmp_path):
    path = _written(tmp_path, [1])
    path.write_bytes(path.read_bytes() + bytes(5000))
    with pytest.warns(RuntimeWarning, match="not written whole"):
        assert list(Log(tmp_path).records(0)) == [_record(1)]


def test_damage_before_the_end_is_an_error(tmp_path):
    path = _written(tmp_path, [1], [2], [3])
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(content)
    with pytest.raises(LogError, match="damaged at byte"):
        list(Log(tmp_path).records(0))
    assert path.read_bytes() == content


def test_missing_records_are_an_error(tmp_path):
    _written(tmp_path, [5])
    with pytest.raises(LogError, match="records 3 to 4 are missing"):
        list(Log(tmp_path).records(2))


def test_a_new_file_takes_the_place_of_the_old_one(tmp_path):
    log = Log(tmp_path)
    log.resume(1)
    log.append([_record(1), _record(2)])
    log.begin(3)
    log.append([_record(3)])
    log.close()
    assert [path.name for path in tmp_path.iterdir()] == [f"log-{3:020d}"]
    assert list(Log(tmp_path).records(2)) == [_record(3)]


def test_a_file_that_was_just_begun_goes_on(tmp_path):
    _written(tmp_path, [1, 2])
    (tmp_path / f"log-{3:020d}").write_bytes(b"ever")
    log = Log(tmp_path)
    assert len(list(log.records(0))) == 2
    log.resume(3)
    log.append([_record(3)])
    log.close()
    assert [record.number for record in Log(tmp_path).records(0)] == [1, 2, 3]


def test_what_could_not_be_synced_is_taken_back(tmp_path, monkeypatch):
    log = Log(tmp_path)
    log.resume(1)
    log.append([_record(1)])

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(LogError, match="No space"):
            log.append([_record(2)])
    with pytest.raises(LogError, match="Restart"):
        log.append([_record(2)])
    log.close()
    assert list(Log(tmp_path).records(0)) == [_record(1)]
