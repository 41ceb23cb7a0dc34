"""The one exception type that is meant for people."""


class SsdgymError(Exception):
    """One sentence that names the file, line, field or action, and says what to do.

    The command line prints it without a traceback and exits with code 2.
    """
