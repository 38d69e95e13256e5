"""Item features from every shape of table."""

import numpy as np
import polars as pl
import pytest

from recassay.data.features import Features, feature_columns
from recassay.data.read import read_items
from recassay.errors import InputError

from ...refusals import refused


def by_item(features):
    names = features.names.to_list()
    return {
        item: [names[code] for code in features.codes[features.offsets[at] : features.offsets[at + 1]]]
        for at, item in enumerate(features.items.to_list())
    }


def test_lists_joined_text_and_rows_give_the_same_features():
    lists = pl.DataFrame({"item_id": ["b", "a", "c"], "genres": [["War", "Drama"], ["Drama"], []]})
    joined = pl.DataFrame({"item_id": ["b", "a", "c"], "genres": ["War|Drama", "Drama", None]})
    rows = pl.DataFrame({"item_id": ["b", "b", "a", "c", "b"], "genre": ["War", "Drama", "Drama", None, "War"]})
    wanted = {"a": ["Drama"], "b": ["Drama", "War"], "c": []}
    for frame in (lists, joined, rows):
        assert by_item(Features.from_frame(frame)) == wanted


def test_a_dict_of_items_and_their_features():
    assert by_item(read_items({"b": ["War", "Drama"], "a": {"Drama"}, "c": []})) == {
        "a": ["Drama"], "b": ["Drama", "War"], "c": []
    }  # fmt: skip
    assert by_item(read_items({2: [1970, "War"]})) == {2: ["1970", "War"]}
    with refused("I108", match=r"holds a str \(for 'b'\)") as caught:
        read_items({"a": ["War"], "b": "Drama"})
    assert "{id: [features]}" in caught.value.hint


@pytest.mark.parametrize("tags", [[[["a", "b"], ["c"]], [["a"]]], [np.array([range(3), None], dtype=object)] * 2])
def test_lists_of_lists_are_no_features(tags):
    with refused("I202", match="'tags' are no texts or numbers"):
        read_items({item: {"tags": cell} for item, cell in zip("xy", tags, strict=True)})


def test_blank_and_empty_names_are_not_features():
    frame = pl.DataFrame({"item_id": [1, 2, 3], "tags": [" a | b ", "||", ""]})
    assert by_item(Features.from_frame(frame)) == {1: ["a", "b"], 2: [], 3: []}


def test_titles_and_numbers_are_features_only_if_named():
    frame = pl.DataFrame(
        {"item_id": [1, 2, 3, 4], "title": list("wxyz"), "kind": ["A", "A", "B", "B"], "year": [1999, 1999, 2000, 2001]}
    )
    assert feature_columns(frame) == ("kind",)
    assert by_item(Features.from_frame(frame, columns=["year"])) == {1: ["1999"], 2: ["1999"], 3: ["2000"], 4: ["2001"]}


def test_lists_precede_joined_text_which_precedes_plain_text():
    frame = pl.DataFrame({"item_id": [1, 2], "kind": ["A", "A"], "genres": ["X|Y", "X"]})
    assert feature_columns(frame) == ("genres",)
    assert feature_columns(frame.with_columns(tags=pl.Series([["p"], ["q"]]))) == ("tags",)


def test_features_of_several_columns_carry_the_column_name():
    frame = pl.DataFrame({"item_id": [1], "kind": ["A"], "tags": [["A", "B"]]})
    assert by_item(Features.from_frame(frame, columns=["kind", "tags"])) == {1: ["kind=A", "tags=A", "tags=B"]}


def test_categories_are_text():
    frame = pl.DataFrame({"item_id": [1, 2], "kind": pl.Series(["A", "A"], dtype=pl.Categorical)})
    assert by_item(Features.from_frame(frame)) == {1: ["A"], 2: ["A"]}


@pytest.mark.parametrize(("columns", "words"), [(["gernes"], "gernes"), (None, "looks like features")])
def test_without_a_column_of_features_the_error_names_the_columns(columns, words):
    frame = pl.DataFrame({"item_id": [1, 2, 3], "title": ["Up", "Alien", "Big"]})
    with refused("I201", match=words) as caught:
        Features.from_frame(frame, columns=columns, origin="items.csv")
    assert "'title'" in str(caught.value)
    assert "items.csv" in str(caught.value)


def test_one_category_per_item_is_read_without_being_named():
    items = pl.DataFrame({"item_id": ["a", "b", "c"], "category": ["x", "y", "z"]})
    assert Features.from_frame(items).names.to_list() == ["x", "y", "z"]
    with pytest.raises(InputError, match="looks like features"):
        Features.from_frame(items.rename({"category": "title"}))


def test_a_column_of_category_numbers_is_read_by_its_name():
    frame = pl.DataFrame({"item": [1, 2, 3], "category": [19, 13, 19], "price": [1, 2, 3]})
    assert read_items(frame).names.to_list() == ["13", "19"]


@pytest.mark.parametrize("separator", [", ", ",", "; ", ";", " | "])
def test_texts_that_are_plainly_lists_are_split(separator):
    lists = [["Action", "Comedy"], ["Action", "Drama"], ["Drama"], ["Comedy", "Drama", "War"]]
    frame = pl.DataFrame({"item_id": [*"abcd"], "genres": [separator.join(one) for one in lists]})
    found = Features.from_frame(frame)
    assert by_item(found) == dict(zip("abcd", lists, strict=True))
    assert found.sources == f"genres (split at {separator.strip()!r})"


@pytest.mark.parametrize(
    "texts",
    [
        ["Up, and away", "It", "Alien", "Big, bigger"],
        ["Postman, The (1995)", "Mask, The (1995)", "Godfather, The (1972)", "Sting, The (1972)"],
        ["Scott, Ridley", "Scott, Tony", "Smith, Tony", "Smith, Ridley"],
        ["Paris, France", "Lyon, France", "Nice, France", "Rome, Italy"],
        ["0,5", "1,5", "5,0", "5,1"],
    ],
)
def test_titles_names_places_and_numbers_with_commas_are_whole(texts):
    frame = pl.DataFrame({"item_id": range(4), "what": texts})
    found = Features.from_frame(frame, columns=["what"])
    assert by_item(found) == {at: [text] for at, text in enumerate(texts)}
    assert found.sources == "what"
