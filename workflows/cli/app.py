"""The commands and their options. What they do is in one module each, loaded when it runs."""

from __future__ import annotations

import sys
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from workflows.cli.exit_codes import OK, PROBLEM
from workflows.cli.option_types import (
    JsonOption,
    LockedOption,
    LockFileOption,
    ParamOption,
    WorkflowArgument,
    chosen_lock,
)
from workflows.cli.pinning import add_block_commands, add_pinning_commands
from workflows.cli.video_options import add_video_command

_KeysFileOption = Annotated[
    Path,
    typer.Option(
        "--file", "-f", envvar="WEFTLENS_SERVER_API_KEYS", help="File with the hashes of keys."
    ),
]


class ImageFormat(StrEnum):
    """How image outputs are written."""

    PNG = "png"
    JPEG = "jpg"


def run_app(arguments: list[str]) -> int:
    """Runs one command and gives its exit code; engine errors become text, not tracebacks."""
    for stream in (sys.stdout, sys.stderr):
        # A character that the encoding lacks is written as an escape; it must not end a command.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app = build_app()
    try:
        app(arguments, prog_name="weftlens")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else OK if stop.code is None else PROBLEM
    except OSError as error:
        # A command reports the files it cannot use itself; what is left is the output: a full disk.
        sys.stderr.write(f"weftlens: the output cannot be written: {error.strerror or error}\n")
        return PROBLEM
    except Exception as error:
        # Only a command that got as far as loading the engine can raise one of its errors.
        errors = sys.modules.get("execution_engine.errors")
        if errors is None or not isinstance(error, errors.WorkflowError):
            raise
        from workflows.cli.terminal import error_text, write_error

        write_error(error_text("weftlens", error))
        return PROBLEM
    return OK


