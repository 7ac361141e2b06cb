"""The command line `weftlens`. Nothing else imports this package; typer and rich load only here."""
