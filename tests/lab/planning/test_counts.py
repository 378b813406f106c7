"""Counts: what is read of a file, and what is said of a bad one."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyarms.lab.planning.counts import read_counts

pytestmark = pytest.mark.once

GOOD = "item,plays,reward\na,10,1\nb,20,3\n"


def written(tmp_path, text, name="counts.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_rows_of_an_item_are_summed_and_those_without_plays_left_out(tmp_path):
    found = read_counts(written(tmp_path, GOOD + "a,10,1\na,10,1\nc,0,0\n"))
    assert found.items == ("a", "b")
    assert (found.plays.tolist(), found.reward.tolist()) == ([30.0, 20.0], [3.0, 3.0])
    assert found.past_rate == 0.12
    assert found.history is None
    assert found.delays is None


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("Headline,Impressions,Clicks", {}),
        ("sku;views;purchases", {}),
        ("creative\tshown\tconversions", {}),
        ("\ufeffid, trials ,wins", {}),
        ("what,n,paid", {"item": "what", "plays": "n", "reward": "paid"}),
        ("item,views,plays", {"plays": "views", "reward": "plays"}),
    ],
)
def test_columns_have_usual_names_or_those_that_are_given(tmp_path, header, columns):
    separator = max(",;\t", key=header.count)
    rows = "\n".join(separator.join(row) for row in (("a", "10", "1"), ("b", "20", "3.5")))
    found = read_counts(written(tmp_path, f"{header}\n{rows}"), columns)
    assert (found.plays.tolist(), found.reward.tolist()) == ([10.0, 20.0], [1.0, 3.5])


def test_a_frame_a_mapping_csv_and_parquet_are_the_same(tmp_path):
    frame = pd.DataFrame({"item": [3, 1, 3], "plays": [5, 6, 7], "reward": [1, 0, 2], "day": ["2026-03-02"] * 3})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.assign(day=pd.to_datetime(frame["day"])).to_parquet(tmp_path / "a.parquet")
    sources = [frame, frame.to_dict("list"), tmp_path / "a.csv", str(tmp_path / "a.parquet")]
    found = [read_counts(source) for source in sources]
    for one in found:
        assert one.items == ("1", "3")
        assert one.plays.tolist() == [6.0, 12.0]
        assert one.history.plays.tolist() == [6.0, 12.0]


def test_rows_are_put_in_order_of_time_and_know_the_plays_before_them():
    rows = {"item": list("abab"), "time": [3, 1, 1, 2], "plays": [4, 5, 6, 7], "reward": [0, 1, 2, 3]}
    history = read_counts(rows).history
    assert history.item.tolist() == [0, 0, 1, 1]
    assert history.before.tolist() == [0.0, 6.0, 0.0, 5.0]
    assert history.reward.tolist() == [2.0, 0.0, 1.0, 3.0]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(1, 50), st.floats(0, 1)), min_size=1))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_no_play_and_no_reward_is_lost_however_rows_are_put_together(drawn):
    drawn = [*drawn, (0, 0, 1, 1.0), (1, 0, 1, 0.0)]
    item, time, plays, share = (np.array(part) for part in zip(*drawn, strict=True))
    found = read_counts({"item": item, "time": time, "plays": plays, "reward": plays * share})
    history = found.history
    assert np.bincount(history.item, history.plays) == pytest.approx(found.plays)
    assert np.bincount(history.item, history.reward) == pytest.approx(found.reward)
    for place in range(len(found.items)):
        mine = history.item == place
        assert history.before[mine] == pytest.approx(np.cumsum(history.plays[mine]) - history.plays[mine])


def test_delays_in_units_of_time_become_rounds():
    rows = {"item": list("abab"), "day": [0, 0, 1, 1], "plays": [30] * 4, "reward": [1] * 4, "delay": [0.5, 0.5, 1, 2]}
    assert read_counts(rows).delays.tolist() == [30.0, 30.0, 60.0, 120.0]  # 60 plays a day
    del rows["day"]
    assert read_counts(rows).delays.tolist() == [0.5, 0.5, 1.0, 2.0]


@pytest.mark.parametrize(("unit", "plays"), [("1500.0", 1500.0), ("1500.000", 1500.0), ("1e3", 1000.0), (" 12 ", 12.0)])
def test_plays_are_whole_however_they_are_written(tmp_path, unit, plays):
    assert read_counts(written(tmp_path, f"item,plays,reward\na,{unit},1\nb,20,3\n")).plays[0] == plays


def test_blanks_around_a_name_are_no_part_of_it_and_that_is_said_if_it_puts_items_together(tmp_path):
    found = read_counts(written(tmp_path, GOOD + "a ,5,1\n c,1,1\n"))
    assert found.items == ("a", "b", "c")
    assert (found.plays.tolist(), found.reward.tolist()) == ([15.0, 20.0, 1.0], [2.0, 3.0, 1.0])
    assert found.notes == (
        "1 item is written with blanks and without, such as 'a' and 'a ': rows of both are added up.",
    )
    assert read_counts(written(tmp_path, GOOD + " c,1,1\n")).notes == ()


LOG = "article,clicks\na,1\na,0\nb,0\nb,True\nc,false\n"


def test_without_plays_each_row_is_one_and_that_is_said(tmp_path):
    found = read_counts(written(tmp_path, LOG))
    assert (found.plays.tolist(), found.reward.tolist()) == ([2.0, 2.0, 1.0], [1.0, 1.0, 0.0])
    assert found.notes == (
        "No column looks like plays (there are 'article', 'clicks'), so each of the 5 rows is taken for one play.",
    )
    frame = pd.DataFrame({"article": list("aabbc"), "clicks": [True, False, False, True, False]})
    assert read_counts(frame).reward.tolist() == found.reward.tolist()


def summed(rows, times=1):
    """A row of the sum of all others, at each time."""
    lines = [f"{item},{time},{plays},{reward + time}" for time in range(times) for item, plays, reward in rows]
    plays, reward = sum(row[1] for row in rows), sum(row[2] for row in rows)
    lines += [f"Every one,{time},{plays},{reward + len(rows) * time}" for time in range(times)]
    return "\n".join(["item,week,plays,reward", *lines])


ROWS = [("a", 10, 1.25), ("b", 20, 3), ("c", 30, 2)]


@pytest.mark.parametrize(("times", "row", "values"), [(1, 4, "(plays 60, reward 6.25)"), (3, 10, "of its time (plays")])
def test_a_sum_of_all_others_is_no_item(tmp_path, times, row, values):
    with pytest.raises(ValueError, match=rf"'item', row {row} below .* not 'Every one'; leave rows of sums") as error:
        read_counts(written(tmp_path, summed(ROWS, times)))
    assert values in str(error.value)


def test_what_may_be_a_sum_by_chance_or_has_the_name_of_one_is_an_item(tmp_path):
    found = read_counts(written(tmp_path, summed(ROWS[:2])))  # one of three that is the sum of the others
    assert len(found.items) == 3
    found = read_counts(written(tmp_path, summed(ROWS, times=3).removesuffix("Every one,2,60,12.25")))
    assert len(found.items) == 4
    found = read_counts(written(tmp_path, GOOD + "Total,99,9\nNULL,5,1\n"))
    assert len(found.items) == 4
    assert found.notes == (
        "Of items called 'NULL', 'Total', leave the rows out if they are sums of others, or of no item.",
    )


def test_counts_that_are_no_whole_numbers_are_pointed_out(tmp_path):
    text = "item,plays,clicks\na,100,3.2\nb,200,4\n"
    assert "'clicks' has values such as 3.2" in read_counts(written(tmp_path, text)).notes[0]
    assert read_counts(written(tmp_path, text.replace("clicks", "reward"))).notes == ()


def test_items_may_be_the_index_of_a_frame_or_of_a_parquet_file(tmp_path):
    frame = pd.DataFrame({"item": [3, 1, 3], "plays": [5, 6, 7], "reward": [1, 0, 2]}).groupby("item").sum()
    frame.to_parquet(tmp_path / "a.parquet")
    for source in (frame, tmp_path / "a.parquet"):
        found = read_counts(source)
        assert (found.items, found.plays.tolist()) == (("1", "3"), [6.0, 12.0])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"item": ["a", None, "b"], "plays": [1, 2, 3], "reward": [1, 1, 1]}, ["'item', row 2", "must be an item"]),
        ({"item": [1, None, 2], "plays": [1, 2, 3], "reward": [1, 1, 1]}, ["'item', row 2", "must be an item"]),
        ({"item": list("ab"), "plays": [1.5, 2], "reward": [1, 1]}, ["'plays', row 1", "whole number", "1.5;"]),
        ({"item": list("ab"), "plays": [1, 2, 3], "reward": [1, 1]}, ["of the same length"]),
        ({"item": "a", "plays": 1, "reward": 1}, ["must be a list"]),
        (
            {"item": list("ab"), "plays": pd.to_datetime(["2026-03-01"] * 2), "reward": [1, 1]},
            ["'plays', row 1", "no date", "the right column"],
        ),
    ],
)
def test_a_bad_frame_is_named_as_a_bad_file_is(source, words):
    with pytest.raises(ValueError, match="the counts: ") as error:
        read_counts(source)
    for word in words:
        assert word in str(error.value)


BAD = {
    "no such column": ("item,plays\na,1\nb,1\n", ["no column looks like reward", "'item', 'plays'", "--reward COLUMN"]),
    "no plays": ("item,reward\na,1\nb,1\n", ["no column looks like plays", "column of ones"]),
    "two that could be": (
        "item,plays,clicks,conversions\na,9,1,1\nb,9,1,1\n",
        ["'clicks' and 'conversions'", "--reward"],
    ),
    "twice the same": ("item,plays,reward,reward \na,9,1,1\nb,9,1,1\n", ["two columns 'reward'", "rename"]),
    "a text": ("item,plays,reward\na,10,1\nb,many,3\n", ["'plays', row 2", "'many'", "without units"]),
    "thousands": ('item,plays,reward\na,10,1\nb,"1,200",3\n', ["'plays', row 2", "'1,200'"]),
    "nothing": ("item,plays,reward\na,10,\nb,20,3\n", ["'reward', row 1", "missing", "leave the row out"]),
    "not a number": ("item,plays,reward\na,10,nan\nb,20,3\n", ["'reward', row 1", "'nan'"]),
    "infinite": ("item,plays,reward\na,inf,1\nb,20,3\n", ["'plays', row 1", "finite"]),
    "a point between thousands": (
        "item,plays,reward\na,10,1\nb,1.500,1\n",
        ["'plays', row 2", "'1.500'", "write 1500"],
    ),
    "thousands that look whole": (
        "item,plays,reward\na,10,1\nb,2.000,1\n",
        ["'plays', row 2", "'2.000'", "write 1500"],
    ),
    "half a play": ("item,plays,reward\na,12.5,1\nb,20,1\n", ["'plays', row 1", "whole number", "'12.5'"]),
    "a decimal comma": ("item;plays;reward\na;10;3,5\nb;20;1\n", ["'reward', row 1", "'3,5'", "a point before"]),
    "a share": ("item,plays,reward\na,100,3 %\nb,200,4 %\n", ["'reward', row 1", "'3 %'", "together, not a share"]),
    "sums without plays": (
        "item,visits,clicks\na,9,1\na,9,4\nb,7,1\n",
        ["'clicks', row 2", "'4'", "no column looks like plays", "--plays COLUMN"],
    ),
    "two of one name": ("item,plays,plays,reward\na,9,1,1\nb,9,1,1\n", ["two columns 'plays'", "rename"]),
    "an open quotation mark": ('item,plays,reward\na,9,1\n"b,9,1\n', ["mark in line 3 is not closed"]),
    "a line above the header": ("Export of March\nitem,plays,reward\na,9,1\n", ["line 2 has 3 values", "line 1 has 1"]),
    "only ends of lines": ("\n\n", ["is empty"]),
    "negative": ("item,plays,reward\na,10,1\nb,20,-3\n", ["'reward', row 2", "negative", "'-3'"]),
    "more than plays": ("item,plays,reward\na,10,1\nb,20,21\n", ["'reward', row 2", "(20)", "'21'", "from 0 to 1"]),
    "no name": ("item,plays,reward\na,10,1\n ,20,2\n", ["'item', row 2", "must be an item"]),
    "no rows": ("item,plays,reward\n", ["no rows"]),
    "empty": ("", ["is empty"]),
    "one item": ("item,plays,reward\na,10,1\na,20,2\n", ["one item", "is it the right column"]),
    "never played": ("item,plays,reward\na,0,0\nb,0,0\n", ["'plays' is 0 in all rows"]),
    "never paid": ("item,plays,reward\na,5,0\nb,5,0\n", ["'reward' is 0 in all rows"]),
    "a bad time": ("item,time,plays,reward\na,1,9,1\nb,soon,9,1\n", ["'time', row 1", "2026-03-01"]),
    "too long a row": ("item,plays,reward\na,5,0\nb,5,0,7,8\n", ["cannot be read as CSV", "as many values"]),
    "too short a row": ("item,plays,reward\na,5,1\nb,5\n", ["'reward', row 2", "a number is missing"]),
    "no CSV": (b"\x89PNG\r\n\x1a\n\xff\xfe\x00\x01", ["neither a CSV file in UTF-8 nor a Parquet"]),
    "half a Parquet": (b"PAR1 and no more", ["Parquet file cannot be read"]),
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_named_with_the_place_and_the_remedy(tmp_path, text, words):
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=re.escape(str(path))) as error:
        read_counts(path)
    for word in words:
        assert word in str(error.value)


def test_what_is_no_file_or_has_no_such_column_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv: there is no such file"):
        read_counts(tmp_path / "nowhere.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_counts(tmp_path)
    with pytest.raises(TypeError, match="not 7"):
        read_counts(7)
    with pytest.raises(ValueError, match=r"no column 'hits' .for reward.; there are 'item', 'plays', 'reward'"):
        read_counts(written(tmp_path, GOOD), {"reward": "hits"})
    with pytest.raises(ValueError, match="not 'cost'"):
        read_counts(written(tmp_path, GOOD), {"cost": "plays"})
