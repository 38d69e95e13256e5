"""``ra.score`` with one keyword for every option, for tests that vary them."""

from dataclasses import fields

import recassay as ra

OBJECTS = {
    "conventions": ra.options.ConventionOptions,
    "execution": ra.options.Execution,
    "columns": ra.options.ReadOptions,
    "interval": ra.options.Uncertainty,
    "groups": ra.options.GroupOptions,
    "within": ra.options.Until,
}


def score(*arguments, **keywords):
    """Call ``ra.score``; keywords that are fields of its options objects go into these objects."""
    for name, kind in OBJECTS.items():
        known = {field.name for field in fields(kind)} - {name}
        options = {key: keywords.pop(key) for key in known & keywords.keys()}
        if options:
            first = [keywords.pop(name)] if name in keywords else []
            keywords[name] = kind(*first, **options)
    return ra.score(*arguments, **keywords)
