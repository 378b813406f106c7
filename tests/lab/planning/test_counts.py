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
@settings(max_examples=50, deadline=None)
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
