"""Raw outputs to scores of whole images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inference_models.errors import ModelRuntimeError


class TestClassification:
    """Scores of whole images."""

    @pytest.mark.parametrize(
        ("post", "expected"),
        [
            (None, np.exp([1, 2, 3]) / np.exp([1, 2, 3]).sum()),
            ({"type": "softmax"}, np.exp([1, 2, 3]) / np.exp([1, 2, 3]).sum()),
            ({"type": "sigmoid"}, 1 / (1 + np.exp([-1.0, -2, -3]))),
            ({"type": "softmax", "fused": True}, [1, 2, 3]),
        ],
    )
    def test_the_activation_is_the_package_s(
        self, make_package: Any, post_process: Any, post: dict[str, Any] | None, expected: Any
    ) -> None:
        """Scores are activated as declared, and not twice."""
        package = make_package("classifier", "classification", post_processing=post)
        found = post_process(package, {"a": [1.0, 2, 3]})
        np.testing.assert_allclose(found.confidence, expected, rtol=1e-5)
        assert found.class_id == 2

    def test_several_labels(self, make_package: Any, post_process: Any) -> None:
        """Every class is judged by itself, a score equal to the threshold is enough."""
        package = make_package("classifier", "multi-label-classification")
        found = post_process(package, {"a": [0.0, 3, -3]}, confidence=0.5)
        assert found.class_ids.tolist() == [0, 1]
        assert len(post_process(package, {"a": [-9.0] * 3}).class_ids) == 0

    def test_removed_classes_have_no_score(self, make_package: Any, post_process: Any) -> None:
        """Numbers and thresholds follow the model's classes."""
        removal = [{"type": "class_name_removal", "class_name": "cat"}]
        package = make_package(
            "classifier", "multi-label-classification", class_names_operations=removal
        )
        found = post_process(package, {"a": [9.0, 3, -3]})
        assert (found.class_ids.tolist(), found.class_names) == ([0], ("dog", "fox"))

    def test_another_number_of_scores_is_named(self, make_package: Any, post_process: Any) -> None:
        """One number a class, or an error."""
        package = make_package("classifier", "classification")
        with pytest.raises(ModelRuntimeError, match=r"3 numbers an image.*got \[4\]"):
            post_process(package, {"a": [0.0] * 4})
