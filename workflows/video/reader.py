"""`SourceReader`: the thread that decodes one source ahead of the workflow. Runs no workflow."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta

from workflows.video.buffers import FrameBuffers
from workflows.video.errors import ConnectionLostError, FrameDecodeError, VideoSourceError
from workflows.video.frames import VideoFrame
from workflows.video.report import FaultKind, SourceReport, VideoReport
from workflows.video.sources import VideoSource
from workflows.video.streams import DecodedFrame, FrameStream
from workflows.video.timestamps import TimestampGuard, Verdicts

_RATE_WINDOW = 30
# How early a frame may come, since timestamps are rounded and arrivals uneven: a share of the
# period of `max_fps`, but never so much that the frame before the right one is taken.
_EARLY_OF_PERIOD = 0.25
_EARLY_OF_INTERVAL = 0.4
_EARLY_UNKNOWN = 0.01


@dataclass(frozen=True, slots=True)
class Reconnection:
    """How a live source that was lost is opened again.

    Attributes:
        first_wait: seconds before the first attempt.
        factor: each wait is so many times the one before.
        longest_wait: seconds a wait may take.
        attempts: attempts in a row before the source is given up; None for no limit.

    Raises:
        ValueError: a value is out of range.
    """

    first_wait: float = 0.5
    factor: float = 2.0
    longest_wait: float = 30.0
    attempts: int | None = None

    def __post_init__(self) -> None:
        if self.first_wait < 0 or self.longest_wait < 0 or self.factor < 1:
            raise ValueError(
                "Reconnection needs waits of at least 0 s and a factor of at least 1, got "
                f"first_wait={self.first_wait}, longest_wait={self.longest_wait}, "
                f"factor={self.factor}"
            )
        if self.attempts is not None and self.attempts < 0:
            raise ValueError(f"attempts must not be negative, got {self.attempts}")

    def wait(self, attempt: int) -> float:
        """Seconds before an attempt, which count from 0."""
        # The exponent is capped: a float cannot hold every power of the factor.
        return min(self.first_wait * self.factor ** min(attempt, 64), self.longest_wait)


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A frame on its way through the timestamp guard."""

    image_frame: DecodedFrame
    frame_id: int
    taken: datetime
    grabbed_at: float


