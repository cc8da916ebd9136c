"""Notes at each start of Python whether the data are there."""

import os

with open("/tmp/starts", "a") as file:
    file.write("data\n" if os.path.exists("/lambench/data") else "none\n")
