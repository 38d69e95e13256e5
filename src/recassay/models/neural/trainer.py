"""Trains any of the networks: epochs of steps, validation, and a checkpoint after every epoch.

Each step cuts its batch into parts of ``PART`` sequences, whatever the number of threads; a part has its own thread and
its own random numbers, and gradients are added in the order of the parts.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.errors import InputError, UsageError
from recassay.models.neural import checkpoint, layers
from recassay.models.neural.base import Neural
from recassay.models.neural.compute import device_of, each_part, enough_memory, one_thread
from recassay.models.neural.exam import Exam, K
from recassay.models.neural.fitted import FittedNeural
from recassay.models.neural.layers import Array, Tensor
from recassay.models.neural.lessons import Codes, Strangers, deal
from recassay.models.training import Training
from recassay.optional import need
from recassay.rng import derive

PART = 32  # sequences


def train(model: Neural, log: Interactions, training: Training) -> FittedNeural:
    """The network that has learnt from a log, from its checkpoint on if there is one."""
    need("torch", for_=model.name)
    of = min(model.epochs, training.most or model.epochs)
    what = checkpoint.about(model, log, training.validation)
    with enough_memory(model), one_thread():
        course = Course(model, log, training.validation)
        if training.checkpoint and (state := checkpoint.load(training.checkpoint, what, course.device)):
            course.restore(state)
        while len(course.told) < of and not course.stale:
            course.epoch()
            if training.checkpoint:
                checkpoint.save(training.checkpoint, what, course.state())
            if training.listener:
                training.listener(course.line, len(course.told), of)
        return FittedNeural(log, model, course.learnt, tuple(course.told))


class Course:
    """A network while it learns: its weights, what moves them, and how it went so far."""

    def __init__(self, model: Neural, log: Interactions, validation: Interactions | None) -> None:
        torch = layers.library()
        self.model, self.device, self.items = model, device_of(model), log.n_items
        self.windows, self.strangers = model.cut(Histories.of(log)), Strangers(log)
        if not len(self.windows):
            raise InputError(
                "I321",
                f"none of {log.n_users:,} users has two events in the log, so nothing ever came next",
                where=log.origin,
                hint="another split, or a model that does not read histories, such as Popular",
            )
        self.exam = Exam(log, validation) if validation is not None and len(validation) else None
        begin = model.initial(log.n_items, derive(model.seed, model.name, "weights"))
        self.weights = {name: one.requires_grad_() for name, one in layers.tensors(begin, self.device).items()}
        self.optimiser = torch.optim.Adam(self.weights.values(), lr=model.rate, fused=True)
        self.best: dict[str, Tensor] = {}
        self.told: list[tuple[float, float]] = []  # of every epoch: mean loss, hit rate

    # --- how it goes --------------------------------------------------------------------------------------------------

    @property
    def peak(self) -> int:
        """The epoch with the best hit rate, the first of those; the last epoch where nothing is validated."""
        return 1 + int(np.argmax([hits for _, hits in self.told])) if self.exam else len(self.told)

    @property
    def stale(self) -> bool:
        """Whether the model's patience is at its end."""
        return bool(self.told) and len(self.told) - self.peak >= self.model.patience

    @property
    def line(self) -> str:
        """The last epoch in words."""
        loss, hits = self.told[-1]
        worth = f", HR@{K} {hits:.4f}, best {self.told[self.peak - 1][1]:.4f} in epoch {self.peak}"
        return f"epoch {len(self.told)}: loss {loss:.4f}{worth if self.exam else ''}"

    @property
    def learnt(self) -> dict[str, Array]:
        """The weights of the best epoch."""
        return {name: one.detach().cpu().numpy().copy() for name, one in (self.best or self.weights).items()}

    def state(self) -> dict[str, Any]:
        """All that the next epoch depends on."""
        weights = {name: one.detach() for name, one in self.weights.items()}
        return {"told": self.told, "weights": weights, "best": self.best, "optimiser": self.optimiser.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.told, self.best = [tuple(one) for one in state["told"]], state["best"]
        for name, one in self.weights.items():
            one.detach().copy_(state["weights"][name])
        self.optimiser.load_state_dict(state["optimiser"])

    # --- learning -----------------------------------------------------------------------------------------------------

    def epoch(self) -> None:
        """Read all windows once, in an order of the epoch's own, and sit the exam."""
        model, number = self.model, len(self.told) + 1
        lengths = np.tile(self.windows.lengths, model.readings)
        asked = int(model.questions(lengths, np.arange(lengths.size) // len(self.windows)).sum())
        steps = -(-lengths.size // model.batch)
        wrong = 0.0
        for step, batch in enumerate(deal(lengths, model.batch, derive(model.seed, model.name, "deal", number))):
            rate = model.rate_at((number - 1) * steps + step + 1)
            # Windows of like length meet, so batches have many questions or few: each weighs the same in all of them.
            wrong += self.step(batch, number, step, rate, asked / steps)
        hits = float("nan")
        if self.exam:
            hits = self.exam.hits(model, self.weights)
            self.must_be_number(hits, number)
        self.told.append((wrong / asked, hits))
        if self.exam and self.peak == number:
            self.best = {name: one.detach().clone() for name, one in self.weights.items()}

    def step(self, batch: Codes, epoch: int, step: int, rate: float, questions: float) -> float:
        """Move the weights down the gradient of a batch; its loss, summed over questions."""
        torch, model = layers.library(), self.model

        def part(begin: int, end: int) -> tuple[float, tuple[Tensor, ...]]:
            rng = derive(model.seed, model.name, "part", epoch, step, begin)
            lesson = model.lesson(self.windows.excerpts(batch[begin:end], pad=self.items), self.strangers, rng)
            generator = torch.Generator(self.device).manual_seed(int(rng.integers(2**62)))
            tokens, lengths, places, targets, others = (self.tensor(one) for one in lesson.arrays)
            # The same memory under handles of its own: threads that share a leaf of PyTorch can wait for one another.
            weights = {name: one.detach().requires_grad_() for name, one in self.weights.items()}
            states = model.states(weights, tokens, lengths, places, layers.dropping(generator))
            wrong = model.wrong(weights, states, targets, others)
            return wrong.item(), torch.autograd.grad(wrong, [*weights.values()])

        losses, gradients = zip(*each_part(part, batch.size, size=PART, device=self.device), strict=True)
        total: float = sum(losses)
        self.must_be_number(total, epoch)
        for weights, several in zip(self.weights.values(), zip(*gradients, strict=True), strict=True):
            weights.grad = functools.reduce(torch.add, several) / questions
        self.optimiser.param_groups[0]["lr"] = rate
        self.optimiser.step()
        return total

    def tensor(self, array: Codes) -> Tensor:
        """An array where the weights are."""
        return layers.library().from_numpy(array).to(self.device)

    def must_be_number(self, found: float, epoch: int) -> None:
        """Refuse to go on with weights that are lost."""
        if not math.isfinite(found):
            raise UsageError(
                "U142",
                f"{self.model.name} lost its way in epoch {epoch}: its loss or its states are no numbers any more",
                where=str(self.model),
                hint=f"a smaller rate than {self.model.rate:g}, from a new checkpoint",
            )
