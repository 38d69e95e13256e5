"""Training of networks: epochs of steps, validation, and a checkpoint after every epoch.

Each step splits its batch into chunks of ``SEQUENCES_PER_CHUNK`` sequences, for any number of threads. A chunk has its
own thread, random numbers and copy of the network, which shares the weights; gradients are added in the order of
chunks.

A checkpoint has all that the next epoch depends on, and identifies the model and the log. Reading it runs no code.
Random numbers are not in it: each is drawn from a seed that says what it is for, and the epoch is part of that.
"""

from __future__ import annotations

import functools
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from recassay import threads
from recassay.arrays import Int64
from recassay.columnar.layout import row_groups
from recassay.data.interactions import Interactions
from recassay.data.io.write import atomic
from recassay.data.sequences import Histories
from recassay.errors import InputError, UsageError
from recassay.models.base.capabilities import Training
from recassay.models.base.model import require_same_items
from recassay.models.neural import losses
from recassay.models.neural.base import (
    Drop,
    FittedNeural,
    Neural,
    initial_weights,
    last_items,
    network_of,
    on_device,
    read_states,
    vectors_of_items,
)
from recassay.models.neural.batches import CandidateSampler, NegativeSampler, shuffled_batches
from recassay.models.neural.compute import (
    Network,
    Tensor,
    device_of,
    enough_memory,
    map_chunks,
    one_thread,
    torch_module,
)
from recassay.optional import need
from recassay.rng import derive

SEQUENCES_PER_CHUNK = 32
VALIDATION_USERS = 5_000  # whose events are predicted after every epoch, at most
USERS_PER_CHUNK = 128  # users whose scores of all items are in memory at once
K = 10


def train(model: Neural, log: Interactions, training: Training) -> FittedNeural:
    """Return the network trained on a log; training resumes from its checkpoint if there is one."""
    need("torch", for_=model.name)
    n_epochs = min(model.epochs, training.max_epochs or model.epochs)
    with enough_memory(model), one_thread(), ThreadPoolExecutor(threads.available()) as pool:
        run = TrainingRun(model, log, training.validation, pool)
        if training.checkpoint and training.checkpoint.exists():
            run.restore(training.checkpoint)
        while len(run.epoch_results) < n_epochs and not run.out_of_patience:
            run.epoch()
            if training.checkpoint:
                run.save(training.checkpoint)
            if training.listener:
                training.listener(run.last_line, len(run.epoch_results), n_epochs)
        weights = {name: weight.cpu().numpy().copy() for name, weight in (run.best or run.network.state_dict()).items()}
        return FittedNeural(log, model, weights, tuple(run.epoch_results))


