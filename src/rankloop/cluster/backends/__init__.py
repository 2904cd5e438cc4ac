"""Where jobs run: worker processes on this machine, or Ray."""
