import numpy as np
import pytest

from skchmm.datasets import load_casas, load_ordonez

EVENTS = """\
2010-11-04 00:03:50.5 M003 ON Sleeping begin
2010-11-04 00:03:57 M003 OFF
2010-11-04 05:40:43.25 T004 21.5

2010-11-04 05:41:00 M004 ON Bed_to_Toilet begin
2010-11-04 05:42:00 M004 OFF Bed_to_Toilet end
2010-11-04 05:43:00 M003 OFF Sleeping end
2010-11-04 06:00:00 D001 Kitchen OPEN
2010-11-05 03:00:00 M005 Kitchen ON Meal="begin"
2010-11-05 03:30:00 M005 Kitchen OFF Meal="end"
2010-11-05 08:00:00 M006 ON Work
"""


@pytest.fixture
def casas(tmp_path):
    path = tmp_path / "home.txt"
    path.write_text(EVENTS)
    return path


def test_casas_events_by_day(casas):
    data = load_casas(casas)
    assert data.groups.tolist() == ["2010-11-04", "2010-11-05"]
    assert data.X[0].tolist() == ["M003", "M003", "T004", "M004", "M004", "M003", "D001"]
    assert data.X[1].tolist() == ["M005", "M005", "M006"]
    sleep, toilet = "Sleeping", "Bed_to_Toilet"
    assert data.y[0].tolist() == [sleep, sleep, sleep, toilet, toilet, sleep, "IDLE"]
    assert data.y[1].tolist() == ["Meal", "Meal", "Work"]
    assert data.times[0][:3].tolist() == [230.5, 237.0, 5 * 3600 + 40 * 60 + 43.25]
    assert data.states == (toilet, "Meal", sleep, "Work", "IDLE")
    assert data.symbols == ("D001", "M003", "M004", "M005", "M006", "T004")


def test_casas_options(casas):
    data = load_casas(casas, values=True, idle="none", day_start=4)
    assert data.ids.tolist() == ["2010-11-03", "2010-11-04", "2010-11-05"]
    assert [x.tolist() for x in data.X] == [
        ["M003=ON", "M003=OFF"],
        ["T004", "M004=ON", "M004=OFF", "M003=OFF", "D001=OPEN", "M005=ON", "M005=OFF"],
        ["M006=ON"],
    ]
    assert data.y[1][4] == "none"
    assert data.times[2].tolist() == [4 * 3600]
    assert data.times[1][-1] == 23.5 * 3600
    X, y = load_casas(casas, return_X_y=True)
    assert len(X) == len(y) == 2
    with pytest.raises(ValueError, match="day_start"):
        load_casas(casas, day_start=24)


def test_casas_events_are_sorted_within_a_day(tmp_path):
    path = tmp_path / "home.txt"
    path.write_text(
        "2010-11-04 08:00:00 M2 ON\n2010-11-04 07:00:00 M1 ON\n2010-11-04 08:00:00 M3 ON\n"
    )
    data = load_casas(path)
    assert data.X[0].tolist() == ["M1", "M2", "M3"]
    assert data.y is None
    assert data.states == ()


def test_casas_end_without_begin(tmp_path):
    path = tmp_path / "home.txt"
    path.write_text("2010-11-04 08:00:00 M2 ON\n2010-11-04 09:00:00 M1 ON Work end\n")
    with pytest.warns(UserWarning, match="1 activities end without a begin, the first in line 2"):
        data = load_casas(path)
    assert data.y[0].tolist() == ["IDLE", "Work"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2010-11-04 08:00:00 M2", "expected 'date time sensor"),
        ("2010-11-04 8am M2 ON", "no date and time"),
        ("2010-11-04 08:00:00 M2 ON Work started", "begin or end, got 'Work started'"),
        ("2010-11-04 08:00:00 M2 ON Work begin now", "begin or end"),
    ],
)
def test_casas_malformed_lines(casas, line, message):
    casas.write_text(EVENTS + line + "\n")
    with pytest.raises(ValueError, match=rf"home\.txt, line 12: .*{message}"):
        load_casas(casas)


