"""The command line: `python -m attnbook grade FOLDER --out GRADES`."""

import sys

from attnbook.grading import classroom

if __name__ == "__main__":
    sys.exit(classroom.main())
