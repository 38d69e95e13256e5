"""Training of networks: epochs of steps, validation, and a checkpoint after every epoch.

Each step splits its batch into chunks of ``SEQUENCES_PER_CHUNK`` sequences, for any number of threads. A chunk has its
own thread and random numbers, and gradients are added in the order of chunks.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from recassay import threads
from recassay.data.interactions import Interactions
from recassay.errors import InputError, UsageError
from recassay.models.base.training import Training
from recassay.models.neural import checkpoint, layers
from recassay.models.neural.base import Neural
from recassay.models.neural.batches import Codes, shuffled_batches
from recassay.models.neural.compute import device_of, enough_memory, map_chunks, one_thread
from recassay.models.neural.fitted import FittedNeural
from recassay.models.neural.gradients import ChunkGradients, ChunkLoss, averaged
from recassay.models.neural.layers import Array, Tensor
from recassay.models.neural.validation import K, ValidationEvents
from recassay.optional import need
from recassay.rng import derive

SEQUENCES_PER_CHUNK = 32


def train(model: Neural, log: Interactions, training: Training) -> FittedNeural:
    """Return the network trained on a log; training resumes from its checkpoint if there is one."""
    need("torch", for_=model.name)
    n_epochs = min(model.epochs, training.max_epochs or model.epochs)
    what = checkpoint.fingerprint_of(model, log, training.validation)
    with enough_memory(model), one_thread(), ThreadPoolExecutor(threads.available()) as pool:
        run = TrainingRun(model, log, training.validation, pool)
        if training.checkpoint and (state := checkpoint.load(training.checkpoint, what, run.device)):
            run.restore(state)
        while len(run.epoch_results) < n_epochs and not run.out_of_patience:
            run.epoch()
            if training.checkpoint:
                checkpoint.save(training.checkpoint, what, run.state())
            if training.listener:
                training.listener(run.last_line, len(run.epoch_results), n_epochs)
        return FittedNeural(log, model, run.best_weights, tuple(run.epoch_results))


class TrainingRun:
    """A network in training: its weights, its optimiser, the results of past epochs, and threads for its steps."""

    def __init__(
        self, model: Neural, log: Interactions, validation: Interactions | None, pool: ThreadPoolExecutor
    ) -> None:
        torch = layers.torch_module()
        self.pool = pool
        self.model, self.device, self.n_items = model, device_of(model), log.n_items
        self.chunks = ChunkLoss(model, log, self.device)
        self.windows = self.chunks.windows
        if not len(self.windows):
            raise InputError(
                "I321",
                f"none of {log.n_users:,} users has two events in the log, so there is no next item to learn from",
                where=log.origin,
                hint="use another split, or a model that does not read histories, such as Popular",
            )
        self.validation = None
        if validation is not None and len(validation):
            rng = derive(model.seed, model.name, "validation")
            self.validation = ValidationEvents(log, validation, model.validation_users, rng)
        initial = model.initial_weights(log.n_items, derive(model.seed, model.name, "weights"))
        self.weights = {name: weight.requires_grad_() for name, weight in layers.tensors(initial, self.device).items()}
        self.optimiser = torch.optim.Adam(self.weights.values(), lr=model.rate, fused=True)
        self.best: dict[str, Tensor] = {}
        self.epoch_results: list[tuple[float, float]] = []  # mean loss and hit rate of every epoch

    # --- progress -----------------------------------------------------------------------------------------------------

    @property
    def best_epoch(self) -> int:
        """Return the number of the first epoch with the best hit rate; without validation, of the last epoch."""
        return (
            1 + int(np.argmax([hits for _, hits in self.epoch_results])) if self.validation else len(self.epoch_results)
        )

    @property
    def out_of_patience(self) -> bool:
        """Return whether ``patience`` epochs have passed since the best one."""
        return bool(self.epoch_results) and len(self.epoch_results) - self.best_epoch >= self.model.patience

    @property
    def last_line(self) -> str:
        """Return a line about the last epoch: its loss; with validation its hit rate (95 % interval) and the best."""
        loss, hits = self.epoch_results[-1]
        line = f"epoch {len(self.epoch_results)}: loss {loss:.4f}"
        if self.validation is None:
            return line
        best = self.epoch_results[self.best_epoch - 1][1]
        interval, users = f"±{self.validation.half_width(hits):.4f}", f"{len(self.validation.events):,} users"
        return f"{line}, HR@{K} {hits:.4f} {interval} ({users}), best {best:.4f} in epoch {self.best_epoch}"

    @property
    def best_weights(self) -> dict[str, Array]:
        """Return the weights of the best epoch as arrays; without validation, those of the last epoch."""
        return {name: weight.detach().cpu().numpy().copy() for name, weight in (self.best or self.weights).items()}

    def state(self) -> dict[str, Any]:
        """Return all values that the next epoch depends on, for a checkpoint."""
        weights = {name: weight.detach() for name, weight in self.weights.items()}
        return {
            "epoch_results": self.epoch_results,
            "weights": weights,
            "best": self.best,
            "optimiser": self.optimiser.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the state of a checkpoint."""
        self.epoch_results, self.best = [tuple(result) for result in state["epoch_results"]], state["best"]
        for name, weight in self.weights.items():
            weight.detach().copy_(state["weights"][name])
        self.optimiser.load_state_dict(state["optimiser"])

    # --- training -----------------------------------------------------------------------------------------------------

    def epoch(self) -> None:
        """Train on all windows in the random order of this epoch, then validate."""
        model, number = self.model, len(self.epoch_results) + 1
        lengths = np.tile(self.windows.lengths, model.passes)
        n_targets = int(model.n_targets(lengths, np.arange(lengths.size) // len(self.windows)).sum())
        steps = -(-lengths.size // model.batch)
        loss = 0.0
        for step, batch in enumerate(
            shuffled_batches(lengths, model.batch, derive(model.seed, model.name, "deal", number))
        ):
            rate = model.learning_rate((number - 1) * steps + step + 1, model.epochs * steps)
            # Batches have windows of similar length, so their numbers of targets differ; each target weighs the same.
            loss += self.step(batch, number, step, rate, n_targets / steps)
        hits = float("nan")
        if self.validation:
            hits = self.validation.hits(model, self.weights)
            self.require_finite(hits, number)
        self.epoch_results.append((loss / n_targets, hits))
        if self.validation and self.best_epoch == number:
            self.best = {name: weight.detach().clone() for name, weight in self.weights.items()}

    def step(self, batch: Codes, epoch: int, step: int, rate: float, n_targets: float) -> float:
        """Update the weights by the gradient of a batch of windows; return its loss, summed over targets.

        ``batch`` has the numbers of the windows; ``epoch`` and ``step`` seed the random draws. ``rate`` is the learning
        rate, and ``n_targets`` divides the gradient.
        """
        model, candidates = self.model, self.chunks.draw(epoch, step)

        def chunk(begin: int, end: int) -> ChunkGradients:
            rng = derive(model.seed, model.name, "part", epoch, step, begin)
            return self.chunks.gradients(self.weights, batch[begin:end], candidates, rng)

        found = map_chunks(chunk, batch.size, size=SEQUENCES_PER_CHUNK, device=self.device, pool=self.pool)
        total: float = sum(one.loss for one in found)
        self.require_finite(total, epoch)
        for name, weight in self.weights.items():
            weight.grad = averaged(found, n_targets, name, weight, is_table=name in model.item_tables)
        if model.clip:
            layers.torch_module().nn.utils.clip_grad_norm_(self.weights.values(), model.clip)
        self.optimiser.param_groups[0]["lr"] = rate
        self.optimiser.step()
        return total

    def require_finite(self, found: float, epoch: int) -> None:
        """Raise U142 if ``found``, a loss or hit rate, is not finite: the weights are useless then."""
        if not math.isfinite(found):
            raise UsageError(
                "U142",
                f"{self.model.name} diverged in epoch {epoch}: its loss or its states are NaN or infinite",
                where=str(self.model),
                hint=f"use a rate below {self.model.rate:g}, with a new checkpoint",
            )