def test_casas_empty_file(casas):
    casas.write_text("\n")
    with pytest.raises(ValueError, match="no events"):
        load_casas(casas)


SENSORS = """\
Start time          \tEnd time            \tLocation\tType\t\tPlace
--------------------\t--------------------\t--------\t--------\t-----
2012-11-11 21:14:21\t2012-11-12 00:21:49\tSeat\tPressure\tLiving
2012-11-11 21:14:00\t2012-11-11 21:14:05\tDoor\tPIR\tLiving
2012-11-12 00:23:14\t2012-11-12 00:23:17\tDoor\tPIR\tKitchen
"""
ADLS = """\
Start time          \tEnd time            \tActivity
--------------------\t--------------------\t--------
2012-11-11 21:14:00\t\t2012-11-12 00:22:59\t\tSpare_Time/TV
2012-11-12 00:21:00\t\t2012-11-12 00:21:59\t\tToileting
"""


@pytest.fixture
def ordonez(tmp_path):
    sensors, adls = tmp_path / "Sensors.txt", tmp_path / "ADLs.txt"
    sensors.write_bytes(SENSORS.replace("\n", "\r\n").encode())
    adls.write_text(ADLS)
    return sensors, adls


def test_ordonez_events_by_day(ordonez):
    data = load_ordonez(*ordonez)
    assert [x.tolist() for x in data.X] == [
        ["Door/PIR/Living", "Seat/Pressure/Living"],
        ["Door/PIR/Kitchen"],
    ]
    assert [y.tolist() for y in data.y] == [["Spare_Time/TV"] * 2, ["IDLE"]]
    assert data.times[0].tolist() == [21 * 3600 + 14 * 60, 21 * 3600 + 14 * 60 + 21]
    assert data.groups.tolist() == ["2012-11-11", "2012-11-12"]
    assert data.states == ("Spare_Time/TV", "IDLE")


def test_ordonez_options(ordonez):
    X, y = load_ordonez(*ordonez, with_ends=True, day_start=4, return_X_y=True)
    assert X[0].tolist() == [
        "Door/PIR/Living=ON",
        "Door/PIR/Living=OFF",
        "Seat/Pressure/Living=ON",
        "Seat/Pressure/Living=OFF",
        "Door/PIR/Kitchen=ON",
        "Door/PIR/Kitchen=OFF",
    ]
    # Toileting began last.
    assert y[0].tolist() == ["Spare_Time/TV"] * 3 + ["Toileting", "IDLE", "IDLE"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2012-11-11 21:14:21\t2012-11-12 00:21:49\tSeat", "expected start date"),
        ("2012-11-11\t21h\t2012-11-12 00:21:49\tSeat\tPressure\tLiving", "expected start date"),
        ("2012-11-12 21:14:21\t2012-11-12 00:21:49\tSeat\tPressure\tLiving", "before it starts"),
    ],
)
def test_ordonez_malformed_lines(ordonez, line, message):
    ordonez[0].write_text(SENSORS + line + "\n")
    with pytest.raises(ValueError, match=rf"Sensors\.txt, line 6: .*{message}"):
        load_ordonez(*ordonez)


def test_ordonez_needs_its_header(ordonez):
    ordonez[1].write_text("".join(ADLS.splitlines(keepends=True)[2:]))
    with pytest.raises(ValueError, match=r"ADLs\.txt, line 1: expected the header"):
        load_ordonez(*ordonez)
    ordonez[1].write_text(ADLS.replace("--", "=="))
    with pytest.raises(ValueError, match=r"ADLs\.txt, line 2: expected dashes"):
        load_ordonez(*ordonez)


