"""The network: sizes, shapes, first weights, deployment."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from inference_models.errors import ModelInputError
from inference_models.families.native import SCALES, DetectorConfig

torch = pytest.importorskip("torch")

from inference_models.families.native.blocks import ConvNorm, SpatialAttention  # noqa: E402
from inference_models.families.native.detector import NativeDetector  # noqa: E402

# Parameters at 80 classes, oriented ones at 15, keypoints with 17 points.
PARAMETERS = {
    "n": {"detect": 2437552, "segment": 2717284, "oriented": 2563976, "pose": 2548204},
    "s": {"detect": 9609632, "segment": 10665440, "oriented": 10120782, "pose": 9983184},
    "m": {"detect": 20132032, "segment": 23374848, "oriented": 21009774, "pose": 20752880},
    "l": {"detect": 24363712, "segment": 27606528, "oriented": 25241454, "pose": 24984560},
    "x": {"detect": 54672216, "segment": 61899656, "oriented": 56652248, "pose": 56000752},
}
CASES = [(scale, task) for scale, tasks in PARAMETERS.items() for task in tasks]


def _described(task: str, scale: str, class_count: int | None = None) -> Any:
    """A detector without memory for its weights."""
    classes = class_count or (15 if task == "oriented" else 80)
    with torch.device("meta"):
        return NativeDetector(
            DetectorConfig(task, scale, classes, keypoint_count=17 if task == "pose" else 0)
        )


def _count(module: Any) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


class TestParameterCounts:
    """The published sizes of the architecture."""

    @pytest.mark.parametrize(("scale", "task"), CASES)
    def test_published(self, scale: str, task: str) -> None:
        """Every scale has exactly the published number of parameters in every task."""
        assert _count(_described(task, scale)) == PARAMETERS[scale][task]

    def test_parts_of_nano(self) -> None:
        """Backbone, neck and head of nano have their published shares."""
        model = _described("detect", "n")
        assert [_count(part) for part in (model.backbone, model.neck, model.head)] == [
            1284496,
            947456,
            205600,
        ]
        assert model.backbone.channels == (128, 128, 256)
        assert model.neck.channels == (64, 128, 256)

    def test_tensors_of_nano(self) -> None:
        """Nano has the published number of tensors, matrices and shapes of matrices."""
        model = _described("detect", "n")
        parameters = list(model.parameters())
        matrices = [one for one in parameters if one.dim() > 1]
        shapes = {(one.shape[0], one[0].numel()) for one in matrices}
        assert (len(parameters), len(matrices), len(shapes)) == (369, 127, 41)
        assert len(list(model.buffers())) == 345

    @pytest.mark.parametrize(("classes", "count"), [(4, 2414600), (1, 2413694)])
    def test_few_classes(self, classes: int, count: int) -> None:
        """The class stems shrink with the classes."""
        assert _count(_described("detect", "n", classes)) == count

    def test_deployed_nano_segmentation(self) -> None:
        """Deployment leaves out one branch and the auxiliary class map."""
        assert _count(_described("segment", "n").deploy()) == 2717284 - 5200 - 152690

    @pytest.mark.parametrize("task", ["detect", "segment", "oriented", "pose"])
    def test_scales_below_nano_fit_their_limit(self, task: str) -> None:
        """The small scales fall in size, and all up to nano fit 12 MB in half precision."""
        counts = [_count(_described(task, scale)) for scale in ("p", "t", "n")]
        assert counts == sorted(counts)
        assert counts[0] < 420_000 < counts[1] < 1_200_000
        assert 2 * counts[2] < 12e6
        assert list(SCALES)[:3] == ["p", "t", "n"]


class TestConvolutionWork:
    """Multiplications of the convolutions of nano."""

    @pytest.mark.parametrize(("deployed", "gigaflops"), [(True, 1.309), (False, 1.362)])
    def test_published(self, deployed: bool, gigaflops: float) -> None:
        """At 320 px nano does the published work, with one branch and with both."""
        model = _described("detect", "n").eval()
        work = 0

        def note(module: Any, _: Any, output: Any) -> None:
            nonlocal work
            kernel = module.weight[0].numel()
            work += 2 * kernel * output.numel()

        for module in model.modules():
            if isinstance(module, torch.nn.Conv2d):
                module.register_forward_hook(note)
        images = torch.zeros(1, 3, 320, 320, device="meta")
        (model.deploy() if deployed else model)(images)
        assert work / 1e9 == pytest.approx(gigaflops, abs=1e-3)


class TestForward:
    """`NativeDetector.forward`."""

    @pytest.mark.parametrize("task", ["detect", "segment", "oriented", "pose"])
    def test_shapes(self, task: str, make_detector: Callable[..., Any]) -> None:
        """Each task has its own outputs and the holes of the others."""
        model = make_detector(task, lively=False).train()
        outputs = model(torch.rand(2, 3, 64, 96))
        anchors = 8 * 12 + 4 * 6 + 2 * 3
        assert outputs.anchors.points.shape == (anchors, 2)
        assert outputs.anchors.strides.shape == (anchors, 1)
        assert [tuple(one.shape[2:]) for one in outputs.features] == [(8, 12), (4, 6), (2, 3)]
        for branch in (outputs.one_to_many, outputs.one_to_one):
            assert branch.class_logits.shape == (2, anchors, 3)
            assert branch.distances.shape == (2, anchors, 4)
            extras = {
                "segment": (branch.coefficients, (2, anchors, 32)),
                "oriented": (branch.angles, (2, anchors, 1)),
                "pose": (branch.keypoints, (2, anchors, 2, 2)),
            }
            for name, (value, shape) in extras.items():
                assert (None if value is None else value.shape) == (shape if name == task else None)
            assert (branch.keypoint_spreads is None) == (branch.keypoints is None)
        assert (outputs.prototypes is not None) == (task == "segment")
        if task == "segment":
            assert outputs.prototypes.shape == (2, 32, 16, 24)
            assert outputs.semantic_logits.shape == (2, 3, 8, 12)
            assert model.eval()(torch.rand(1, 3, 64, 64)).semantic_logits is None

    def test_rows_stand_at_their_anchors(self, make_detector: Callable[..., Any]) -> None:
        """The order of the answers is that of the anchors: rows of a level, then the next level."""
        model = make_detector("detect")
        outputs = model(torch.rand(1, 3, 64, 96))
        level = model.head.one_to_one.classes[1](outputs.features[1])
        row, column = 2, 5
        place = 8 * 12 + row * 6 + column
        assert torch.equal(outputs.one_to_one.class_logits[0, place], level[0, :, row, column])
        assert outputs.anchors.points[place].tolist() == [(column + 0.5) * 16, (row + 0.5) * 16]
        assert outputs.anchors.strides[place].item() == 16

    def test_points_are_written_point_by_point(self, make_detector: Callable[..., Any]) -> None:
        """A point's channels are x, y and the two spreads, one point after the other."""
        model = make_detector("pose")
        outputs = model(torch.rand(1, 3, 64, 64))
        level = model.head.one_to_one.keypoints[0](outputs.features[0])[0, :, 0, 0]
        branch = outputs.one_to_one
        assert torch.equal(branch.keypoints[0, 0].flatten(), level[[0, 1, 4, 5]])
        assert torch.equal(branch.keypoint_spreads[0, 0].flatten(), level[[2, 3, 6, 7]])

    def test_both_branches_reach_every_shared_weight(
        self, make_detector: Callable[..., Any]
    ) -> None:
        """Gradients of each branch alone flow into backbone and neck, and not into the other
        branch."""
        model = make_detector("segment", lively=False).train()
        for name, other in (("one_to_one", "one_to_many"), ("one_to_many", "one_to_one")):
            model.zero_grad()
            branch = getattr(model(torch.rand(2, 3, 64, 64)), name)
            (branch.class_logits.sum() + branch.distances.sum()).backward()
            shared = [*model.backbone.parameters(), *model.neck.parameters()]
            assert all(one.grad is not None for one in shared)
            assert all(one.grad is None for one in getattr(model.head, other).parameters())

    @pytest.mark.parametrize(
        ("shape", "message"),
        [
            ((1, 3, 60, 64), r"height and width of images must be multiples of 32, got \(60, 64\)"),
            ((1, 3, 64, 0), "must be multiples of 32"),
            ((1, 1, 64, 64), r"images must be \(b, 3, h, w\), got \[1, 1, 64, 64\]"),
            ((3, 64, 64), r"images must be \(b, 3, h, w\), got \[3, 64, 64\]"),
        ],
    )
    def test_refuses(
        self, shape: tuple[int, ...], message: str, make_detector: Callable[..., Any]
    ) -> None:
        """Images of another shape are refused by name, in training and when deployed."""
        model = make_detector("detect", lively=False)
        for network in (model, model.deploy()):
            with pytest.raises(ModelInputError, match=message):
                network(torch.zeros(shape))

    def test_anchors_keep_full_precision(self, make_detector: Callable[..., Any]) -> None:
        """A network in half precision still knows where its anchors are."""
        model = make_detector("detect").to(torch.bfloat16)
        outputs = model(torch.zeros(1, 3, 64, 64, dtype=torch.bfloat16))
        assert outputs.one_to_one.class_logits.dtype is torch.bfloat16
        assert outputs.anchors.points.dtype is torch.float32


