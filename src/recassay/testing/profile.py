"""Check a profile of your own."""

from __future__ import annotations

from recassay.api.score import score
from recassay.errors import RecassayError
from recassay.metrics.align import Conventions
from recassay.metrics.registry import find
from recassay.naming.grammar import parse
from recassay.profiles.base import PROFILES, Profile
from recassay.testing.promise import require
from recassay.testing.world import world


def check_profile(profile: Profile) -> None:
    """Raise AssertionError, with the reason, unless a profile of a library meets the requirements of all profiles.

    It is known by its name and says of which library and version it is; its conventions exist; every metric it names is
    one of ours, can be built, and scores a correct run.
    """
    name = profile.name
    require(PROFILES.kinds.get(name) is profile, f"no profile is known as {name}: register it with ra.register")
    require(bool(profile.title and profile.version), f"{name} must say which library and which version it reproduces")
    strange = set(profile.conventions) - set(Conventions.__dataclass_fields__)
    require(not strange, f"{name} sets conventions that do not exist: {', '.join(sorted(strange))}")
    require(bool(profile.metrics), f"{name} has no metric")
    here = world()
    for metric in profile.metrics:
        try:
            text = metric if find(metric).cutoff == "none" else f"{metric}@3"
            profile.build(parse(text), {})
            score({"system": here.run}, here.relevant, text, train=here.fold.train, interval=None, profile=name)
        except RecassayError as error:
            raise AssertionError(f"{metric} of {name} cannot be used: {error}") from error
