"""Unread columns and unknown orders are rejected, remarked on, or accepted if requested."""

import gzip
import json
import re
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.columnar.order import MIN_LENGTH, count_contrary_scores, count_rank_like_scores
from recassay.data.io.read import open_row_ranges, open_table
from recassay.data.io.text import may_have_padded
from recassay.errors import InputError, UsageError

from ....refusals import refused

# Items 7 and 9 of user 1, of which 9 has the higher score and the lower row.
ROWS = [(1, 7, 0.2), (1, 9, 0.9), (2, 7, 0.4), (2, 8, 0.1)]
PAIRS = pl.DataFrame([row[:2] for row in ROWS], ["user", "item"], orient="row")


def written(path, header="user,item,Punkte"):
    path.write_text(header + "\n" + "".join(f"{user},{item},{score}\n" for user, item, score in ROWS))
    return path


def items(run, user=1):
    return run.frame().filter(user_id=user)["item_id"].to_list()


class TestTimesWithoutHeader:
    ROWS = ((1, 7, 1741000000123), (1, 8, 1742000000456), (2, 7, 1743000000789))

    def file(self, path, *, header="", rows=ROWS):
        path.write_text(header + "".join("\t".join(map(str, row)) + "\n" for row in rows))
        return path

    @pytest.mark.parametrize("read", [ra.read_interactions, ra.read_truth])
    def test_times_are_not_ratings_or_gains(self, tmp_path, read):
        with refused("I204"):
            read(self.file(tmp_path / "log.tsv"))

    def test_the_hint_works(self, tmp_path):
        path = self.file(tmp_path / "log.tsv")
        log = ra.read_interactions(path, columns="timestamp=column_3")
        assert log.timestamps is not None
        assert log.ratings is None
        assert ra.read_truth(self.file(path, header="user_id\titem_id\ttimestamp\n")).gains.tolist() == [1, 1, 1]

    def test_ratings_before_times_and_large_scores_are_sound(self, tmp_path):
        rows = [(user, item, 3, time) for user, item, time in self.ROWS]
        assert ra.read_interactions(self.file(tmp_path / "log.tsv", rows=rows)).timestamps is not None
        assert ra.read_run(self.file(tmp_path / "run.tsv")).scores is not None


class TestRatings:
    LOG = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9], "Feedback": [7, 3, 10, 1]})

    @pytest.mark.parametrize("kind", ["csv", "parquet", "polars", "pandas", "dict"])
    def test_unread_numbers_of_a_log_are_said(self, tmp_path, kind):
        path = tmp_path / f"log.{kind}"
        if kind in ("csv", "parquet"):
            getattr(self.LOG, f"write_{kind}")(path)
        sources = {"polars": self.LOG, "pandas": self.LOG.to_pandas(), "dict": self.LOG.to_dict(as_series=False)}
        log = ra.read_interactions(sources.get(kind, path))
        assert "column 'Feedback' of the log holds numbers (1 to 10" in log.remarks["R011"]
        assert "rating=Feedback" in log.remarks["R011"]
        assert log.take(np.array([0, 2])).compact().remarks == log.remarks
        scores = ra.score({"mine": {1: [9], 2: [8]}}, {1: [9], 2: [8]}, "hit@1", train=log, interval=None)
        assert [(one.code, one.severity) for one in scores.findings if one.code == "R011"] == [("R011", "info")]

    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("rating", [7, 3, 10, 1]),
            ("category_id", [7, 3, 10, 1]),
            ("CategoryId", [7, 3, 10, 1]),
            ("Kanal", [1, 1, 1, 1]),
            ("Unnamed: 0", [0, 1, 2, 3]),
            ("when", [1741000000, 1741000001, 1741000007, 1741000009]),
            ("note", ["a", "b", "c", "d"]),
        ],
    )
    def test_ratings_ids_constants_row_numbers_times_and_texts_are_not(self, name, values):
        log = ra.read_interactions(self.LOG.select("user", "item", pl.Series(name, values)))
        assert log.remarks == {}

    def test_logs_in_chunks_are_said(self, tmp_path):
        self.LOG.write_csv(tmp_path / "log.csv")
        (tmp_path / "run.csv").write_text("user,item,score\n1,9,2\n2,8,1\n")
        (tmp_path / "truth.csv").write_text("user,item\n1,9\n2,8\n")
        paths = [tmp_path / f"{name}.csv" for name in ("run", "truth", "log")]
        found = ra.score(
            *paths[:2], "hit@1", train=paths[2], execution=ra.options.Execution(memory="8 GB"), interval=None
        )
        assert "R011" in [one.code for one in found.findings]


