"""Roy Chaudhuri & Kalyanakrishnan (UAI 2018), QRM2: in period r, of 2^r rounds, MOSS plays ceil(2^(r alpha)) arms."""

import functools
import itertools
from decimal import Decimal, localcontext

from manyarms.arithmetic import natural_log

from .growing import Arm
from .moss import MOSS
from .sizes import ceiling, exact
from .subsample import base_hears
from .twins import twin_of


def qrm2(counts, *, alpha, width):
    t, known = 1, []  # by arm, of all periods
    for r in itertools.count(1):
        with localcontext(prec=60):
            size = ceiling(Decimal(2**r) ** exact(alpha))
        known += [Arm() for _ in range(size - len(known))]
        counts.arms = size
        counts.blocks += 1
        base, presumed, end = MOSS(size, 2.0**r, natural_log(2.0**r), width), {}, t + 2**r
        while t < end:
            most = [(arm.n, arm.total) for arm in known]
            counts.recommended = most.index(max(most))
            heard = yield base.pick(t), 1.0
            t += heard.is_round
            arm = heard.ask.arm
            if heard.what in ("told", "settled"):
                known[arm].add(heard.reward)
            if heard.what == "corrected":
                known[arm].total += heard.reward - heard.before
            if heard.ask.block == counts.blocks:
                base_hears(base, arm, heard, presumed)
            elif heard.what == "settled":  # MOSS has begun anew since; the arm is the same
                base.learn(arm, heard.reward)


@twin_of("QRM2")
def new_qrm2(spec, setting):
    return functools.partial(qrm2, alpha=spec.growth, width=spec.width)
