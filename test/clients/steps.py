"""What the Python clients of this folder share."""
import json
import sys
import time

LIMIT_SECONDS = 60
PAUSE_SECONDS = 0.1

IS_FULL = 'full' in sys.argv[1:]


def until(read, wanted):
    """What `read` returns once its status is the wanted one; fails at once on an error."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        found = read()
        status = found.status
        if status == wanted:
            return found
        if status == 'ERROR' or time.monotonic() > deadline:
            raise AssertionError('%s is %s, not %s' % (found.name, status, wanted))
        time.sleep(PAUSE_SECONDS)


def gone(read, not_found):
    """Returns once `read` raises `not_found`."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        try:
            found = read()
        except not_found:
            return True
        if time.monotonic() > deadline:
            raise AssertionError('%s is still there' % found.name)
        time.sleep(PAUSE_SECONDS)


def tell(seen):
    """Prints what the client parsed, for the test to look at."""
    json.dump(seen, sys.stdout, default=str)
