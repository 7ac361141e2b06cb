"""Pixels of the network's input, compared with a plain float computation."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_models.packages import InferenceConfig
from inference_models.preprocessing import PreProcessingOverrides, PreProcessor


def _preprocessor(steps: dict[str, Any] | None = None, **network: Any) -> PreProcessor:
    network = {"training_input_size": {"height": 8, "width": 8}, "resize_mode": "stretch"} | network
    config = {"network_input": network, "image_pre_processing": steps}
    return PreProcessor(InferenceConfig.model_validate(config))


def _run(
    preprocessor: PreProcessor, image: np.ndarray, overrides: PreProcessingOverrides | None = None
) -> np.ndarray:
    transform = preprocessor.plan(image, overrides)
    batch = preprocessor.allocate(1, transform.network_size)
    preprocessor.write(image, transform, batch[0], overrides)
    return batch[0]


def _naive(preprocessor: PreProcessor, image: np.ndarray) -> np.ndarray:
    """(c, h, w) float64: the same, one float pass after the other."""
    network = preprocessor.network
    transform = preprocessor.plan(image)
    height, width = transform.resized_size
    resized = cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR)
    if resized.ndim == 2:
        resized = np.repeat(resized[:, :, None], 3, axis=2)
    canvas = np.full((*transform.network_size, 3), network.padding_value or 0, dtype=np.float64)
    left, top, right, bottom = transform.pads
    inner = resized[max(-top, 0) : height - max(-bottom, 0), max(-left, 0) : width - max(-right, 0)]
    y, x = max(top, 0), max(left, 0)
    canvas[y : y + inner.shape[0], x : x + inner.shape[1]] = inner
    if network.color_mode == "rgb":
        canvas = canvas[:, :, ::-1]
    canvas = canvas / (network.scaling_factor or 1)
    if network.normalization:
        canvas = (canvas - network.normalization[0]) / network.normalization[1]
    return canvas.transpose(2, 0, 1)


class TestWrite:
    """`PreProcessor.write`."""

    def test_bgr_is_not_fed_to_an_rgb_network(self) -> None:
        """A red image fills the first plane of an RGB network (itsnine/yolov5-onnxruntime#4)."""
        red = np.zeros((8, 8, 3), dtype=np.uint8)
        red[:, :, 2] = 255
        rgb = _run(_preprocessor(scaling_factor=255, color_mode="rgb"), red)
        np.testing.assert_array_equal(rgb, np.stack([np.ones((8, 8)), *np.zeros((2, 8, 8))]))
        bgr = _run(_preprocessor(scaling_factor=255, color_mode="bgr"), red)
        np.testing.assert_array_equal(bgr, rgb[::-1])

    @given(
        seed=st.integers(0, 2**32 - 1),
        size=st.tuples(st.integers(1, 40), st.integers(1, 40)),
        network_size=st.tuples(st.integers(1, 40), st.integers(1, 40)),
        mode=st.sampled_from(
            (
                "stretch",
                "letterbox",
                "center-crop",
                "fit-longer-edge",
                "fit-shorter-edge-center-crop",
            )
        ),
        color_mode=st.sampled_from(("rgb", "bgr")),
        layout=st.sampled_from(("nchw", "nhwc")),
        dtype=st.sampled_from(("float32", "float16", "uint8")),
        gray=st.booleans(),
    )
    @settings(max_examples=150, deadline=None)
    def test_it_equals_the_plain_computation(
        self,
        seed: int,
        size: tuple[int, int],
        network_size: tuple[int, int],
        mode: str,
        color_mode: str,
        layout: str,
        dtype: str,
        gray: bool,
    ) -> None:
        """One pass gives what resizing, padding, swapping, scaling and normalising one by one
        give."""
        values: dict[str, Any] = {}
        if dtype != "uint8":
            values = {
                "scaling_factor": 255.0,
                "normalization": [[0.48, 0.45, 0.4], [0.2, 0.25, 0.3]],
            }
        preprocessor = _preprocessor(
            training_input_size={"height": network_size[0], "width": network_size[1]},
            resize_mode=mode,
            color_mode=color_mode,
            layout=layout,
            dtype=dtype,
            padding_value=114,
            **values,
        )
        shape = size if gray else (*size, 3)
        image = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
        image.setflags(write=False)
        result = _run(preprocessor, image)
        assert result.dtype == np.dtype(dtype)
        if layout == "nhwc":
            result = result.transpose(2, 0, 1)
        tolerance = {"float32": 1e-6, "float16": 5e-3, "uint8": 0}[dtype]
        np.testing.assert_allclose(result, _naive(preprocessor, image), atol=tolerance)

    def test_a_view_is_read_as_what_it_shows(self) -> None:
        """Crops, flips and channel swaps of a larger array need no copy by the caller."""
        image = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)
        preprocessor = _preprocessor(scaling_factor=255)
        for view in (image[3:20, 5:30], image[::-1], image[:, ::2], image[:, :, ::-1]):
            np.testing.assert_array_equal(
                _run(preprocessor, view), _run(preprocessor, np.ascontiguousarray(view))
            )

    def test_reflected_edges_show_the_image(self) -> None:
        """The margin repeats the image mirrored at its edge."""
        image = np.arange(8 * 4, dtype=np.uint8).reshape(4, 8)
        preprocessor = _preprocessor(resize_mode="letterbox-reflect-edges")
        result = _run(preprocessor, image)
        np.testing.assert_array_equal(result[0], image[[1, 0, 0, 1, 2, 3, 3, 2]])

    def test_one_channel_networks_get_one_channel(self) -> None:
        """A network with one input channel sees the luminance."""
        image = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        result = _run(_preprocessor(input_channels=1), image)
        assert result.shape == (1, 8, 8)
        np.testing.assert_array_equal(result[0], cv2.cvtColor(image, cv2.COLOR_BGR2GRAY))
        channels_last = _run(_preprocessor(input_channels=1, layout="nhwc"), image)
        np.testing.assert_array_equal(channels_last[:, :, 0], result[0])

    def test_grayscale_gives_three_equal_planes(self) -> None:
        """A package that drops colours gets three equal planes, unless the call keeps the
        colours."""
        image = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        preprocessor = _preprocessor({"grayscale": {"enabled": True}})
        result = _run(preprocessor, image)
        expected = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
        np.testing.assert_array_equal(result, np.stack([expected] * 3))
        colours = _run(preprocessor, image, PreProcessingOverrides(disable_grayscale=True))
        np.testing.assert_array_equal(colours, image[:, :, ::-1].transpose(2, 0, 1))

    def test_a_static_crop_is_what_the_network_sees(self) -> None:
        """Only the crop is resized into the input, unless the call asks for the whole image."""
        image = np.random.default_rng(0).integers(0, 256, (20, 40), dtype=np.uint8)
        steps = {
            "static-crop": {"enabled": True, "x_min": 25, "x_max": 45, "y_min": 50, "y_max": 90}
        }
        preprocessor = _preprocessor(steps)
        np.testing.assert_array_equal(_run(preprocessor, image)[0], image[10:18, 10:18])
        whole = _run(preprocessor, image, PreProcessingOverrides(disable_static_crop=True))
        np.testing.assert_array_equal(whole[0], cv2.resize(image, (8, 8)))

    def test_a_4k_frame_and_a_pixel_share_a_batch(self) -> None:
        """Images of any size fit one input."""
        preprocessor = _preprocessor(resize_mode="letterbox", padding_value=7)
        images = [np.full((2160, 3840, 3), 9, np.uint8), np.full((1, 1, 3), 9, np.uint8)]
        batch = preprocessor.allocate(2, (8, 8))
        for slot, image in enumerate(images):
            preprocessor.write(image, preprocessor.plan(image), batch[slot])
        assert batch[0, 0].tolist() == [[7.0] * 8] * 2 + [[9.0] * 8] * 4 + [[7.0] * 8] * 2
        assert (batch[1] == 9).all()