class TestSuggestedColumns:
    @pytest.mark.parametrize(
        ("names", "options", "hint"),
        [
            ("user item rank", {"columns": "item=foo"}, "--columns user=user,item=item"),  # not score=rank
            ("user p Ding", {}, "--columns user=user,item=Ding,score=p"),
            ("user p", {}, "--columns user=user,item=NAME,score=p"),
            ("user p rank", {}, "--columns user=user,item=NAME"),
        ],
    )
    def test_fractions_are_not_items_and_ranks_not_scores(self, names, options, hint):
        values = {"user": [1, 1], "item": [7, 9], "rank": [1, 2], "p": [0.25, 0.5], "Ding": [7, 9]}
        with pytest.raises(InputError, match="I201") as caught:
            ra.read_run(pl.DataFrame(values).select(names.split()), **options)
        assert caught.value.hint == f"name the columns, for example {hint}"

    def test_a_column_that_is_called_a_rank_is_suggested_as_one(self):
        rows = pl.DataFrame({"user": [1, 1, 2], "item": [2, 3, 3], "Rank2": [1, 2, 5]})
        with pytest.raises(InputError, match="I204") as caught:
            ra.read_run(rows)
        assert "--columns rank=Rank2;" in caught.value.hint


class TestCutFiles:
    ROWS = tuple(f"{user},{1000 + user},{978300000 + user}" for user in range(100, 300))

    def log(self, tmp_path, text, name="log.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    @pytest.mark.parametrize("cut", [1, 5, 9])
    def test_a_shortened_last_field_is_said(self, tmp_path, cut):
        text = "\n".join(["user,item,timestamp", *self.ROWS])
        log = ra.read_interactions(self.log(tmp_path, text[:-cut]))
        assert f"the last line of log.csv, {self.ROWS[-1][:-cut]!r}, has no end" in log.remarks["R012"]
        assert "the 199 lines above it" in log.remarks["R012"]

    @pytest.mark.parametrize("separator", ["\t", "::", " "])
    def test_separators(self, tmp_path, separator):
        text = "\n".join(separator.join([*row.split(",")[:2], "5", row.split(",")[2]]) for row in self.ROWS)
        assert "R012" in ra.read_interactions(self.log(tmp_path, text[:-2], "log.dat")).remarks
        assert ra.read_interactions(self.log(tmp_path, text, "log.dat")).remarks == {}

    def test_a_whole_last_line_is_sound_with_an_end_and_without(self, tmp_path):
        text = "\n".join(["user,item,timestamp", *self.ROWS])
        for end in ("", "\n", "\r\n"):
            assert ra.read_interactions(self.log(tmp_path, text + end)).remarks == {}

    def test_few_lines_and_fields_of_other_lengths_are_sound(self, tmp_path):
        few = "\n".join(["user,item,timestamp", *self.ROWS[:50]])
        assert ra.read_interactions(self.log(tmp_path, few[:-2])).remarks == {}
        text = "\n".join(["user,item,rating", *(f"{user},7,{user % 13}" for user in range(200)), "7,9,1"])
        assert ra.read_interactions(self.log(tmp_path, text)).remarks == {}

    def test_scores_have_one_finding_on_all_files(self, tmp_path):
        rows = [f"{user},7,0.{user:06}" for user in range(100, 300)]
        for name, last in (("run.csv", "score"), ("truth.csv", "gain")):
            (tmp_path / name).write_text("\n".join([f"user,item,{last}", *rows])[:-2])
        found = ra.score(tmp_path / "run.csv", tmp_path / "truth.csv", "hit@1", interval=None, relevant_from=0.0001)
        (said,) = [one for one in found.findings if one.code == "R012"]
        assert said.severity == "warning"
        assert "run.csv" in said.detail
        assert "truth.csv" in said.detail


class TestOrder:
    def test_an_unread_numeric_column_is_an_error(self, tmp_path):
        with refused("I204") as caught:
            ra.read_run(written(tmp_path / "run.csv"))
        assert "'Punkte'" in caught.value.what
        assert "--columns score=Punkte" in caught.value.hint
        assert "--order row" in caught.value.hint

    def test_choosing_the_column_orders_by_it(self, tmp_path):
        path = written(tmp_path / "run.csv")
        assert items(ra.read_run(path, columns="score=Punkte")) == [9, 7]
        assert items(ra.read_run(path, order="row")) == [7, 9]

    def test_the_hint_distinguishes_ranks_from_scores(self):
        frame = PAIRS.with_columns(Platz=pl.Series([1, 2, 1, 2]))
        with pytest.raises(InputError, match="columns='rank=Platz'"):
            ra.read_run(frame)

    @pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "arrow", "columns", "records", "parquet"])
    def test_unread_numbers_are_found_in_every_source_type(self, kind, tmp_path):
        frame = PAIRS.with_columns(Punkte=pl.Series([row[2] for row in ROWS]))
        frame.write_parquet(tmp_path / "run.parquet")
        source = {
            "polars": frame,
            "lazy": frame.lazy(),
            "pandas": frame.to_pandas(),
            "arrow": frame.to_arrow(),
            "columns": frame.to_dict(as_series=False),
            "records": frame.to_dicts(),
            "parquet": tmp_path / "run.parquet",
        }[kind]
        with refused("I204"):
            ra.read_run(source, "mine")
        assert items(ra.read_run(source, "mine", order="row")) == [7, 9]

    def test_the_hint_for_unknown_names_includes_the_score(self, tmp_path):
        with refused("I201") as caught:
            ra.read_run(written(tmp_path / "run.csv", "Kunde,Artikel,Punkte"))
        assert caught.value.hint.endswith("--columns user=Kunde,item=Artikel,score=Punkte")
        with pytest.raises(InputError) as caught:
            ra.read_truth(written(tmp_path / "truth.csv", "Kunde,Artikel,Note"))
        assert caught.value.hint.endswith("--truth-columns user=Kunde,item=Artikel,gain=Note")

    @pytest.mark.parametrize("values", [("31.05.2020 10:30", "02.06.2020 9:15"), ("1590921000", "1591082100")])
    def test_the_hint_for_the_columns_of_a_log_includes_its_times(self, tmp_path, values):
        (tmp_path / "log.csv").write_text("Kunde;Artikel;Menge;wann\n1;7;2;{}\n1;9;1;{}\n".format(*values))
        with pytest.raises(InputError) as caught:
            ra.read_interactions(tmp_path / "log.csv")
        assert caught.value.hint.endswith("--columns user=Kunde,item=Artikel,timestamp=wann")

    def test_columns_that_cannot_order_lists_are_not_an_error(self):
        one_value = PAIRS.with_columns(fold=pl.lit(3))
        index = pl.DataFrame({"Unnamed: 0": range(4)}).hstack(PAIRS)
        words = PAIRS.with_columns(title=pl.lit("Up"))
        for frame in (one_value, index, words):
            assert ra.read_run(frame).remarks.keys() == {"R001"}

    @pytest.mark.parametrize(
        "source",
        [{1: [7, 9], 2: [7, 8]}, [(1, 7), (1, 9), (2, 7)], {1: [(7, 0.9), (9, 0.1)]}, {1: {7: 0.9, 9: 0.1}}],
        ids=["dict of lists", "list of pairs", "dict of pairs", "dict of dicts"],
    )
    def test_lists_are_ordered_without_a_remark(self, source, tmp_path):
        assert ra.read_run(source, "mine").remarks == {}
        assert items(ra.read_run(source, "mine")) == [7, 9]

    def test_lists_in_files_are_ordered(self, tmp_path):
        (tmp_path / "run.json").write_text(json.dumps({"1": [9, 7], "2": [7]}))
        (tmp_path / "run.txt").write_text("1 9\n1 7\n2 7\n")
        for name in ("run.json", "run.txt"):
            run = ra.read_run(tmp_path / name)
            assert (items(run), run.remarks) == ([9, 7], {})

    def test_row_order_is_remarked_on_unless_requested(self):
        truth = {1: [9], 2: [7]}
        said = ra.score({"mine": PAIRS}, truth, "mrr", interval=None)
        meant = ra.score(
            {"mine": PAIRS}, truth, "mrr", interval=None, conventions=ra.options.ConventionOptions(order="row")
        )
        assert "R001" in {one.code for one in said.findings}
        assert "R001" not in {one.code for one in meant.findings}
        assert said.values("mine", "mrr").tolist() == meant.values("mine", "mrr").tolist() == [0.5, 1.0]

    def test_order_row_ignores_ranks_and_scores(self):
        frame = PAIRS.with_columns(rank=pl.Series([2, 1, 2, 1]), score=pl.Series([row[2] for row in ROWS]))
        truth = {1: [9], 2: [7]}
        by = {
            order: ra.score(
                {"mine": frame}, truth, "mrr", interval=None, conventions=ra.options.ConventionOptions(order=order)
            )
            .values("mine", "mrr")
            .tolist()
            for order in ("given", "score", "row")
        }
        assert by == {"given": [1.0, 0.5], "score": [1.0, 1.0], "row": [0.5, 1.0]}
        read = ra.read_run(frame, "mine")  # ordered by rank when it was read, which stays
        assert ra.score(
            read, truth, "mrr", interval=None, conventions=ra.options.ConventionOptions(order="row")
        ).values("mine", "mrr").tolist() == [1.0, 0.5]

    def test_an_unknown_order_is_rejected(self):
        with pytest.raises(UsageError, match="rwo"):
            ra.read_run(PAIRS, order="rwo")

    def test_remarks_are_the_same_when_read_in_chunks(self, tmp_path):
        path = written(tmp_path / "run.csv")
        with refused("I204"):
            open_row_ranges(path, "run", tmp_path)
        (rows,) = open_row_ranges(path, "run", tmp_path, ordered=True)
        assert rows.remarks == {}
        PAIRS.write_parquet(tmp_path / "pairs.parquet")
        (rows,) = open_row_ranges(tmp_path / "pairs.parquet", "run", tmp_path)
        assert rows.remarks.keys() == {"R001"}


