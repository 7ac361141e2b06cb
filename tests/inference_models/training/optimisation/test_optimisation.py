"""Optimiser, schedules and averaged weights."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from inference_models.training.optimisation import (  # noqa: E402
    MuSGD,
    WeightAverage,
    branch_share,
    learning_rate_factor,
    orthogonalise,
)


class TestOrthogonalise:
    @pytest.mark.parametrize("shape", [(64, 16), (16, 64), (8, 72)])
    def test_singular_values_come_near_one(self, shape: tuple[int, int]) -> None:
        """Those of oblong Gaussian matrices land between 0.65 and 1.25."""
        matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        values = torch.linalg.svdvals(orthogonalise(matrix))
        assert values.min() > 0.65
        assert values.max() < 1.25

    def test_square_matrices_stay_bounded(self) -> None:
        """No singular value of a square one exceeds 1.25; small ones may stay small."""
        matrix = torch.randn(64, 64, generator=torch.Generator().manual_seed(0))
        assert torch.linalg.svdvals(orthogonalise(matrix)).max() < 1.25

    def test_singular_vectors_stay(self) -> None:
        """Only the singular values change: U' * result * V is diagonal."""
        matrix = torch.randn(6, 10, generator=torch.Generator().manual_seed(1)).double()
        u, _, vh = torch.linalg.svd(matrix, full_matrices=False)
        core = u.T @ orthogonalise(matrix) @ vh.T
        assert (core - torch.diag(core.diagonal())).abs().max() < 1e-5

    def test_zeros_stay_zeros(self) -> None:
        """A matrix without direction gets none."""
        assert orthogonalise(torch.zeros(4, 7)).abs().sum() == 0

    def test_zero_columns_change_nothing(self) -> None:
        """Columns of zeros leave the rest as it is."""
        matrix = torch.randn(16, 40, generator=torch.Generator().manual_seed(2))
        padded = torch.cat([matrix, torch.zeros(16, 24)], 1)
        assert torch.allclose(orthogonalise(padded)[:, :40], orthogonalise(matrix), atol=1e-6)

    def test_many_at_once(self) -> None:
        """A stack gives what its matrices give one by one."""
        stack = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(3))
        single = torch.stack([orthogonalise(one) for one in stack])
        assert torch.allclose(orthogonalise(stack), single, atol=1e-6)


def with_gradient(shape: tuple[int, ...], seed: int = 0) -> nn.Parameter:
    generator = torch.Generator().manual_seed(seed)
    parameter = nn.Parameter(torch.randn(shape, generator=generator))
    parameter.grad = torch.randn(shape, generator=generator)
    return parameter


class TestMuSGD:
    def test_vector_moves_by_nesterov_momentum_without_decay(self) -> None:
        """Two steps of a constant gradient, by hand."""
        parameter = with_gradient((5,))
        start, gradient = parameter.detach().clone(), parameter.grad.clone()
        optimiser = MuSGD([parameter], lr=0.1, momentum=0.9, weight_decay=0.5)
        optimiser.step()
        optimiser.step()
        first = gradient + 0.9 * gradient
        second = gradient + 0.9 * (1.9 * gradient)
        assert torch.allclose(parameter.detach(), start - 0.1 * (first + second), atol=1e-6)

    @pytest.mark.parametrize("shape", [(4, 6), (6, 2, 3, 3), (5, 1, 3, 3)])
    def test_matrix_moves_by_both_updates_and_decay(self, shape: tuple[int, ...]) -> None:
        """0.5 * 0.2 * sqrt(longest side) * O + 0.5 * n + decay * W; kernels count as matrices."""
        parameter = with_gradient(shape)
        start, gradient = parameter.detach().clone(), parameter.grad.clone()
        MuSGD([parameter], lr=0.1, momentum=0.95, weight_decay=5e-4).step()
        update = 1.95 * gradient
        matrix = update.reshape(shape[0], -1)
        turned = orthogonalise(matrix).reshape(shape)
        longest = max(matrix.shape)
        expected = 0.1 * math.sqrt(longest) * turned + 0.5 * update + 5e-4 * start
        assert torch.allclose(parameter.detach(), start - 0.1 * expected, atol=1e-6)

    def test_parameter_without_gradient_is_skipped(self) -> None:
        """Neither it nor its momentum changes."""
        moving, resting = with_gradient((3, 3)), with_gradient((3, 3), 1)
        optimiser = MuSGD([moving, resting], lr=0.1)
        optimiser.step()
        buffer = optimiser.state[resting]["momentum_buffer"].clone()
        before = resting.detach().clone()
        resting.grad = None
        optimiser.step()
        assert torch.equal(resting.detach(), before)
        assert torch.equal(optimiser.state[resting]["momentum_buffer"], buffer)

    def test_state_survives_saving(self) -> None:
        """A loaded optimiser goes on as the saved one does."""
        first, second = with_gradient((4, 4)), with_gradient((4, 4))
        one, other = MuSGD([first], lr=0.1), MuSGD([second], lr=0.1)
        one.step()
        second.data.copy_(first.data)
        other.load_state_dict(copy.deepcopy(one.state_dict()))
        one.step()
        other.step()
        assert torch.equal(first, second)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"lr": -1.0}, "lr must be"),
            ({"momentum": 1.0}, "momentum must be"),
            ({"weight_decay": -0.1}, "weight_decay must be"),
            ({"ns_steps": 0}, "ns_steps must be"),
            ({"ns_steps": 2.0}, "ns_steps must be"),
        ],
    )
    def test_refuses(self, changes: dict[str, Any], message: str) -> None:
        """Values out of range are refused with their name."""
        with pytest.raises(ValueError, match=message):
            MuSGD([with_gradient((2,))], **changes)

    def test_small_regression(self) -> None:
        """A small regression falls below its bound in about 47 steps."""
        images = torch.randn(8, 3, 8, 8, generator=torch.Generator().manual_seed(101))
        matrix = torch.randn(192, 4, generator=torch.Generator().manual_seed(202))
        wanted = images.flatten(1) @ matrix
        torch.manual_seed(303)
        layers = [nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1)]
        network = nn.Sequential(*layers, nn.ReLU(), nn.Flatten(), nn.Linear(512, 4))
        optimiser = MuSGD(network.parameters(), lr=0.003, momentum=0.95)
        steps = 0
        while (loss := (network(images) - wanted).square().mean()) >= 0.1 and steps < 100:
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            steps += 1
        assert 32 <= steps <= 62