class TestContrast:
    """Contrast enhancement, compared with scikit-image."""

    @pytest.fixture
    def exposure(self) -> Any:
        """The reference."""
        return pytest.importorskip("skimage.exposure")

    @staticmethod
    def _image(seed: int = 0, gray: bool = False) -> np.ndarray:
        shape = (64, 80) if gray else (64, 80, 3)
        noise = np.random.default_rng(seed).normal(110, 25, shape)
        ramp = np.linspace(-30, 30, 80)
        return np.clip(noise + (ramp if gray else ramp[:, None]), 0, 255).astype(np.uint8)

    @staticmethod
    def _enhanced(image: np.ndarray, method: str) -> np.ndarray:
        from inference_models.preprocessing.contrast import enhance_contrast

        return enhance_contrast(image, method)  # type: ignore[arg-type]

    @pytest.mark.parametrize("gray", [False, True])
    def test_stretching(self, exposure: Any, gray: bool) -> None:
        """Percentiles 2 and 98 over all channels go to 0 and 255."""
        image = self._image(gray=gray)
        low, high = np.percentile(image, (2, 98))
        expected = exposure.rescale_intensity(image, in_range=(low, high))
        difference = np.abs(expected.astype(int) - self._enhanced(image, "Contrast Stretching"))
        assert difference.max() <= 1

    @pytest.mark.filterwarnings("ignore:This might be a color image")
    @pytest.mark.parametrize("gray", [False, True])
    def test_equalisation(self, exposure: Any, gray: bool) -> None:
        """The histogram over all channels becomes flat."""
        image = self._image(gray=gray)
        expected = (exposure.equalize_hist(image / 255) * 255).astype(np.uint8)
        difference = np.abs(expected.astype(int) - self._enhanced(image, "Histogram Equalization"))
        assert difference.max() <= 1

    @pytest.mark.parametrize("gray", [False, True])
    def test_adaptive_equalisation(self, exposure: Any, gray: bool) -> None:
        """Close to the reference, which tiles and rounds in its own way."""
        image = self._image(gray=gray)
        expected = exposure.equalize_adapthist(image / 255, clip_limit=0.03) * 255
        result = self._enhanced(image, "Adaptive Equalization")
        assert np.abs(expected - result).mean() < 12
        assert np.corrcoef(expected.ravel(), result.ravel())[0, 1] > 0.97

    @pytest.mark.parametrize(
        "method", ["Contrast Stretching", "Histogram Equalization", "Adaptive Equalization"]
    )
    @pytest.mark.parametrize("value", [0, 77, 255])
    def test_an_image_without_contrast_stays(self, method: str, value: int) -> None:
        """Of one value nothing can be stretched; a pixel is such an image as well."""
        for shape in ((16, 16, 3), (1, 1), (1, 1, 3)):
            image = np.full(shape, value, dtype=np.uint8)
            np.testing.assert_array_equal(self._enhanced(image, method), image)