class TestTruth:
    @pytest.mark.parametrize(
        ("column", "said"),
        [
            (pl.Series("Bewertung", [5, 1, 4, 2]), True),
            (pl.Series("Bewertung", ["5", "1", "4", "2"]), True),
            (pl.Series("Bewertung", [5, 5, 5, 5]), False),
            (pl.Series("Titel", ["Up", "It", "M", "Ran"]), False),
            (pl.Series("timestamp", [5, 1, 4, 2]), False),
            (pl.Series("Zeit", [1_600_000_000, 1_600_000_007, 3, 4]), False),
        ],
        ids=["numbers", "numbers as text", "one value", "words", "times", "times of unknown name"],
    )
    def test_possible_gains_are_remarked_on(self, column, said):
        truth = ra.read_truth(PAIRS.with_columns(column))
        assert ("R002" in truth.remarks) == said
        assert truth.gains.tolist() == [1.0] * 4

    def test_no_remark_if_there_is_a_gain(self):
        frame = PAIRS.with_columns(rating=pl.Series([5, 1, 4, 2]), Preis=pl.Series([5, 1, 4, 2]))
        assert ra.read_truth(frame).remarks == {}


class TestMixedTables:
    def test_one_value_per_user_is_not_a_mixture(self):
        frame = PAIRS.with_columns(score=pl.Series([0.2, 0.9, 0.4, 0.1]))
        assert ra.read_run(frame.with_columns(fold=pl.col("user"))).remarks == {}
        assert ra.read_run(frame.with_columns(fold=pl.Series([1, 2, 1, 1]))).remarks.keys() == {"R003"}

    def test_large_tables_and_chunked_tables_have_the_same_remarks(self, tmp_path, monkeypatch):
        frame = PAIRS.with_columns(score=pl.Series([0.2, 0.9, 0.4, 0.1]), model=pl.Series(["a", "b", "a", "a"]))
        frame.write_parquet(tmp_path / "run.parquet")
        small = open_table(tmp_path / "run.parquet", "run")
        monkeypatch.setattr("recassay.data.io.read.SMALL", 1)
        large = open_table(tmp_path / "run.parquet", "run")
        (rows,) = open_row_ranges(tmp_path / "run.parquet", "run", tmp_path)
        assert small.remarks == large.remarks == rows.remarks
        assert "1 of 2 users" in small.remarks["R003"]
        assert large.columns == ["user_id", "item_id", "score"]


