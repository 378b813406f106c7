"""For all tests."""

import signal

# A shell lets programs in the background ignore Ctrl-C, and their children inherit it; some tests are about Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
