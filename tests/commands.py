"""Commands of rankloop, run as a shell would, in this process."""

import typer
from typer.testing import CliRunner


def app_of(*commands):
    """An application of some commands alone, which is quicker to make than the whole one."""
    app = typer.Typer()
    for command in commands:
        app.command()(command)
    return app


def running(app, *, fails=False):
    """A function that runs a command line and gives what it printed; an error is raised, if not `fails`."""

    def run(*words, stdin=None):
        done = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert fails or done.exit_code == 0, done.output
        return done.output

    return run