class TrainingRun:
    """A network in training: its weights, its optimiser, the results of past epochs, and threads for its steps."""

    def __init__(
        self, model: Neural, log: Interactions, validation: Interactions | None, pool: ThreadPoolExecutor
    ) -> None:
        self.model, self.device, self.pool, self.n_items = model, device_of(model), pool, log.n_items
        self.windows = model.windows_of(Histories.of(log))
        if not len(self.windows):
            raise InputError(
                "I321",
                f"none of {log.n_users:,} users has two events in the log, so there is no next item to learn from",
                where=log.origin,
                hint="use another split, or a model that does not read histories, such as Popular",
            )
        self.loss = model.loss_for(log.n_items)
        self.negatives = NegativeSampler(log)
        self.candidates = CandidateSampler(log, model.negatives, uniform=self.loss == "gbce")
        self.about = {name: value for name, value in model.parameters.items() if name != "device"}
        self.about |= {"model": model.name, "log": _rows_and_digest(log), "validation": _rows_and_digest(validation)}
        self.validation = None
        if validation is not None and len(validation):
            self.validation = ValidationEvents(log, validation, derive(model.seed, model.name, "validation"))
        initial = initial_weights(model, log.n_items, derive(model.seed, model.name, "weights"))
        self.network = network_of(model, on_device(initial, self.device))
        self.replicas: dict[int, Network] = {}  # of chunks, by the number of their first sequence
        self.optimiser = torch_module().optim.Adam(self.network.parameters(), lr=model.rate, fused=True)
        self.best: dict[str, Tensor] = {}
        self.epoch_results: list[tuple[float, float]] = []  # mean loss and hit rate of every epoch

    # --- progress -----------------------------------------------------------------------------------------------------

    @property
    def best_epoch(self) -> int:
        """Return the number of the first epoch with the best hit rate; without validation, of the last epoch."""
        hits = [hits for _, hits in self.epoch_results]
        return 1 + int(np.argmax(hits)) if self.validation else len(hits)

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
        best, events = self.epoch_results[self.best_epoch - 1][1], self.validation.events
        interval = 1.959964 * math.sqrt(hits * (1 - hits) / events.items.size)  # as if a user had one event
        users = f"{len(events):,} users"
        return f"{line}, HR@{K} {hits:.4f} ±{interval:.4f} ({users}), best {best:.4f} in epoch {self.best_epoch}"

    def save(self, path: Path) -> None:
        """Write a checkpoint file, completely or not at all."""
        state = {
            "about": self.about,
            "epoch_results": self.epoch_results,
            "weights": self.network.state_dict(),
            "best": self.best,
            "optimiser": self.optimiser.state_dict(),
        }
        with atomic(path) as temporary:
            torch_module().save(state, temporary)

    def restore(self, path: Path) -> None:
        """Continue from a checkpoint; raise U141 if it is of another model or log, I104 if it is no checkpoint."""
        try:
            state = torch_module().load(path, self.device, weights_only=True)
            there = state["about"]
        except Exception as error:  # a damaged file raises almost anything
            what = f"no training can resume from {path.name}: {type(error).__name__}"
            raise InputError("I104", what, where=str(path), hint="delete it") from error
        differs = [name for name, value in self.about.items() if there.get(name) != value]
        if differs:
            shown = ["model"] if "model" in differs else differs  # parameters of another model differ anyway
            both = [f"{name} is {there.get(name)!r} in it and {self.about[name]!r} here" for name in shown]
            raise UsageError(
                "U141",
                f"{path.name} is of another training: {'; '.join(both)}",
                where=str(path),
                hint="give every training a path of its own, or delete the file to start again",
            )
        self.epoch_results, self.best = state["epoch_results"], state["best"]
        self.network.load_state_dict(state["weights"])
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
            rate = model.rate * min(1.0, ((number - 1) * steps + step + 1) / max(model.warmup, 1))
            # Batches have windows of similar length, so their numbers of targets differ; each target weighs the same.
            loss += self.step(batch, number, step, rate, n_targets / steps)
        hits = self.validation.hits(model, self.network) if self.validation else 0.0
        self.require_finite(hits, number)
        self.epoch_results.append((loss / n_targets, hits if self.validation else math.nan))
        if self.validation and self.best_epoch == number:
            self.best = {name: weight.clone() for name, weight in self.network.state_dict().items()}

    def step(self, batch: Int64, epoch: int, step: int, rate: float, n_targets: float) -> float:
        """Update the weights by the gradient of a batch of windows; return its loss, summed over targets.

        ``batch`` has the numbers of the windows; ``epoch`` and ``step`` seed the random draws. ``rate`` is the learning
        rate, and ``n_targets`` divides the gradient.
        """
        model, sampled = self.model, None
        if self.loss in ("sampled", "gbce"):
            items, weights = self.candidates.draw(derive(model.seed, model.name, "candidates", epoch, step))
            sampled = self.tensor(items), self.tensor(weights.astype(np.float32))

        def backward(begin: int, end: int) -> tuple[float, Network]:
            replica = self.replicas.get(begin) or network_of(model, self.network.state_dict())
            self.replicas[begin] = replica
            replica["embeddings"].sparse = self.loss != "softmax"
            rng = derive(model.seed, model.name, "part", epoch, step, begin)
            loss = self.loss_of(replica, batch[begin:end], sampled, rng)
            loss.backward()
            return loss.item(), replica

        chunks = map_chunks(backward, batch.size, size=SEQUENCES_PER_CHUNK, device=self.device, pool=self.pool)
        total: float = sum(loss for loss, _ in chunks)
        self.require_finite(total, epoch)
        for weight, *parts in zip(
            *(network.parameters() for network in (self.network, *dict(chunks).values())), strict=True
        ):
            gradient = functools.reduce(torch_module().add, [part.grad for part in parts])
            weight.grad = (gradient.to_dense() if gradient.is_sparse else gradient).div_(n_targets)
            for part in parts:
                part.grad = None
        self.optimiser.param_groups[0]["lr"] = rate
        self.optimiser.step()
        return total

    def loss_of(
        self, network: Network, which: Int64, sampled: tuple[Tensor, Tensor] | None, rng: np.random.Generator
    ) -> Tensor:
        """Return the loss of the windows with the numbers ``which``, summed over their targets.

        An epoch may read every window in several passes: number n x len(windows) + i is window i in pass n. ``sampled``
        are the sampled items of the step with their weights, None if the loss needs none; ``rng`` draws all else.
        """
        pass_number, number = np.divmod(which, len(self.windows))
        windows = self.windows.take(number)
        padded = last_items(windows, windows.items.size, self.n_items, least=1)
        batch = self.model.training_batch(*padded, pass_number, self.n_items, rng)
        tokens, lengths, places, targets = map(self.tensor, batch)
        negatives = None
        if self.loss == "binary":
            negatives = self.tensor(self.negatives.draw(np.asarray(windows.users)[batch[2] // batch[0].shape[1]], rng))
        drop = dropout(torch_module().Generator(self.device).manual_seed(int(rng.integers(2**62))))
        states = self.model.states(network, tokens, lengths, places, drop)
        table = self.model.table(network)
        if negatives is not None:
            return losses.binary_loss(states, table, targets, negatives, self.n_items)
        if sampled is None:
            return losses.softmax_loss(states, table[: self.n_items], targets)
        if self.loss == "sampled":
            return losses.sampled_softmax_loss(states, table, targets, *sampled)
        beta = losses.gbce_exponent(self.model.negatives, self.n_items, self.model.calibration)
        return losses.gbce_loss(states, table, targets, *sampled, beta)

    def tensor(self, array: np.ndarray[Any, Any]) -> Tensor:
        """Return an array as a tensor on the device of the network."""
        return torch_module().from_numpy(array).to(self.device)

    def require_finite(self, number: float, epoch: int) -> None:
        """Raise U142 if ``number``, a loss or hit rate of an epoch, is not finite: the weights are useless then."""
        if not math.isfinite(number):
            raise UsageError(
                "U142",
                f"{self.model.name} diverged in epoch {epoch}: its loss or its states are NaN or infinite",
                where=str(self.model),
                hint=f"use a rate below {self.model.rate:g}, with a new checkpoint",
            )


def dropout(generator: Tensor) -> Drop:
    """Return a dropout function: each number becomes 0 with probability ``rate``; others are scaled to keep the mean.

    A random 64-bit number serves four entries, which is several times faster; rates are exact to 1 in 65,536.
    """
    torch = torch_module()

    def drop(x: Tensor, rate: float) -> Tensor:
        if rate == 0:
            return x
        draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64, device=x.device)
        keys = draws.random_(-(2**63), None, generator=generator).view(torch.int16)[: x.numel()].view(x.shape)
        return x * (keys >= round(rate * 2**16) - 2**15).to(x.dtype).div_(1 - rate)

    return drop


def _rows_and_digest(log: Interactions | None) -> str:
    """Return the number of rows of a log and a digest of them as text, which tells it from other logs."""
    return "none" if log is None else f"{len(log):,} events ({log.fingerprint})"


class ValidationEvents:
    """Held-out events, to be predicted from the histories of their users in the log.

    Items that a user had in the log are not candidates. If there are more than ``VALIDATION_USERS`` users, ``rng``
    draws some of them.
    """

    def __init__(self, log: Interactions, validation: Interactions, rng: np.random.Generator) -> None:
        require_same_items(log, validation, "the validation part")
        if validation.n_users != log.n_users:
            what = f"the validation part has {validation.n_users:,} users, but the log has {log.n_users:,}"
            raise InputError("I322", what, hint="use parts of one log: log.take(rows), or a split")
        users = np.unique(validation.users)
        if users.size > VALIDATION_USERS:
            users = np.sort(rng.permutation(users)[:VALIDATION_USERS])
        self.events = Histories.of(validation).take(users)
        self.had = Histories(*log.by_user).take(users)
        self.histories = Histories.of(log).take(users)

    def hits(self, model: Neural, network: Network) -> float:
        """Return the share of events whose item is in the top 10; ties are misses. NaN if a state is not finite."""
        torch, vectors = torch_module(), vectors_of_items(model, network)
        states = read_states(model, network, self.histories)
        if not bool(states.isfinite().all()):
            return math.nan

        def row_and_item(lists: Histories, begin: int, end: int) -> tuple[Tensor, Tensor]:
            some = lists.take(np.arange(begin, end))
            row, item = (torch.from_numpy(array).to(vectors.device) for array in (row_groups(some.offsets), some.items))
            return row, item

        def count_hits(begin: int, end: int) -> int:
            with torch.inference_mode():
                scores = states[begin:end] @ vectors.T
                scores[row_and_item(self.had, begin, end)] = -float("inf")
                row, item = row_and_item(self.events, begin, end)
                own = scores[row, item]
                rank = scores[row].ge_(own[:, None]).sum(1)  # 0 and 1 in place of scores: sums of bool are slow
                return int((rank <= K).logical_and_(own > -float("inf")).sum())

        counts = map_chunks(count_hits, len(self.events), size=USERS_PER_CHUNK, device=vectors.device.type)
        return sum(counts) / self.events.items.size
