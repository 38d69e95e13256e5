"""Tables of finished scores, which are means without values per user: what they allow to conclude, and what not."""