class TestPaddedNumbers:
    """Ids are integers only if all are written as integers, beyond the sampled lines too."""

    MANY = tuple(f"{number // 5},{number % 5 + 1},{1 - number % 5 / 10}" for number in range(20_000))

    @pytest.mark.parametrize("field", ["007", "+7", " 7", "00"])
    @pytest.mark.parametrize("place", [3, 15_000])
    @pytest.mark.parametrize("packed", [False, True])
    def test_one_padded_field_makes_the_column_text(self, field, place, packed, tmp_path):
        lines = ["user_id,item_id,score", *self.MANY[:place], f"1,{field},0.05", *self.MANY[place:]]
        data = "\n".join(lines).encode()
        path = tmp_path / ("run.csv.gz" if packed else "run.csv")
        path.write_bytes(gzip.compress(data, mtime=0) if packed else data)
        ids = open_table(path, "run")["item_id"]
        assert ids.unique().sort().to_list() == sorted(["1", "2", "3", "4", "5", field])
        if not packed:
            (rows,) = open_row_ranges(path, "run", tmp_path)
            assert rows.read(["item_id"], 0, rows.rows)["item_id"].to_list() == ids.to_list()

    def test_other_columns_may_be_padded(self, tmp_path):
        rows = [f"{line},0{number % 10}.01.2020" for number, line in enumerate(self.MANY)]
        (tmp_path / "run.csv").write_text("\n".join(["user_id,item_id,score,day", *rows]))
        assert open_table(tmp_path / "run.csv", "run")["item_id"].dtype == pl.Int64

    @pytest.mark.parametrize("at_once", [1, 2, 7, 1 << 20])
    @pytest.mark.parametrize(
        "text", [b"1,7\n10,70", b"1,7\n07,7", b'1,"07"\n', b"1, 7\n", b"1,0\n0,0.5\n", b"+1,2\n3,+4"]
    )
    def test_padding_is_found_for_any_chunk_size(self, text, at_once, tmp_path, monkeypatch):
        monkeypatch.setattr("recassay.data.io.text.AT_ONCE", at_once)
        (tmp_path / "a.gz").write_bytes(gzip.compress(text, mtime=0))
        (tmp_path / "a.csv").write_bytes(text)
        expected = re.search(rb'[,\n"](0[0-9]|[+ ])', text) is not None
        sources = (text, tmp_path / "a.csv", tmp_path / "a.gz")
        assert [may_have_padded(source, ",") for source in sources] == [expected] * 3


