"""Options and help of the commands.

What does the work is imported when a command is called: so help and completion are fast.
"""
