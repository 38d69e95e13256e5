"""Studies: a file that says which systems are judged on which data and how, and the folder of what came out.

reading  ->  schema  ->  plan      a file, then plain values, then things that can be used
sources, lock, rehearse            the data, everything resolved in writing, and a trial on a small part
shelf, verdict, record             what is kept, what it is worth, and all that was found
runner  ->  run, sequences         the order of it all, for ranked lists and for generated sequences
"""
