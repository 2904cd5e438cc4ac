"""`python -m rankloop` is the command."""

from rankloop.cli import main

if __name__ == "__main__":
    main()
