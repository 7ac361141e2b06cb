"""`weftlens run`: a workflow on one or many images, each in a run of its own, so that no image can
spoil or change the result of another.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from execution_engine.errors import RuntimeInputError, WorkflowError
from execution_engine.executor.report import RunReport
from workflows.cli.exit_codes import OK, PROBLEM, USAGE
from workflows.cli.remote import interface_of, open_server
from workflows.cli.result_files import ResultFiles, ResultForm, is_picture
from workflows.cli.run_inputs import (
    UsageError,
    choose_image_input,
    file_stems,
    find_images,
    parse_parameters,
)
from workflows.cli.terminal import (
    error_console,
    error_text,
    json_text,
    output_json,
    write,
    write_error,
)
from workflows.interface import Interface
from workflows.locking.errors import LockDriftError
from workflows.remote.errors import MissingOnServerError, RemoteServerError
from workflows.running import run_locally
from workflows.session import Session
from workflows.workflow import Workflow

if TYPE_CHECKING:
    from workflows.locking.lock_file import Lock
    from workflows.remote.client import RemoteServer

_SHOWN_IMAGES = 10
_LONGEST_VALUE = 100
_USUAL_FORMAT = "png"
_PARAMETERS_REFUSED = "workflow_execution | runtime_input_validation"


@dataclass(slots=True)
class Outcome:
    """What became of one image: rows of results and files, or the text and class of an error."""

    label: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    json_file: Path | None = None
    pictures: list[Path] = field(default_factory=list)
    error: str = ""
    error_type: str = ""
    concerns_all: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON data."""
        if self.error:
            return {
                "image": self.label,
                "error": {"type": self.error_type, "message": self.error},
            }
        files = [self.json_file, *self.pictures] if self.json_file else []
        return {
            "image": self.label,
            "results": self.rows,
            "files": [str(path) for path in files],
        }


@dataclass(frozen=True, slots=True)
class _Job:
    """All that the runs of one command share."""

    workflow: Workflow | str
    name: str
    form: ResultForm
    session: Session
    image_input: str | None
    parameters: dict[str, Any]
    out: Path | None
    as_json: bool
    suffix: str
    keep: frozenset[Path]
    lock: Lock | None
    server: RemoteServer | None

    def run(self, image: Path | None, stem: str) -> Outcome:
        """Runs one image; faults of that image end up in the outcome."""
        label = "workflow" if image is None else str(image)
        inputs = dict(self.parameters)
        if image is not None and self.image_input is not None:
            if not image.is_file():
                what = "not a regular file" if image.exists() else "no such file"
                return Outcome(label, error=what, error_type="FileNotFoundError")
            inputs[self.image_input] = image
        # JSON on stdout without a folder is the only place left for pictures: they go in as base64.
        inline = self.as_json and self.out is None
        try:
            report = RunReport()
            if self.server is not None:
                results = self.server.run(self.workflow, inputs, serialize=inline, lock=self.lock)
            else:
                results = run_locally(
                    self.workflow,
                    inputs,
                    session=self.session,
                    serialize=inline,
                    report=report,
                    lock=self.lock,
                )
            if inline:
                return Outcome(label, results)
            files = ResultFiles(self.form, self.out, stem, self.suffix, self.keep)
            rows = files.rows(results)
            if report.secrets is not None:
                rows = report.secrets.in_data(rows)
            json_file = None if self.out is None else files.write_json(rows)
            return Outcome(label, rows, json_file, files.pictures)
        except WorkflowError as error:
            return Outcome(
                label,
                error=error_text("", error).removeprefix(": "),
                error_type=type(error).__name__,
                concerns_all=isinstance(
                    error, (LockDriftError, MissingOnServerError, RemoteServerError)
                )
                or (isinstance(error, RuntimeInputError) and error.context == _PARAMETERS_REFUSED),
            )
        except OSError as error:
            where = f" '{error.filename}'" if error.filename else ""
            return Outcome(
                label,
                error=f"the results cannot be written{where}: {error.strerror or error}",
                error_type=type(error).__name__,
            )


