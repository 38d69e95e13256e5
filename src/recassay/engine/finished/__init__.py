"""Tables of finished scores (means without values per user): which conclusions they allow, and which they do not."""
