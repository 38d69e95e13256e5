"""Every error recassay raises on purpose, and the code each one carries.

    RecassayError
    ├── InputError      exit 2   the given data cannot be used
    ├── UsageError      exit 2   the request cannot be carried out
    └── InternalError   exit 3   a bug in recassay: please report it

An error says *what* is wrong (with counts and an example), *where*, and *what to do next*:

>>> print(UsageError("U101", "there is no metric 'ndgc'", where="-m ndgc@10", hint="did you mean 'ndcg'?"))
[U101] there is no metric 'ndgc'.
  Where: -m ndgc@10
  Try:   did you mean 'ndcg'?

Codes are permanent: a code never changes its meaning. Each has an entry in ``docs/reference/errors.md``.
"""

from __future__ import annotations

import re

CODES: dict[str, str] = {
    # input files
    "I101": "file not found",
    "I102": "file is empty",
    "I103": "table has no rows",
    "I104": "file is damaged or not what its name says",
    "I105": "a line cannot be parsed",
    "I106": "file is not valid UTF-8",
    "I107": "format not recognised",
    "I108": "object cannot be read as a table",
    "I109": "folder has no run files",
    "I110": "file cannot be opened",
    "I111": "data of a study not found",
    "I113": "JSON object repeats a key",
    "I114": "users of one table have different shapes",
    "I115": "lines end in carriage returns alone",
    "I116": "a line is too long for a table",
    "I117": "file exceeds a limit of its format",
    "I118": "folder holds no fold",
    "I119": "not a file or folder that can be read",
    "I120": "run file of a study is missing",
    # columns
    "I201": "required column missing",
    "I202": "column has the wrong type",
    "I203": "two columns have the same meaning",
    "I204": "order of a run is unknown and a column of numbers is unread",
    "I205": "times in the place of ratings or gains in a file without a header",
    # values, and data that do not fit together
    "I301": "score is NaN or infinite",
    "I302": "rank is missing or negative",
    "I303": "gain is negative",
    "I304": "id or time is missing",
    "I305": "duplicate rows",
    "I306": "gain is missing, NaN or infinite",
    "I307": "log has no ratings",
    "I308": "scores of a system have the wrong shape",
    "I309": "scores of a system are NaN",
    "I310": "test repeats training",
    "I311": "systems have different queries",
    "I312": "a system answered with unknown items",
    "I313": "scores lack a column",
    "I314": "scores of a system and user are repeated",
    "I315": "systems share no user",
    "I316": "folder has no scores per user",
    "I317": "folder has no results",
    "I318": "results file is damaged",
    "I319": "order of rows is needed but unknown",
    "I321": "no history to learn from",
    "I322": "log has other users or items",
    "I324": "scorings have different truths",
    "I331": "sampled rank is impossible for the sample",
    "I332": "pool of candidates is missing or too small",
    "I341": "next item is not unique",
    "I351": "rows of one sequence contradict each other",
    "I352": "no sequence of two or more",
    "I353": "simultaneous events of a user",
    "I354": "probabilities of a model are invalid",
    "I355": "output of a generator is invalid",
    "I356": "lists of one row differ in length",
    "I357": "seeds cannot be continued",
    "I361": "generated sequences do not fit the fold",
    "I362": "given similarities cannot be used",
    "I363": "primitive list and sequences share no item",
    "I364": "primitive recommender cannot be used",
    "I371": "stream is not ordered by time",
    "I372": "model recommends consumed items",
    "I373": "model recommends unknown items",
    "I374": "model fails during a stream",
    "I375": "scores of a model on a stream cannot be used",
    "I377": "adapted model predicts in the wrong shape",
    "I381": "outcomes of a stream are inconsistent",
    "I382": "outcomes are of different events",
    "I383": "stream has no times, or they decrease",
    "I384": "a difference exceeds its bound",
    "I385": "times of the log are of an unsuitable kind",
    "I386": "times as text are ambiguous",
    "I387": "times in two units",
    "I388": "times far from all others",
    "I389": "duration in another unit than the times",
    "I391": "baseline score is NaN or infinite",
    "I392": "run has no scores to weigh against diversity",
    "I393": "given distances cannot be used",
    "I394": "items of unknown distance",
    "I395": "results of a paper cannot be read",
    # ids across tables
    "I401": "run and truth share no query",
    "I402": "run and truth share no item",
    "I403": "one table has integer ids, the other strings",
    "I404": "queries missing from the run",
    "I406": "run and training log share no item",
    "I407": "run and item features share no item",
    "I408": "groups and truth share no id",
    "I409": "no user of the truth is in the training log",
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
    "U112": "required library is not installed",
    "U113": "comparison lacks data",
    "U114": "test does not apply to this metric",
    "U115": "unknown model, split, design or other named thing",
    "U116": "a split or a filter leaves no rows",
    "U117": "no uniform test part is that large",
    "U118": "text is not a target-set design",
    "U119": "standings cannot be evaluated under this design",
    "U120": "fewer candidates than a design draws",
    "U121": "metric cannot be evaluated by design",
    "U122": "nothing that can be evaluated by design",
    "U123": "model file cannot be used",
    "U124": "argument is another kind of thing",
    "U131": "study does not parse",
    "U132": "key of a study unknown or missing",
    "U133": "value in a study is wrong",
    "U134": "folder holds another study",
    "U135": "study fails on a small part of its data",
    "U141": "checkpoint of another training",
    "U142": "training diverged",
    "U143": "not enough memory",
    "U151": "sampled ranks cannot be corrected for this way of sampling",
    "U152": "prior of the full ranks cannot be used",
    "U171": "model is too large for this many items",
    "U172": "no item is left to generate",
    "U173": "system has no probabilities to generate from",
    "U174": "generated sequences have no ids",
    "U181": "metric is for another kind of output",
    "U182": "metric cut-off exceeds the generated length",
    "U191": "model cannot take part in a stream",
    "U192": "stream or model cannot do what the protocol needs",
    "U193": "checkpoint of another stream",
    "U194": "object cannot be adapted to learn event by event",
    "U195": "a list-only stream model cannot be fitted on a log",
    "U196": "window over a stream cannot be used",
    "U197": "state of a detector cannot be used",
    "U201": "re-ranker needs data that was not given",
    "U202": "re-ranker has a model where it must not, or lacks one",
    "U203": "no weight can be chosen",
    "U204": "contests with different competitors or rules",
    "U205": "first hits are unknown",
    "U206": "points of a trade-off cannot be used",
    "U207": "systems or objectives do not belong together",
    "U208": "no re-ranker among the systems",
    "U211": "too few data sets to compare ranks",
    "U212": "no scores for this data set, split or design",
    "U213": "no runs for the contest",
    "U214": "number of users needed cannot be computed",
    "U215": "scores cannot be grouped this way",
    "U216": "region of equivalence is invalid",
    "U217": "groups cannot be made",
    "U218": "scorings have different metrics or conventions",
    "U221": "metric cannot be estimated from some of the users",
    "U222": "memory budget is too small",
    "U223": "table cannot be read in chunks",
    "U224": "metric cannot be computed from some of the users' training rows",
    "U225": "operation needs all rows of a log at once",
    "U227": "Spark does not start",
    "U228": "table cannot be read by Spark",
    "U229": "folder is not shared by all nodes",
    "U231": "given data is not used by any metric",
    "U232": "Spark workers have another Python",
    "U235": "kind of times given for a log without times",
    "U236": "a pickle from disk is not trusted",
    "U237": "another process uses the folder",
    "U238": "output cannot be written to the end",
    "U240": "two things of one kind have the same name",
    "U241": "this kind of thing cannot be registered",
    "U242": "folder has the layout of another version",
    "U243": "a function given as a metric fails",
    "U244": "a metric of your own leaves its range",
    "U251": "folder was written with other settings",
    "U252": "state of a watch is in use",
    "U253": "state of a watch cannot be read",
    "U254": "source of events cannot be used",
    "U255": "rule of a watch cannot be read",
    "U261": "there is no such paper",
    "U262": "file of a paper is wrong",
    "U263": "query of a paper fails",
    "U264": "study of a paper fails",
    # internal
    "X101": "metric value outside its range",
    "X102": "precision is outside the bounds of the lemma",
    "X103": "counts of events do not add up",
}


