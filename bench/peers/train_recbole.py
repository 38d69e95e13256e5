"""RecBole: seconds an epoch of training and seconds of a full ranking, printed as JSON.

    python train_recbole.py FOLDER MODEL BATCH DIM LENGTH EPOCHS [SECONDS]

FOLDER holds ``log/log.inter``. Every prefix of a history is a training example of its own there. With SECONDS, training
ends after that time, and the number of examples learnt until then is printed.
"""

import json
import logging
import sys
import time

from recbole.config import Config
from recbole.data import create_dataset, data_preparation
from recbole.utils import get_model, get_trainer, init_seed

folder, model, batch, dim, length, epochs = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:7])
limit = float(sys.argv[7]) if len(sys.argv) > 7 else None
logging.disable(logging.CRITICAL)
sys.argv = sys.argv[:1]  # RecBole reads it too
config = Config(
    model=model,
    dataset="log",
    config_dict={
        "data_path": folder,
        "load_col": {"inter": ["user_id", "item_id", "timestamp"]},
        "MAX_ITEM_LIST_LENGTH": length,
        "hidden_size": 100 if model == "GRU4Rec" else dim,
        "embedding_size": dim,
        "inner_size": dim,
        "n_layers": 2 if model == "SASRec" else 1,
        "num_layers": 1,
        "n_heads": 1,
        "hidden_dropout_prob": 0.2,
        "attn_dropout_prob": 0.2,
        "dropout_prob": 0.2,
        "loss_type": "CE",
        "train_neg_sample_args": None,
        "train_batch_size": batch,
        "eval_batch_size": 256,
        "eval_args": {"split": {"LS": "valid_and_test"}, "order": "TO", "mode": "full"},
        "metrics": ["Hit", "NDCG"],
        "topk": [10],
        "valid_metric": "Hit@10",
        "use_gpu": False,
        "show_progress": False,
        "checkpoint_dir": folder,
    },
)
init_seed(1, reproducibility=True)
data = create_dataset(config)
train, valid, test = data_preparation(config, data)
network = get_model(config["model"])(config, train.dataset).to(config["device"])
trainer = get_trainer(config["MODEL_TYPE"], config["model"])(config, network)
if limit:
    sizes, begin = [], time.perf_counter()

    def until_limit(loader):
        """Yield the loader's batches, and note their sizes, until the time is over."""
        for some in loader:
            yield some
            sizes.append(len(some))
            if time.perf_counter() - begin >= limit:
                return

    trainer._train_epoch(until_limit(train), 0)
    spent = time.perf_counter() - begin
    print(json.dumps({"learnt": sum(sizes), "seconds": spent, "targets": len(train.dataset)}))
    sys.exit()
seconds = []
for epoch in range(epochs):
    begin = time.perf_counter()
    trainer._train_epoch(train, epoch)
    seconds.append(time.perf_counter() - begin)
begin = time.perf_counter()
found = trainer.evaluate(test, load_best_model=False)
whole = time.perf_counter() - begin
print(
    json.dumps(
        {
            "epoch": min(seconds), "evaluation": whole, "targets": len(train.dataset), "hit": found["hit@10"],
        }
    )
)  # fmt: skip
