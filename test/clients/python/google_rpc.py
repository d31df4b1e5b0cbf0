"""Runs what was generated for google.rpc beside the package of Google: both must say the same about the same files."""

import runpy
import sys

from google.rpc import error_details_pb2, status_pb2

for file in sys.argv[1:]:
    # Adds a file to the pool that knows the package's one of this name already, and fails if they differ.
    generated = runpy.run_path(file)
    print(generated["DESCRIPTOR"].name)