class TestFirstWeights:
    """What a fresh detector starts from."""

    @pytest.mark.parametrize("task", ["segment", "oriented", "pose"])
    def test_a_task_changes_no_other_weight(
        self, task: str, make_detector: Callable[..., Any]
    ) -> None:
        """The same seed gives backbone, neck, boxes and classes the same weights in every task."""
        plain = make_detector("detect", lively=False).state_dict()
        other = make_detector(task, lively=False).state_dict()
        assert plain.keys() < other.keys()
        assert all(torch.equal(value, other[name]) for name, value in plain.items())

    def test_scores_open_at_the_prior(self, make_detector: Callable[..., Any]) -> None:
        """Every class score of every branch starts at about one percent."""
        model = make_detector("segment", lively=False).eval()
        bias = -math.log(99)
        stems = [*model.head.one_to_many.classes, *model.head.one_to_one.classes]
        assert all(torch.allclose(stem[-1].bias, torch.tensor(bias)) for stem in stems)
        assert torch.allclose(model.semantic.classify.bias, torch.tensor(bias))
        scores = model(torch.rand(1, 3, 64, 64)).one_to_many.class_logits.sigmoid()
        assert scores.mean().item() == pytest.approx(0.01, abs=2e-3)

    def test_another_prior(self, make_detector: Callable[..., Any]) -> None:
        """The prior can be chosen."""
        model = make_detector("detect", lively=False)
        model.initialise_biases(0.2)
        assert model.head.one_to_one.classes[0][-1].bias[0].sigmoid().item() == pytest.approx(0.2)


