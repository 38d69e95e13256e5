"""Every error recassay raises on purpose, and the code each one carries.

    RecassayError
    ├── InputError      exit 2   the data handed in cannot be used
    ├── UsageError      exit 2   what was asked for cannot be done
    └── InternalError   exit 3   recassay itself is wrong: please report it

An error says *what* is wrong (with counts and an example), *where*, and *what to do next*:

>>> print(UsageError("U101", "there is no metric 'ndgc'", where="-m ndgc@10", hint="did you mean 'ndcg'?"))
[U101] there is no metric 'ndgc'.
  Where: -m ndgc@10
  Try:   did you mean 'ndcg'?

Codes are permanent: a code is never given another meaning. Each has an entry in ``docs/reference/errors.md``.
"""

from __future__ import annotations

CODES: dict[str, str] = {
    # input files
    "I101": "file not found",
    "I102": "file has no bytes",
    "I103": "table has no rows",
    "I104": "file is damaged or not what its name says",
    "I105": "a line does not parse",
    "I106": "file is not valid UTF-8",
    "I107": "format not recognised",
    "I108": "object cannot be read as a table",
    "I109": "folder has no run files",
    "I110": "file cannot be opened",
    "I111": "data of a study not found",
    "I113": "JSON object has a key twice",
    "I114": "users of one table in different shapes",
    "I115": "lines end in carriage returns alone",
    "I116": "a line is too long for a table",
    # columns
    "I201": "required column missing",
    "I202": "column has the wrong type",
    "I203": "two columns have the same meaning",
    "I204": "nothing says what orders a run, and numbers are left unread",
    # values
    "I301": "score is NaN or infinite",
    "I302": "rank is negative",
    "I303": "gain is negative",
    "I304": "id is missing",
    "I305": "duplicate rows",
    "I306": "gain is NaN or infinite",
    "I307": "log has no ratings",
    "I308": "scores of a system have the wrong shape",
    "I309": "scores of a system are NaN",
    "I310": "test repeats training",
    # ids across tables
    "I311": "systems were not asked the same",
    "I312": "a system answered with unknown items",
    "I317": "folder has no results",
    "I318": "file of results is not as recassay writes it",
    "I319": "order of rows is needed and not known",
    "I313": "scores lack a column",
    "I314": "scores of a system and user stand twice",
    "I315": "systems share no user",
    "I316": "folder has no scores per user",
    "I321": "no history to learn from",
    "I322": "log of other users or items",
    "I331": "sampled rank is none that the sample allows",
    "I332": "pool of candidates is missing or too small",
    "I341": "no single item that comes next",
    "I351": "rows of one sequence contradict each other",
    "I352": "no sequence of two or more",
    "I353": "events of a user at the same time",
    "I354": "probabilities of a model are none",
    "I355": "what a generator made is no table of items",
    "I356": "lists of one row differ in length",
    "I361": "generated sequences do not fit the fold",
    "I362": "given similarities cannot be used",
    "I363": "primitive list and sequences share no item",
    "I371": "time goes backwards in a stream",
    "I372": "model recommends what the user has had",
    "I373": "model recommends what it cannot know",
    "I374": "model fails on the way",
    "I375": "scores of a model on a stream cannot be used",
    "I377": "an adapted model predicts in the wrong shape",
    "I381": "outcomes of a stream contradict themselves",
    "I382": "outcomes are not of the same events",
    "I383": "stream has no times, or they go backwards",
    "I384": "a difference is larger than it can be",
    "I385": "times of the log tell too little",
    "I386": "times as text can be read in two ways",
    "I387": "times in two units",
    "I388": "times far from all others",
    "I389": "length of time in another unit than the times",
    "I391": "baseline score is NaN or infinite",
    "I392": "run has no scores to weigh against diversity",
    "I393": "given distances cannot be used",
    "I394": "items of unknown distance",
    "I401": "run and truth share no query",
    "I402": "run and truth share no item",
    "I403": "one table has integer ids, the other strings",
    "I404": "queries missing from the run",
    "I406": "run and training log share no item",
    "I407": "run and item features share no item",
    "I421": "log changed while it was read",
    "I423": "factors cannot be used",
    # usage
    "U101": "unknown metric",
    "U102": "unknown or invalid parameter",
    "U103": "cut-off is not a positive whole number",
    "U104": "expression does not parse",
    "U105": "metric needs data that was not given",
    "U106": "unknown profile",
    "U107": "unknown name of an option",
    "U108": "unknown system",
    "U109": "two systems have the same name",
    "U110": "metric has no value under this tie policy",
    "U111": "output folder cannot be used",
    "U112": "a library that is needed is not installed",
    "U113": "comparison needs more than it was given",
    "U114": "test does not apply to this metric",
    "U115": "unknown model, split, design or other named thing",
    "U116": "a split or a filter leaves no rows",
    "U117": "no uniform test part is so large",
    "U123": "model file cannot be used",
    "U131": "study does not parse",
    "U132": "key of a study unknown or missing",
    "U133": "value in a study is wrong",
    "U134": "folder holds another study",
    "U135": "study fails on a small part of its data",
    "U141": "checkpoint of another training",
    "U142": "training lost its way",
    "U143": "memory does not suffice",
    "U151": "sampled ranks cannot be corrected for this way of sampling",
    "U152": "chances of the full ranks cannot be used",
    "U171": "model is too large for so many items",
    "U172": "no item is left to generate",
    "U173": "system has no probabilities to generate from",
    "U181": "metric judges something else",
    "U182": "metric looks beyond what was generated",
    "U204": "contests of other competitors or rules",
    "U205": "nobody can tell who hit first",
    "U206": "points of a trade-off cannot be used",
    "U207": "systems or objectives do not belong together",
    "U208": "no re-ranker among the systems",
    "U194": "object cannot be adapted to learn event by event",
    "U195": "a model of lists on streams was to be fitted",
    "U196": "window over a stream cannot be used",
    "U197": "state of a detector cannot be used",
    "U201": "re-ranker needs data that was not given",
    "U202": "re-ranker in the wrong place",
    "U203": "no weight can be chosen",
    "U221": "metric cannot be known from some of the users",
    "U222": "budget of memory is too small",
    "U223": "table cannot be read piece by piece",
    "U224": "metric cannot be known from some of the users' training rows",
    "U226": "task of Spark cannot do its part",
    "U225": "log cannot be cut where it is",
    "U227": "Spark does not start",
    "U228": "table is none that Spark reads",
    "U229": "folder is not seen by all nodes",
    "U235": "kind of times said of a log without times",
    "U231": "something was given that no metric asks for",
    "U232": "workers of Spark have another Python",
    "U211": "too few places to rank systems across",
    "U212": "no scores from such a place",
    "U213": "no runs to let compete",
    "U214": "number of users needed cannot be told",
    "U215": "scores cannot be grouped so",
    "U216": "region of equivalence makes no sense",
    "U191": "model cannot take part in a stream",
    "U192": "stream or model cannot give what was asked for",
    "U193": "checkpoint of another stream",
    # internal
    "U118": "text is no target-set design",
    "U119": "standings cannot be judged under this design",
    "U120": "fewer candidates than a design draws",
    "U121": "metric cannot be judged by design",
    "U122": "nothing that can be judged by design",
    "X101": "metric value outside its range",
    "X102": "precision is outside the bounds of the lemma",
}


class RecassayError(Exception):
    """Base of every error raised on purpose: a permanent code, what, where, and what to do next."""

    exit_code = 3

    def __init__(self, code: str, what: str, *, where: str = "", hint: str = "") -> None:
        if code not in CODES:
            raise KeyError(f"error code {code} is not registered in recassay.errors.CODES")
        super().__init__(code, what, where, hint)
        self.code = code
        self.what = what.rstrip(".")
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.what}."]
        if self.where:
            lines.append(f"  Where: {self.where}")
        if self.hint:
            lines.append(f"  Try:   {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.code, self.what, self.where, self.hint)


def _rebuild(kind: type[RecassayError], code: str, what: str, where: str, hint: str) -> RecassayError:
    return kind(code, what, where=where, hint=hint)


class InputError(RecassayError):
    """The data handed in cannot be used."""

    exit_code = 2


class UsageError(RecassayError):
    """What was asked for cannot be done."""

    exit_code = 2


class InternalError(RecassayError):
    """recassay itself is wrong."""

    exit_code = 3
