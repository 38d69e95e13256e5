"""Array layouts behind the data types: integer codes for ids, rows grouped into lists, stable orders and hashes of
rows.
"""