class TestWholeLines:
    def test_a_header_may_exceed_the_sample(self, tmp_path):
        names = ",".join(f"feature_{number:05d}" for number in range(9_000))
        (tmp_path / "run.csv").write_text(
            f"user_id,item_id,{names},score\n1,7,{',' * 8_999},0.5\n1,8,{',' * 8_999},0.9\n"
        )
        assert items(ra.read_run(tmp_path / "run.csv")) == [8, 7]

    def test_a_field_may_exceed_the_sample(self, tmp_path):
        (tmp_path / "run.csv").write_text(f"user_id,item_id,score,about\n1,7,0.5,{'x' * 200_000}\n1,8,0.9,y\n")
        assert items(ra.read_run(tmp_path / "run.csv")) == [8, 7]


def counted_directly(lists):
    """Return, per list of scores in row order, whether it is long, rank-like and ascending."""
    counts = [0, 0, 0]
    for scores in lists:
        low = [list(range(base, base + len(scores))) for base in (0, 1)]
        counts[0] += len(scores) >= MIN_LENGTH
        counts[1] += len(scores) >= MIN_LENGTH and sorted(scores) in low
        counts[2] += len(scores) >= MIN_LENGTH and scores in low
    return counts


@pytest.mark.parametrize("seed", range(8))
def test_rank_like_scores_equal_a_direct_count(seed):
    rng = np.random.default_rng(seed)
    lists = []
    for _ in range(30):
        size = int(rng.integers(1, 6))
        scores = [float(one) for one in rng.permutation(size) + rng.integers(0, 2)]
        lists.append(sorted(scores) if rng.random() < 0.4 else scores if rng.random() < 0.8 else [*scores[:-1], 0.5])
    lists.insert(0, [1.0, 2.0, 3.0])  # else nothing but the number of lists is counted
    offsets = np.append(0, np.cumsum([len(one) for one in lists]))
    given = pl.Series([score for one in lists for score in one])
    ordered = pl.Series([score for one in lists for score in sorted(one, reverse=True)])
    found = count_rank_like_scores(offsets, given, ordered)
    assert [found.lists, found.rank_like, found.ascending] == counted_directly(lists)


@pytest.mark.parametrize("seed", range(8))
def test_contrary_scores_equal_a_direct_count(seed):
    rng = np.random.default_rng(seed)
    lists = [rng.integers(0, 4, size).astype(float).tolist() for size in rng.integers(1, 6, 20)]
    rises = [[low > high for high, low in pairwise(one)] for one in lists]
    found = count_contrary_scores(
        np.append(0, np.cumsum([len(one) for one in lists])), pl.Series([score for one in lists for score in one])
    )
    assert found.pairs == sum(map(len, rises))
    assert found.contrary == sum(map(sum, rises))
    assert found.contrary_lists == sum(map(any, rises))
