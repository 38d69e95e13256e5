"""Groups of users and items by a column: categories, lists, numbers, other types of ids."""

import polars as pl
import pytest

from recassay.data.memberships import Memberships
from recassay.data.read import has_column, read_items, read_memberships
from recassay.errors import InputError


def members(memberships, ids, what="user"):
    places = memberships.places(pl.Series(ids), what)
    return {name: [ids[at] for at in of] for name, of in zip(memberships.names, places, strict=True)}


def test_rows_of_the_table_come_in_any_order_and_missing_values_are_in_no_group():
    users = pl.DataFrame({"user_id": [3, 1, 2, 4], "country": ["fr", "de", None, "fr"]})
    assert members(Memberships.of(users, "user_id", "country"), [1, 2, 3, 9]) == {"de": [1], "fr": [3]}


def test_an_item_may_be_in_several_groups():
    items = pl.DataFrame({"item_id": ["x", "y"], "genre": ["war|drama", "war"]})
    assert members(Memberships.of(items, "item_id", "genre"), ["x", "y"], "item") == {"drama": ["x"], "war": ["x", "y"]}


def test_few_numbers_are_groups_in_the_order_of_numbers():
    users = pl.DataFrame({"user_id": [1, 2, 3], "age_band": [18, 9, 100]})
    assert Memberships.of(users, "user_id", "age_band").names == ("9", "18", "100")


def test_many_numbers_are_divided_into_quarters():
    users = pl.DataFrame({"user_id": range(100), "age": [None, *range(1, 100)]})
    groups = Memberships.of(users, "user_id", "age")
    assert groups.names == ("1 to 25", "26 to 50", "51 to 75", "76 to 99")
    assert groups.note == "'age' has 99 values: its groups are quartiles"
    assert [len(own) for own in members(groups, list(range(100))).values()] == [25, 25, 25, 24]


def test_a_value_that_many_share_is_in_one_quarter():
    users = pl.DataFrame({"user_id": range(40), "sessions": [0.0] * 25 + [float(n) for n in range(1, 16)]})
    names = Memberships.of(users, "user_id", "sessions").names
    assert names[0] == "0"
    assert len(names) == 3


def test_rows_of_a_log_that_repeat_a_user_count_once():
    log = pl.DataFrame({"user_id": [1, 1, 2], "item_id": [5, 6, 5], "device": ["tv", "tv", "phone"]})
    assert members(read_memberships(log, "device", "users"), [1, 2]) == {"phone": [2], "tv": [1]}


def test_a_csv_with_its_own_names_and_types(tmp_path):
    (tmp_path / "users.csv").write_text("id,country,age\n7,de,30\n8,fr,40\n")
    groups = read_memberships(tmp_path / "users.csv", "age", "users")
    assert members(groups, [7, 8]) == {"30": [7], "40": [8]}
    assert has_column(tmp_path / "users.csv", "country", "users")
    assert not has_column(tmp_path / "users.csv", "city", "users")


def test_a_dict_of_users():
    assert members(read_memberships({"ann": {"country": "de"}}, "country", "users"), ["ann"]) == {"de": ["ann"]}


def test_features_that_were_read_keep_their_columns():
    items = pl.DataFrame({"item_id": [1, 2], "genre": ["a|b", "a"], "mood": ["x|y", "y"]})
    features = read_items(items)
    assert members(read_memberships(features, "mood", "items"), [1, 2], "item") == {"x": [1], "y": [1, 2]}
    with pytest.raises(InputError, match="genre"):
        read_memberships(features, "year", "items")


def test_an_unknown_column_names_those_there_are():
    users = pl.DataFrame({"user_id": [1], "country": ["de"]})
    with pytest.raises(InputError, match=r"\[I201\] there is no column 'contry'(.|\n)*did you mean 'country'"):
        read_memberships(users, "contry", "users")


def test_other_ids_and_other_types_of_ids_are_refused():
    groups = Memberships.of(pl.DataFrame({"user_id": ["a"], "country": ["de"]}), "user_id", "country")
    with pytest.raises(InputError, match="I407"):
        groups.places(pl.Series(["b"]), "user")
    with pytest.raises(InputError, match="I407"):
        groups.places(pl.Series([1]), "user")


@pytest.mark.parametrize("ids", ["user_id", "item_id"])
def test_groups_may_come_from_the_column_of_items(ids):
    table = pl.DataFrame({"user_id": ["ann", "bob"], "item_id": ["x", "y"]})
    groups = Memberships.of(table, ids, "item_id")
    assert groups.by == "item_id"
    first, second = table[ids].to_list()
    assert members(groups, [first, second], ids[:4]) == {"x": [first], "y": [second]}