def test_symbols_and_labels_are_plain_string_arrays(casas, ordonez):
    for data in (load_casas(casas), load_ordonez(*ordonez)):
        assert all(x.dtype.kind == "U" for x in (*data.X, *data.y))
        assert all(np.all(np.diff(times) >= 0) for times in data.times)


BACKWARDS = "2012-11-12 05:00:0{}\t2012-11-12 04:00:00\tDoor\tPIR\tLiving\n"


def test_all_bad_rows_of_ordonez_are_listed_or_skipped(ordonez):
    sensors, adls = ordonez
    sensors.write_text(SENSORS + "".join(BACKWARDS.format(k) for k in range(3)) + "what\n")
    with pytest.raises(ValueError, match="4 bad rows; on_bad_rows='skip'") as caught:
        load_ordonez(sensors, adls)
    assert [f"line {n}: " in str(caught.value) for n in range(5, 11)] == [False] + [True] * 4 + [
        False
    ]
    with pytest.warns(UserWarning, match=r"4 bad rows were skipped, the first is line 6: the int"):
        data = load_ordonez(sensors, adls, on_bad_rows="skip")
    sensors.write_text(SENSORS)
    wanted = load_ordonez(sensors, adls)
    assert [x.tolist() for x in data.X] == [x.tolist() for x in wanted.X]


def test_many_bad_rows_are_not_all_listed(ordonez):
    sensors, adls = ordonez
    sensors.write_text(SENSORS + BACKWARDS.format(0) * 1000)
    with pytest.raises(ValueError, match="1000 bad rows") as caught:
        load_ordonez(sensors, adls)
    assert "and 980 more" in str(caught.value) and len(str(caught.value)) < 5000


def test_bad_rows_of_casas_are_listed_or_skipped(casas):
    wanted = load_casas(casas)
    casas.write_text("oops\n" + EVENTS + "2010-11-04 8am M2 ON\n")
    with pytest.raises(ValueError, match=r"(?s)2 bad rows.*line 1: .*line 13: "):
        load_casas(casas)
    with pytest.warns(UserWarning, match=r"2 bad rows were skipped, the first is line 1: expected"):
        data = load_casas(casas, on_bad_rows="skip")
    assert [x.tolist() for x in data.y] == [x.tolist() for x in wanted.y]


@pytest.mark.parametrize("load", [load_casas, lambda path: load_ordonez(path, path)])
def test_files_that_are_no_text(tmp_path, load):
    path = tmp_path / "home.txt"
    for content, problem in (
        (b"", "empty|no events"),
        (b"a b\n\xff\xfe\x00\x80", r"home\.txt is not a text in UTF-8: .* in line 2"),
        (b"\x1f\x8b\x08broken", r"home\.txt is damaged"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=problem):
            load(path)


@pytest.mark.parametrize("day_start", [-1, 24, "6", None, np.nan])
def test_hours_of_the_day(casas, day_start):
    with pytest.raises(ValueError, match="day_start is an hour"):
        load_casas(casas, day_start=day_start)


def test_bad_rows_of_both_files_are_in_one_message(tmp_path):
    head = "Start time  End time\n----------  --------\n"
    good, bad = (
        "2011-11-28 02:27:59  2011-11-28 10:18:11  ",
        "2011-11-28 10:21:24  2011-11-28 10:20:36  ",
    )
    sensors, adls = tmp_path / "sensors.txt", tmp_path / "adls.txt"
    place, activity = "Bed Pressure Bedroom\n", "Sleeping\n"
    sensors.write_text(head + good + place + bad + place + bad + place)
    adls.write_text(head + good + activity + bad + activity)
    with pytest.raises(ValueError, match=r"(?s)sensors.txt, 2 bad rows.*line 5.*adls.txt, line 4"):
        load_ordonez(sensors, adls)
    with pytest.warns(UserWarning) as seen:
        home = load_ordonez(sensors, adls, on_bad_rows="skip")
    assert [w.filename for w in seen] == [__file__] * 2
    assert home.y[0].tolist() == ["Sleeping"]
