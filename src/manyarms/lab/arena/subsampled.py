"""The finite-armed bases that meet on subsamples, in both arenas."""

from ...bases import (
    BARBAR,
    CUSUMUCB,
    DUCB,
    FEWA,
    IMED,
    MASTER,
    META,
    MOSS,
    MUCB,
    RAWUCB,
    SWUCB,
    UCB,
    UCBV,
    Base,
    EpsilonGreedy,
    Exp3S,
    GaussianThompson,
    GLRklUCB,
    KLUCBPlusPlus,
    MultiLayerRace,
    RestartAt,
    Rexp3,
    RisingUCB,
    RLessUCB,
    SuccessiveElimination,
    TsallisINF,
)
from ...policies import Oracle

BASES: dict[str, Base] = {
    "UCB": UCB(),
    "SuccessiveElimination": SuccessiveElimination(),
    "MOSS": MOSS(),
    "KLUCBPlusPlus": KLUCBPlusPlus(),
    "IMED": IMED(),
    "UCBV": UCBV(exploration="loglog", anytime=True),  # UCB-F
    "EpsilonGreedy": EpsilonGreedy(),
    "GaussianThompson": GaussianThompson(),
    "TsallisINF": TsallisINF(),
    # As published, the next two play at random for longer than anybody plays.
    "BARBAR, scaled": BARBAR(scale=2.0**-10),
    "MultiLayerRace, scaled": MultiLayerRace(scale=0.01),
    "SWUCB": SWUCB(),
    "DUCB": DUCB(),
    "RAWUCB": RAWUCB(),
    "FEWA": FEWA(),
    "RisingUCB": RisingUCB(),
    "RLessUCB": RLessUCB(),
    "GLRklUCB": GLRklUCB(),
    "CUSUMUCB": CUSUMUCB(),
    "MUCB": MUCB(),
    "Exp3S": Exp3S(),
    "Rexp3": Rexp3(),
    "META": META(),
    "MASTER": MASTER(),
}
"""By name, with the settings that they have by themselves, if nothing else is said. Greedy, KL-UCB, SSUCB and Thompson
sampling take part in more than one way, and are not in here."""

LEFT_OUT: dict[type, str] = {
    Oracle: "sees means",
    RestartAt: "is told in which rounds means change, and here every arm has rounds of its own",
}
"""The policies and bases of the package that no arena has, and why."""
