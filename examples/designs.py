# %% [markdown]
# # The winner depends on the design
#
# Five systems, one scoring pass each, and every way papers choose what a relevant item must beat.

# %%
import polars as pl

import recassay as ra
from recassay.data.synthetic import log

pl.Config(tbl_rows=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=4)

# %% [markdown]
# A generated log: long-tailed, as real ones are. Each rating is in the test part with a chance of one in five.

# %%
fold = ra.split.random(test=0.2, seed=7)(log(users=600, items=300, events=12_000, seed=1))[0]
models = {
    "popular": ra.models.Popular(),
    "neighbours": ra.models.UserKNN(neighbours=50),
    "svd": ra.models.PureSVD(factors=10),
    "plsa": ra.models.PLSA(factors=10),
    "random": ra.models.Random(),
}
runs = {name: ra.play(model, fold, ra.protocols.ranking(), name=name) for name, model in models.items()}

# %% [markdown]
# All items as candidates, or test items; all relevant items at once, or one; all others, or 50 sampled ones, uniformly
# or by popularity; within a tenth of items that are equally popular. No system is asked again, nothing is drawn.

# %%
designs = ["AI-AR-AN", "TI-AR-AN", "TI-1R-AN", "TI-1R-NN(50)", "TI-1R-NN(50, by='popularity')", "P1R"]
assay = ra.judge(runs, designs, "precision@10 ndcg@10")
print(assay.summary().filter(metric="ndcg@10").pivot("system", index="design", values="mean"))

# %% [markdown]
# Who is first, second, ... under each design:

# %%
print(assay.order("ndcg@10"))

# %% [markdown]
# And what there is to say about that:

# %%
for finding in assay.findings:
    print(finding.code, finding.severity, "-", finding.title)
    print("   ", finding.detail)
