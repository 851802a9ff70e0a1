"""Run the command line with `python -m tideproof`."""

from tideproof.cli import main

if __name__ == "__main__":
    main()
