"""The options of the commands that pin workflows: `lock`, `upgrade`, `blocks diff`, `models`. What
they do is in one module each, loaded when it runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workflows.cli.option_types import JsonOption, WorkflowArgument

_FolderOption = Annotated[
    Path | None,
    typer.Option(
        "--models",
        metavar="DIR",
        help="Folder of models; the first of WEFTLENS_MODEL_DIRECTORIES when not given.",
    ),
]
_ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="Id of a model, such as name/1.")
]


def add_pinning_commands(app: typer.Typer) -> None:
    """Adds `lock`, `upgrade` and `models` to the command line."""

    @app.command()
    def lock(
        workflow: WorkflowArgument,
        check: Annotated[
            bool, typer.Option("--check", help="Only say whether the lock holds; write nothing.")
        ] = False,
        model: Annotated[
            list[str] | None,
            typer.Option(
                "--model",
                metavar="INPUT=MODEL",
                help="A model that an input may name beside its default; may be given several "
                "times.",
            ),
        ] = None,
        out: Annotated[
            Path | None,
            typer.Option("--out", "-o", help="The lock file; NAME.lock.json when not given."),
        ] = None,
        as_json: JsonOption = False,
    ) -> None:
        """Write down what a workflow runs with: engine, blocks, models, each with its digest.

        The lock of NAME.json is NAME.lock.json beside it. `weftlens run --locked` refuses to run
        with anything else.
        """
        from workflows.cli.lock import lock_command

        raise typer.Exit(lock_command(workflow, out, check, model or [], as_json))

    @app.command()
    def upgrade(
        workflow: WorkflowArgument,
        step: Annotated[
            list[str] | None,
            typer.Option("--step", help="Only this step; may be given several times."),
        ] = None,
        to: Annotated[
            str | None, typer.Option("--to", metavar="vN", help="Version; the newest if not given.")
        ] = None,
        setting: Annotated[
            list[str] | None,
            typer.Option(
                "--set",
                metavar="[STEP.]FIELD=VALUE",
                help="Value of a field in the upgraded step: JSON, else text; may be given several "
                "times.",
            ),
        ] = None,
        write: Annotated[bool, typer.Option("--write", help="Rewrite the workflow.")] = False,
    ) -> None:
        """Show what newer versions of the blocks of a workflow change, and go over to them.

        The file keeps its formatting: only the fields that must change do.
        """
        from workflows.cli.upgrade import upgrade_command

        raise typer.Exit(upgrade_command(workflow, step or [], to, setting or [], write))

    app.add_typer(_models_app(), name="models")


def add_block_commands(app: typer.Typer) -> None:
    """Adds `diff` to the commands about blocks."""

    @app.command()
    def diff(
        old: Annotated[str, typer.Argument(metavar="OLD", help="Type id of one version.")],
        new: Annotated[str, typer.Argument(metavar="NEW", help="Type id of another version.")],
        as_json: JsonOption = False,
    ) -> None:
        """Show what differs between two versions of a block."""
        from workflows.cli.upgrade import diff_command

        raise typer.Exit(diff_command(old, new, as_json))


def _models_app() -> typer.Typer:
    app = typer.Typer(
        help="List, add, show, verify and remove models.", pretty_exceptions_enable=False
    )

    @app.callback(invoke_without_command=True)
    def start(context: typer.Context) -> None:
        """List, add, show, verify and remove models."""
        if context.invoked_subcommand is None:
            from workflows.cli.models import list_command

            raise typer.Exit(list_command(None, False))

    @app.command("list")
    def list_models(models: _FolderOption = None, as_json: JsonOption = False) -> None:
        """List the models of the model folders and those that come with weftlens."""
        from workflows.cli.models import list_command

        raise typer.Exit(list_command(models, as_json))

    @app.command()
    def add(
        source: Annotated[
            Path, typer.Argument(metavar="SOURCE", help="Package folder, .onnx or .torchscript.")
        ],
        model_id: Annotated[
            str | None,
            typer.Option("--id", metavar="NAME/VERSION", help="Its id; else from the source."),
        ] = None,
        models: _FolderOption = None,
        as_json: JsonOption = False,
    ) -> None:
        """Copy a model into the model folder, with a SHA256SUMS file of its digests."""
        from workflows.cli.models import add_command

        raise typer.Exit(add_command(source, model_id, models, as_json))

    @app.command()
    def show(
        model: _ModelArgument, models: _FolderOption = None, as_json: JsonOption = False
    ) -> None:
        """Show the task, classes, input, backend and files of a model."""
        from workflows.cli.models import show_command

        raise typer.Exit(show_command(model, models, as_json))

    @app.command()
    def verify(
        model: Annotated[
            list[str] | None, typer.Argument(metavar="MODEL", help="Ids; all models if none.")
        ] = None,
        models: _FolderOption = None,
        as_json: JsonOption = False,
    ) -> None:
        """Hash the files of models again and compare them with their SHA256SUMS."""
        from workflows.cli.models import verify_command

        raise typer.Exit(verify_command(model or [], models, as_json))

    @app.command()
    def remove(
        model: _ModelArgument,
        models: _FolderOption = None,
        locks: Annotated[
            Path | None,
            typer.Option("--locks", metavar="DIR", help="Refuse while a lock in here uses it."),
        ] = None,
    ) -> None:
        """Remove a model from the model folder."""
        from workflows.cli.models import remove_command

        raise typer.Exit(remove_command(model, models, locks))

    return app
