"""What a policy counts of itself."""


class Counts:
    def __init__(self):
        self.restarts = 0
        self.blocks = 0
        self.arms = 0
        self.ignored = 0