def build_app() -> typer.Typer:
    """The command line as an object."""
    app = typer.Typer(
        help="Run, check and look at vision workflows.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )

    @app.callback()
    def start(
        version: Annotated[
            bool,
            typer.Option("--version", callback=_show_version, is_eager=True, help="Show versions."),
        ] = False,
    ) -> None:
        """Run, check and look at vision workflows."""

    @app.command()
    def run(
        workflow: WorkflowArgument,
        more_images: Annotated[
            list[Path] | None,
            typer.Argument(metavar="IMAGES", help="Images or folders of images to run on."),
        ] = None,
        image: Annotated[
            list[Path] | None,
            typer.Option("--image", "-i", help="An image or folder; may be given several times."),
        ] = None,
        param: ParamOption = None,
        input_name: Annotated[
            str | None,
            typer.Option("--input", help="The input the images go to, when there are several."),
        ] = None,
        out: Annotated[
            Path | None, typer.Option("--out", "-o", help="Folder for pictures and JSON.")
        ] = None,
        as_json: JsonOption = False,
        workers: Annotated[
            int, typer.Option("--workers", min=1, help="Images worked on at the same time.")
        ] = 1,
        image_format: Annotated[
            ImageFormat | None,
            typer.Option(
                "--image-format", help="Format of the pictures in --out; png if not given."
            ),
        ] = None,
        locked: LockedOption = False,
        lock_file: LockFileOption = None,
        server: Annotated[
            str | None,
            typer.Option("--server", metavar="URL", help="Run on this server instead of here."),
        ] = None,
        api_key_env: Annotated[
            str | None,
            typer.Option(
                "--api-key-env", metavar="NAME", help="Variable with the API key of the server."
            ),
        ] = None,
    ) -> None:
        """Run a workflow on images, one after the other, each on its own. With --server, a
        workflow may be the name of one that the server stores: workspace/id.

        With --out, every image output becomes <image>.<output>.png and all other outputs
        <image>.json. An image that fails is named, the others go on, and the exit code is 1.
        """
        from workflows.cli.run import run_command

        raise typer.Exit(
            run_command(
                workflow,
                [*(image or ()), *(more_images or ())],
                param or [],
                input_name,
                out,
                as_json,
                workers,
                None if image_format is None else image_format.value,
                chosen_lock(workflow, locked, lock_file),
                server,
                api_key_env,
            )
        )

    @app.command()
    def check(
        workflow: WorkflowArgument,
        strict: Annotated[
            bool,
            typer.Option(
                "--strict", help="Count warnings, such as unknown fields, as problems: exit code 1."
            ),
        ] = False,
        as_json: JsonOption = False,
    ) -> None:
        """Check a workflow and list everything that is wrong with it."""
        from workflows.cli.check import check_command

        raise typer.Exit(check_command(workflow, strict, as_json))

    @app.command()
    def describe(
        workflow: WorkflowArgument,
        draw: Annotated[
            Path | None,
            typer.Option("--draw", help="Write a picture of the graph: .svg, .dot or .mmd."),
        ] = None,
    ) -> None:
        """Describe a workflow: inputs, steps in order, outputs, missing blocks, problems."""
        from workflows.cli.describe import describe_command

        raise typer.Exit(describe_command(workflow, draw))

    @app.command()
    def schema(
        out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write to.")] = None,
        lock: Annotated[
            bool, typer.Option("--lock", help="The schema of lock files instead.")
        ] = False,
    ) -> None:
        """Write the JSON Schema of workflow definitions, for editors."""
        from workflows.cli.schema import schema_command

        raise typer.Exit(schema_command(out, lock))

    @app.command()
    def serve(
        host: Annotated[
            str | None, typer.Option("--host", help="Address to listen on (127.0.0.1).")
        ] = None,
        port: Annotated[
            int | None, typer.Option("--port", help="Port to listen on (9001); 0 for a free one.")
        ] = None,
        models: Annotated[
            list[Path] | None,
            typer.Option("--models", help="Folder of models; may be given several times."),
        ] = None,
        workflows: Annotated[
            Path | None, typer.Option("--workflows", help="Folder of stored workflows.")
        ] = None,
        api_keys: Annotated[
            Path | None, typer.Option("--api-keys", help="File of API keys that are required.")
        ] = None,
        locked: Annotated[
            bool,
            typer.Option(
                "--locked", help="Serve only workflows with a lock that holds; check them first."
            ),
        ] = False,
    ) -> None:
        """Serve workflows and models over HTTP until stopped.

        Every other setting is a variable WEFTLENS_SERVER_<NAME>; docs/serving.md lists them.
        """
        from workflows.cli.serve import serve_command

        raise typer.Exit(serve_command(host, port, models or [], workflows, api_keys, locked))

    @app.command()
    def doctor(as_json: JsonOption = False) -> None:
        """Look at the installation: versions, extras, name clashes, settings."""
        from workflows.cli.doctor import doctor_command

        raise typer.Exit(doctor_command(as_json))

    add_pinning_commands(app)
    add_video_command(app)
    app.add_typer(_blocks_app(), name="blocks")
    app.add_typer(_keys_app(), name="keys")
    return app


def _blocks_app() -> typer.Typer:
    app = typer.Typer(help="List, show and search blocks.", pretty_exceptions_enable=False)

    @app.callback(invoke_without_command=True)
    def start(context: typer.Context) -> None:
        """List, show and search blocks."""
        if context.invoked_subcommand is None:
            from workflows.cli.blocks import list_blocks

            raise typer.Exit(list_blocks(False, False))

    @app.command("list")
    def list_command(
        every: Annotated[
            bool, typer.Option("--all", help="Blocks known by name but not built, too.")
        ] = False,
        as_json: JsonOption = False,
    ) -> None:
        """List the blocks by group."""
        from workflows.cli.blocks import list_blocks

        raise typer.Exit(list_blocks(every, as_json))

    @app.command()
    def show(
        type_id: Annotated[str, typer.Argument(metavar="TYPE", help="Type id, alias or name.")],
        as_json: JsonOption = False,
    ) -> None:
        """Show the fields and outputs of a block, and a step to paste."""
        from workflows.cli.blocks import show_block

        raise typer.Exit(show_block(type_id, as_json))

    @app.command()
    def search(
        words: Annotated[
            list[str], typer.Argument(metavar="WORDS", help="Words that a block must all have.")
        ],
    ) -> None:
        """Search blocks by words in id, name, description and keywords."""
        from workflows.cli.blocks import search_blocks

        raise typer.Exit(search_blocks(" ".join(words)))

    add_block_commands(app)
    return app


def _keys_app() -> typer.Typer:
    app = typer.Typer(
        help="Make, list and revoke the API keys of a server.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )

    @app.command()
    def create(
        file: _KeysFileOption,
        name: Annotated[str, typer.Option("--name", help="What the key is for.")],
        workflow: Annotated[
            list[str] | None,
            typer.Option(
                "--workflow",
                help="Stored workflows it may run, by the id of the file: shop/count or shop/* for "
                "files in shop/, count for count.json, * for all; may be given several times.",
            ),
        ] = None,
        specifications: Annotated[
            bool,
            typer.Option(
                "--specifications",
                help="Let it send workflows of its own, run single models and manage the server.",
            ),
        ] = False,
        days: Annotated[
            float | None, typer.Option("--days", min=0.0, help="Days until it ends; never if not.")
        ] = None,
        as_json: JsonOption = False,
    ) -> None:
        """Make a key and print it: it is shown only once."""
        from workflows.cli.keys import create_key

        raise typer.Exit(create_key(file, name, workflow or [], specifications, days, as_json))

    @app.command("list")
    def list_command(file: _KeysFileOption, as_json: JsonOption = False) -> None:
        """List the keys: id, state, end, name and what each permits."""
        from workflows.cli.keys import list_keys

        raise typer.Exit(list_keys(file, as_json))

    @app.command()
    def revoke(
        file: _KeysFileOption,
        key_id: Annotated[str, typer.Argument(metavar="ID", help="Id as `keys list` shows it.")],
    ) -> None:
        """Withdraw a key; running servers refuse it from then on."""
        from workflows.cli.keys import withdraw_key

        raise typer.Exit(withdraw_key(file, key_id))

    return app


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        from execution_engine.versions import ENGINE_VERSION

        typer.echo(f"weftlens {version('weftlens')}, engine {ENGINE_VERSION}")
        raise typer.Exit