class TestLearningRateFactor:
    def test_rise_and_fall(self) -> None:
        """The first step has 1 / W, the end of the rise 1, the end the final factor."""
        factors = [learning_rate_factor(step, 100, 10, 0.01) for step in range(101)]
        assert factors[0] == pytest.approx(0.1)
        assert factors[9] == pytest.approx(1.0)
        assert factors[10] == pytest.approx(1.0)
        assert factors[55] == pytest.approx(1 - 0.99 / 2)
        assert factors[100] == pytest.approx(0.01)

    def test_constant(self) -> None:
        """No rise and a final factor of one keep the rate."""
        assert {learning_rate_factor(step, 20, 0, 1.0) for step in range(30)} == {1.0}


class TestBranchShare:
    def test_ends_and_middle(self) -> None:
        """0.8 first, 0.1 last, the mean half-way."""
        assert branch_share(0, 11) == pytest.approx(0.8)
        assert branch_share(5, 11) == pytest.approx(0.45)
        assert branch_share(10, 11) == pytest.approx(0.1)

    def test_one_epoch(self) -> None:
        """A training of one epoch has the first share."""
        assert branch_share(0, 1) == pytest.approx(0.8)


class TestWeightAverage:
    def test_recurrence(self) -> None:
        """shadow = d * shadow + (1 - d) * live with d = decay * (1 - exp(-u / warmup))."""
        model = nn.BatchNorm1d(2)
        average = WeightAverage(model, decay=0.9, warmup=3)
        expected = model.weight.detach().clone()
        for update in range(1, 5):
            with torch.no_grad():
                model.weight.mul_(1.5)
            average.update(model)
            decay = 0.9 * (1 - math.exp(-update / 3))
            expected = decay * expected + (1 - decay) * model.weight.detach()
        assert torch.allclose(average.shadow["weight"], expected)
        assert "running_mean" in average.shadow
        assert "num_batches_tracked" not in average.shadow

    def test_applied_and_restored(self) -> None:
        """The model has the averages inside the block only, also when the block fails."""
        model = nn.Linear(2, 2)
        average = WeightAverage(model)
        shadow = average.shadow["weight"].clone()
        with torch.no_grad():
            model.weight.add_(1)
        live = model.weight.detach().clone()

        def fail_inside() -> None:
            with average.applied_to(model):
                assert torch.equal(model.weight.detach(), shadow)
                raise RuntimeError("inside")

        with pytest.raises(RuntimeError, match="inside"):
            fail_inside()
        assert torch.equal(model.weight.detach(), live)

    def test_state_of_another_model(self) -> None:
        """Names that do not fit are refused."""
        state = WeightAverage(nn.Linear(2, 2)).state_dict()
        with pytest.raises(ValueError, match="another model"):
            WeightAverage(nn.BatchNorm1d(2)).load_state_dict(state)