class TestDeploy:
    """`NativeDetector.deploy`."""

    @pytest.mark.parametrize("branch", ["one_to_one", "one_to_many"])
    def test_answers_as_the_branch(self, branch: Any, make_detector: Callable[..., Any]) -> None:
        """The view shares its weights and answers as the chosen branch of the whole network."""
        model = make_detector("segment")
        deployed = model.deploy(branch)
        images = torch.rand(2, 3, 64, 64)
        with torch.inference_mode():
            whole, part = model(images), deployed(images)
        assert torch.equal(part.branch.class_logits, getattr(whole, branch).class_logits)
        assert torch.equal(part.branch.coefficients, getattr(whole, branch).coefficients)
        assert torch.equal(part.prototypes, whole.prototypes)
        own = {id(one) for one in model.parameters()}
        assert all(id(one) in own for one in deployed.parameters())
        assert not any("one_to" in name for name in deployed.state_dict())


class TestFuse:
    """`NativeDetector.fuse`."""

    @pytest.mark.parametrize("task", ["detect", "segment", "pose"])
    def test_answers_as_before(self, task: str, make_detector: Callable[..., Any]) -> None:
        """Folding the normalisations changes no answer beyond rounding, and not the original."""
        model = make_detector(task).double()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        fused = model.fuse()
        images = torch.rand(2, 3, 64, 96, dtype=torch.float64)
        with torch.inference_mode():
            plain, folded = model.deploy()(images), fused(images)
        close = {"rtol": 1e-9, "atol": 1e-9}
        torch.testing.assert_close(folded.branch.class_logits, plain.branch.class_logits, **close)
        torch.testing.assert_close(folded.branch.distances, plain.branch.distances, **close)
        if task == "segment":
            torch.testing.assert_close(folded.prototypes, plain.prototypes, **close)
        assert not any(isinstance(one, torch.nn.BatchNorm2d) for one in fused.modules())
        assert not any(one.requires_grad for one in fused.parameters())
        after = model.state_dict()
        assert before.keys() == after.keys()
        assert all(torch.equal(before[name], after[name]) for name in before)

    def test_fold_uses_the_running_statistics(self) -> None:
        """A folded convolution is the convolution and its normalisation in one."""
        layer = ConvNorm(2, 3, 3, linear=True).eval()
        with torch.no_grad():
            layer.norm.running_mean.copy_(torch.tensor([1.0, -2.0, 0.5]))
            layer.norm.running_var.copy_(torch.tensor([4.0, 0.25, 1e-8]))
            layer.norm.weight.copy_(torch.tensor([2.0, -1.0, 0.1]))
        images = torch.rand(1, 2, 5, 7)
        with torch.inference_mode():
            before = layer(images)
            layer.fold_norm()
            assert layer.norm is None
            torch.testing.assert_close(layer(images), before, rtol=1e-5, atol=1e-5)


class TestSpatialAttention:
    """`SpatialAttention`."""

    def test_against_the_formula(self) -> None:
        """Each head mixes its values by the softmax of its scaled queries and keys."""
        torch.manual_seed(3)
        layer = SpatialAttention(128).eval()
        assert (layer.heads, layer.value_channels, layer.key_channels) == (2, 64, 32)
        images = torch.rand(1, 128, 3, 4)
        with torch.inference_mode():
            mixed = layer.query_key_value(images)[0].reshape(2, 128, 12)
            parts = []
            for head in mixed:
                query, key, value = head[:32], head[32:64], head[64:]
                weights = torch.softmax(query.T @ key / 32**0.5, dim=1)
                parts.append((weights @ value.T).T)
            attended = torch.cat(parts).reshape(1, 128, 3, 4)
            values = mixed[:, 64:].reshape(1, 128, 3, 4)
            expected = layer.project(attended + layer.position(values))
            torch.testing.assert_close(layer(images), expected, rtol=1e-5, atol=1e-5)
