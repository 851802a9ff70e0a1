"""`python -m tideproof` is `tideproof`."""

from tideproof.cli import main

if __name__ == "__main__":
    main()
