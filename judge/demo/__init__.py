"""The demonstration: the example models as images, or in virtual environments on a machine without Docker."""