def run_command(
    path: Path,
    image_paths: Sequence[Path],
    parameter_texts: Sequence[str],
    input_name: str | None,
    out: Path | None,
    as_json: bool,
    workers: int,
    image_format: str | None,
    lock_file: Path | None = None,
    server_url: str | None = None,
    key_variable: str | None = None,
) -> int:
    """Runs the workflow and gives the exit code: 0, 1 when an image failed, 2 for wrong usage."""
    with Session() as session, ExitStack() as opened:
        try:
            if image_format is not None and out is None:
                raise UsageError("--image-format goes with --out FOLDER")
            server = open_server(server_url, key_variable, session)
            if server is not None:
                opened.enter_context(server)
            workflow, interface, form = _read_workflow(path, session, server)
            parameters = parse_parameters(parameter_texts, interface)
            image_input = choose_image_input(
                interface, input_name, bool(image_paths), list(parameters)
            )
            images: list[Path | None] = [*find_images(image_paths)] or [None]
        except UsageError as error:
            write_error(f"weftlens run: {error}")
            return USAGE
        except WorkflowError as error:
            write_error(error_text(path.name, error))
            return PROBLEM
        lock = None
        if lock_file is not None:
            # Before any image is opened; each run checks again, against the same lock.
            lock = session.locks.load(lock_file)
            if isinstance(workflow, Workflow) and server is None:
                session.locks.check(
                    workflow.definition, lock_file, parameters, workflow_name=str(path)
                )
        if out is not None:
            try:
                out.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                write_error(f"the folder '{out}' cannot be made: {error.strerror or error}")
                return PROBLEM
        # Results in the folder of the inputs must not replace them.
        keep = frozenset(item.resolve() for item in (path, *images) if item is not None)
        job = _Job(
            workflow, path.name, form, session, image_input, parameters, out, as_json,
            image_format or _USUAL_FORMAT, keep, lock, server,
        )  # fmt: skip
        beside = out is not None and (out / f"{path.stem}.json").resolve() == path.resolve()
        stems = file_stems(
            [image or Path(path.stem) for image in images], [path.stem] if beside else []
        )
        return _report(job, _outcomes(job, images, stems, workers), len(images))


def _read_workflow(
    path: Path, session: Session, server: RemoteServer | None
) -> tuple[Workflow | str, Interface, ResultForm]:
    """The workflow of a file, or the name of the one that the server stores; with what it takes and
    gives.

    Raises:
        WorkflowError: it cannot be read, has problems, or the server has no such workflow.
    """
    if server is not None:
        from workflows.remote.client import read_definition, workflow_id

        name = path.as_posix()
        if workflow_id(name) is not None:
            signature = server.describe(name)
            codecs = session.registry.codecs
            return name, interface_of(signature, codecs), ResultForm(signature.outputs, codecs)
        workflow = Workflow(read_definition(name), origin=str(path), session=session)
    else:
        workflow = Workflow.load(path, session=session)
    plan = session.compile(workflow)
    return workflow, workflow.interface(), ResultForm.of_plan(plan)


def _outcomes(
    job: _Job, images: Sequence[Path | None], stems: Sequence[str], workers: int
) -> Iterator[Outcome]:
    """Outcomes in the order of the images, with a progress bar when there are several."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = error_console()
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=len(images) == 1 or not console.is_terminal,
    )
    with progress, ThreadPoolExecutor(workers) as pool:
        task = progress.add_task(job.name, total=len(images))
        results = pool.map(job.run, images, stems) if workers > 1 else map(job.run, images, stems)
        try:
            for outcome in results:
                progress.advance(task)
                yield outcome
                if outcome.concerns_all:
                    return
        finally:
            pool.shutdown(cancel_futures=True)


def _report(job: _Job, outcomes: Iterator[Outcome], count: int) -> int:
    failed = done = 0
    with closing(outcomes):  # type: ignore[type-var]
        for outcome in outcomes:
            if job.as_json:
                # One by one: results of many images need not fit into memory together.
                opening = "[\n" if not done and not failed else ",\n"
                sys.stdout.write(opening + output_json(outcome.to_dict()))
            if outcome.error:
                failed += 1
                write_error(f"{outcome.label}: {outcome.error}")
                if outcome.concerns_all and count > 1:
                    write_error("This concerns every image; stopped.")
                continue
            done += 1
            if not job.as_json and count <= _SHOWN_IMAGES:
                _show(outcome, job)
    if job.as_json:
        write("\n]" if done or failed else "[]")
    if count > 1:
        where = f"; results in {job.out}" if job.out is not None and done else ""
        left = count - done - failed
        rest = f", {left} left out" if left else ""
        summary = f"{count} images: {done} done, {failed} failed{rest}{where}"
        (write_error if job.as_json else write)(summary)
    return PROBLEM if failed else OK


def _show(outcome: Outcome, job: _Job) -> None:
    write(outcome.label)
    for row in outcome.rows:
        for name, value in row.items():
            write(f"  {name}: {_shown(value, job.out)}")
    if outcome.json_file is not None:
        write(f"  all results: {outcome.json_file}")


def _shown(value: Any, out: Path | None) -> str:
    """A value in one line: pictures as their files, long ones cut."""
    pictures = list(_pictures_in(value))
    if pictures and pictures[0] is value:
        return _picture_text(value, out)
    if pictures and isinstance(value, list):
        return f"{len(pictures)} images, the first {_picture_text(pictures[0], out)}"
    text = json_text(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def _picture_text(picture: dict[str, Any], out: Path | None) -> str:
    size = f"{picture['width']}x{picture['height']} px"
    if out is None:
        return f"image of {size}, not written (give --out FOLDER)"
    return f"{out / picture['value']} ({size})"


def _pictures_in(value: Any) -> Iterator[dict[str, Any]]:
    if is_picture(value):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _pictures_in(item)