ADDRESS = re.compile(r"(?<=://)\S+")
OPTION = re.compile(  # of the command line, unless it is in a whole command
    r"recassay [a-z][^;,)\n]*|--([a-z][a-z-]*)(?: (?!(?:or|and|for|with)\b)('[^']*'|(?:[^\s;,:)]|[,:](?=\S))+))?"
)
SETTING = re.compile(r"^(?!(?:stream|group|consumer)=)([\w.]+=)?.+")  # in an address, if it may be a secret


class RecassayError(Exception):
    """Base of every error that recassay raises on purpose.

    It has a permanent code, and says what is wrong, where, and what to do next.
    """

    exit_code = 3

    def __init__(self, code: str, what: str, *, where: str = "", hint: str = "") -> None:
        if code not in CODES:
            raise KeyError(f"error code {code} is not registered in recassay.errors.CODES")
        what, where = masked(what), masked(where)
        super().__init__(code, what, where, hint)
        self.code = code
        self.what = what.rstrip(".")
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return OPTION.sub(_as_keyword, self.for_shell())

    def for_shell(self) -> str:
        """Return the message in the words of the command line; ``str`` has keywords in place of its options."""
        lines = [f"[{self.code}] {self.what}."]
        if self.where:
            lines.append(f"  Where: {self.where}")
        if self.hint:
            lines.append(f"  Try:   {self.hint}")
        return printable("\n".join(lines), keep="\n")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.code, self.what, self.where, self.hint)


