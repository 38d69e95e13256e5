"""How often is each item of the catalogue shown?"""