class SourceReader:
    """Decodes one source on a thread of its own.

    Args:
        source_id: position of the source.
        source: opens it again when it is live and was lost.
        stream: the source, opened.
        buffers: where frames go.
        report: where faults go; its entry of this source is kept up to date.
        max_fps: frames a second that go on at most; the others are left out.
        reconnection: how a live source is opened again.

    Attributes:
        muted_frames: frames dropped because of a mute or a pause.
        error: what ended the thread before its time.
    """

    def __init__(
        self,
        source_id: int,
        source: VideoSource,
        stream: FrameStream,
        buffers: FrameBuffers,
        report: VideoReport,
        max_fps: float | None,
        reconnection: Reconnection,
    ) -> None:
        self._id = source_id
        self._source = source
        self._stream: FrameStream | None = stream
        self._fps = stream.fps
        self._total = stream.total_frames
        self._buffers = buffers
        self._report = report
        self._counts: SourceReport = report.sources[source_id]
        self._max_fps = max_fps
        self._reconnection = reconnection
        self._identifier = str(source_id) if source.identifier is None else source.identifier
        interval = None if self._fps is None or source.live else 1.0 / self._fps
        self._guard: TimestampGuard[_Arrival] = TimestampGuard(interval)
        self._started_at = datetime.now()
        self._first_grab: float | None = None
        self._arrivals: deque[float] = deque(maxlen=_RATE_WINDOW)
        self._due = 0.0
        self._stopping = threading.Event()
        self._flowing = threading.Event()
        self._flowing.set()
        self._muted = False
        self._reset_asked = threading.Event()
        self.muted_frames = 0
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"video-source-{source_id}")
        self._thread.daemon = True  # a network read cannot be broken off at exit

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def pause(self) -> None:
        """Holds a file where it is; a live source stays connected and its frames are dropped."""
        self.mute() if self._source.live else self._flowing.clear()

    def mute(self) -> None:
        """Lets the source go on and drops its frames."""
        self._muted = True

    def resume(self) -> None:
        """Ends a pause or a mute."""
        self._muted = False
        self._flowing.set()

    def reset(self) -> None:
        """Lets the next frame start a new time line, as after a source was set to another place."""
        self._reset_asked.set()

    def stop(self) -> None:
        """Asks the thread to end; see `join`."""
        self._stopping.set()
        self._flowing.set()

    def join(self, timeout: float) -> bool:
        """Waits for the thread, seconds at most; whether it has ended."""
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._read_until_end()
            while self._source.live and not self._stopping.is_set() and self._reconnect():
                self._read_until_end()
        except BaseException as error:  # raised where the results are taken
            self.error = error
        finally:
            try:
                if self._stream is not None:
                    self._stream.close()
            finally:
                self._counts.ended = True
                self._buffers.end(self._id)

    def _read_until_end(self) -> None:
        """Reads the opened stream to its end or until it is lost."""
        assert self._stream is not None
        failed = ""
        while not self._stopping.is_set():
            if not self._flowing.is_set():
                self._flowing.wait()
                continue
            try:
                decoded = self._stream.read()
            except FrameDecodeError as error:
                self._counts.frames += 1
                self._fault("decode", self._counts.frames, f"the frame cannot be decoded: {error}")
                continue
            except ConnectionLostError as error:
                failed = str(error)
                break
            if decoded is None:
                break
            self._counts.frames += 1
            if self._reset_asked.is_set():
                self._reset_asked.clear()
                self._pass_on(self._guard.end())
                self._guard.reset()
            if not self._judge(decoded):
                return
        if self._stopping.is_set():
            return
        self._pass_on(self._guard.end())
        self._report_end(failed)

    def _report_end(self, failed: str) -> None:
        if self._source.live:
            what = f"the connection was lost: {failed}" if failed else "the stream ended"
            self._fault("connection", None, what)
            return
        expected = f" of {self._total}" if self._total else ""
        if failed:
            what = f"the file ends after {self._counts.frames}{expected} frames: {failed}"
            self._fault("length", None, what)
        elif self._total is not None and self._counts.frames < self._total:
            what = f"the file ends after {self._counts.frames}{expected} declared frames"
            self._fault("length", None, what)

    def _reconnect(self) -> bool:
        """Opens the source again, with ever longer waits; False when it is given up or stopped."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        attempt = 0
        limit = self._reconnection.attempts
        while limit is None or attempt < limit:
            if self._stopping.wait(self._reconnection.wait(attempt)):
                return False
            attempt += 1
            try:
                self._stream = self._source.open()
            except VideoSourceError as error:
                self._fault("connection", None, f"attempt {attempt} failed: {error}")
                continue
            self._guard.reset()
            self._counts.reconnects += 1
            return True
        self.error = VideoSourceError(
            f"{self._source.label} was lost and could not be opened again in {attempt} attempts."
        )
        return False

    def _judge(self, decoded: DecodedFrame) -> bool:
        arrival = _Arrival(decoded, self._counts.frames, datetime.now(), time.monotonic())
        return self._pass_on(self._guard.add(arrival, decoded.seconds))

    def _pass_on(self, verdicts: Verdicts[_Arrival]) -> bool:
        """Hands accepted frames on; False when nobody takes them any more."""
        for arrival, reason in verdicts.refused:
            self._fault("timestamp", arrival.frame_id, f"the frame is refused: {reason}")
        return all(self._hand_over(arrival, position) for arrival, position in verdicts.accepted)

    def _hand_over(self, arrival: _Arrival, position: float) -> bool:
        live = self._source.live
        if self._first_grab is None:
            self._first_grab = arrival.grabbed_at
        if live:
            position = arrival.grabbed_at - self._first_grab
            self._arrivals.append(arrival.grabbed_at)
        if self._muted:
            self.muted_frames += 1
            return True
        if self._max_fps is not None:
            period = 1.0 / self._max_fps
            if position < self._due - self._tolerance(period):
                self._counts.thinned += 1
                return True
            late = position - self._due >= period
            self._due = (position if late else self._due) + period
        taken = arrival.taken if live else self._started_at + timedelta(seconds=position)
        frame = VideoFrame(
            image=arrival.image_frame.image,
            frame_id=arrival.frame_id,
            frame_timestamp=taken,
            source_id=self._id,
            video_identifier=self._identifier,
            position=position,
            fps=self._fps,
            measured_fps=self._measured_fps() if live else None,
            comes_from_video_file=not live,
            total_frames=self._total,
            grabbed_at=arrival.grabbed_at,
        )
        return self._buffers.put(self._id, frame)

    def _tolerance(self, period: float) -> float:
        interval = _EARLY_OF_INTERVAL / self._fps if self._fps else _EARLY_UNKNOWN
        return min(_EARLY_OF_PERIOD * period, interval)

    def _measured_fps(self) -> float | None:
        if len(self._arrivals) < 2:
            return None
        span = self._arrivals[-1] - self._arrivals[0]
        return (len(self._arrivals) - 1) / span if span > 0 else None

    def _fault(self, kind: FaultKind, frame_id: int | None, message: str) -> None:
        self._report.add_fault(kind, self._id, frame_id, message)