def _rebuild(kind: type[RecassayError], code: str, what: str, where: str, hint: str) -> RecassayError:
    return kind(code, what, where=where, hint=hint)


def _as_keyword(option: re.Match[str]) -> str:
    """Return an option of the command line, ``--nan last``, as a keyword of Python, ``nan='last'``."""
    name, value = option[1], (option[2] or "...").strip("'")
    if name is None:
        return option[0]
    plain = value == "..." or value.isdecimal() or (value.isalpha() and value.isupper())
    return f"{name.replace('-', '_')}={value if plain else repr(value)}"


def masked(text: str) -> str:
    """Return a text without the secrets in addresses: users, passwords, and settings after a question mark.

    Names of streams and of consumer groups are no secrets.

    >>> masked("amqp://user:secret@host/queue and kafka://host/topic?sasl.password=secret")
    'amqp://host/queue and kafka://host/topic?sasl.password=***'
    """
    return ADDRESS.sub(_masked_address, text)


def _masked_address(address: re.Match[str]) -> str:
    place, mark, settings = address[0].partition("?")
    shown = "&".join(SETTING.sub(r"\1***", pair) for pair in settings.split("&"))
    # an @ behind a question mark may end a password that has a question mark in it
    place = "***" if "@" in settings and "@" not in place else place.rpartition("@")[2]
    return f"{place}{mark}{shown}"


def printable(text: str, keep: str = "") -> str:
    r"""Return a text with control characters, and what cannot be encoded, written as escapes.

    Characters in ``keep`` stay as they are. A name from a file can then neither move the cursor of a terminal nor
    change its title.

    >>> printable("als\x1b]0;owned\x07"), printable("café, two\nlines", keep="\n")
    ('als\\x1b]0;owned\\x07', 'café, two\nlines')
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in keep else one.encode("unicode_escape").decode() for one in text)


def out_of_memory(error: BaseException | str, *, where: str = "", hint: str = "") -> UsageError:
    """Return the error U143 for work that needs more memory than is available, with the message of ``error``."""
    detail = str(error).splitlines()[0] if str(error) else "the system gave no more"
    hint = hint or "score run files with a budget: --memory 2GB; or use a machine, or a limit, with more memory"
    return UsageError("U143", f"not enough memory: {detail}", where=where, hint=hint)


def names_no_file(error: OSError) -> bool:
    """Return whether something without a name was not found, which only the working folder is."""
    return error.filename is None and isinstance(error, FileNotFoundError)


def unusable_file(error: OSError) -> InputError:
    """Return the error I110 for a file or folder that the system refuses, or for a working folder that is gone."""
    if names_no_file(error):
        return InputError("I110", "the working folder no longer exists", hint="change to a folder that exists")
    return InputError("I110", f"cannot use {error.filename!r:.200}: {error.strerror}")


class InputError(RecassayError):
    """Error about input data that cannot be used."""

    exit_code = 2


class UsageError(RecassayError):
    """Error about a request that cannot be carried out."""

    exit_code = 2


class InternalError(RecassayError):
    """Error about a bug in recassay."""

    exit_code = 3
